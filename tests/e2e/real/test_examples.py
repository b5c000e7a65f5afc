"""The examples as their READMEs say: `./run --test`, each with ports of its own."""

import asyncio
import itertools
import os
import re
import signal
import socket
from pathlib import Path

from programs import need
from support import Skip, case, check

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
LOWEST, HIGHEST = 20000, 60000  # where a shifted example may stand
WIDTH = 10  # ports of an example
_shifts = itertools.count(os.getpid() % 97)


def shift_of(first):
    """A shift that leaves every port of an example free, as far as anyone can tell."""
    for _ in range(200):
        shift = LOWEST + (next(_shifts) * 7919) % (HIGHEST - LOWEST - 10000)
        try:
            for port in range(first + shift, first + shift + WIDTH):
                with socket.socket() as sock:
                    sock.bind(("127.0.0.1", port))
            return shift
        except OSError:
            continue
    raise Skip("no free ports")


async def run_example(t, name, first, words, **environment):
    """Runs its test; `words` must all have passed. Whatever it started ends with it."""
    for program in ("bash", "perl", "node", *words):
        need(program)
    process = await asyncio.create_subprocess_exec(
        str(EXAMPLES / name / "run"), "--test", stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT, start_new_session=True,
        env={**os.environ, "HUSHGATE": t.binary, "EXAMPLES_SHIFT": str(shift_of(first)), **environment})
    try:
        out = (await process.communicate())[0].decode("utf-8", "replace")
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGTERM)
            await process.wait()
    said = [line for line in out.splitlines() if not line.startswith('{"time"')]
    good = re.search(r"^([1-9]\d*) passed, 0 failed$", out, re.MULTILINE)
    check(process.returncode == 0 and good, f"exit code {process.returncode}: " + " | ".join(said[-12:]))
    check("Sanitizer" not in out and "runtime error:" not in out, " | ".join(said[-40:]))


@case
async def supabase_style_stack(t):
    await run_example(t, "supabase", 8700, [])


@case
async def models_behind_one_address(t):
    await run_example(t, "models", 8710, [])


@case
async def two_web_apps(t):
    await run_example(t, "web", 8720, ["python3"])


@case
async def vite_with_hot_reload(t):
    modules = os.environ.get("EXAMPLES_MODULES", str(EXAMPLES / "vite" / "node_modules"))
    if not os.path.isdir(os.path.join(modules, "vite")):
        raise Skip("vite is not installed (examples/vite: npm install)")
    await run_example(t, "vite", 8730, [], EXAMPLES_MODULES=modules)
