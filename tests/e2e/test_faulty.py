"""CONTRACT section 3: an invalid setting stops the start with every fault listed: where it was set, what it was, what would
be right. The table is tests/conformance/faulty.txt; it says how it is written."""

import asyncio
import os
import tempfile
from pathlib import Path

from support import case, check

TABLE = Path(__file__).resolve().parent.parent / "conformance" / "faulty.txt"
AT_ONCE = 4


class Faulty:
    def __init__(self, block):
        title, *rest = block.split("\n")
        self.title, self.environment, self.arguments = title.strip(), {}, []
        while rest and rest[0].startswith(("env ", "arg ")):
            kind, word = rest.pop(0).split(" ", 1)
            if kind == "arg":
                self.arguments.append(word)
            else:
                name, value = word.replace("\\x20", " ").split("=", 1)
                self.environment[name] = value
        at = rest.index("---")
        self.file = "".join(line + "\n" for line in rest[:at])
        self.said = [line for line in rest[at + 1:] if line and not line.startswith("#")]


def table():
    return [Faulty(block) for block in TABLE.read_text(encoding="utf-8").split("\n=== ")[1:]]


async def said_by(t, verb, faulty):
    """(exit code, standard output, the lines of standard error)"""
    with tempfile.TemporaryDirectory(dir=t.directory) as directory:
        with open(os.path.join(directory, "hushgate.json"), "w", encoding="utf-8") as file:
            file.write(faulty.file)
        process = await asyncio.create_subprocess_exec(
            t.binary, verb, "-c", "hushgate.json", *faulty.arguments, cwd=directory,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env={**os.environ, **faulty.environment})
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode().splitlines()


async def judge(t, faulty, slots):
    expected = ["hushgate: " + line for line in faulty.said]
    count = f"{len(expected)} fault{'s' * (len(expected) != 1)}"
    summary = f"hushgate: {count}; `serve` would not start with these settings"
    async with slots:
        for verb, lines in (("check", [*expected, summary]), ("serve", expected)):
            code, out, said = await said_by(t, verb, faulty)
            check(code == 1 and not out, f"{faulty.title}: {verb} ended with {code}: {out!r}")
            check(said == lines, f"{faulty.title}: {verb} said\n" + "\n".join(said) + "\nand not\n" + "\n".join(lines))


@case(seconds=180)
async def every_faulty_configuration_is_met_with_its_words(t):
    cases = table()
    check(len(cases) >= 60 and len({faulty.title for faulty in cases}) >= 60, f"only {len(cases)} cases")
    slots = asyncio.Semaphore(AT_ONCE)
    await asyncio.gather(*(judge(t, faulty, slots) for faulty in cases))
