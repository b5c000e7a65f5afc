#!/usr/bin/env python3
"""What each row of rows.py sends, what RFC 9113 allows for it, what the answer was: the table of docs/http2.md.

  table.py BINARY [--page docs/http2.md]   of the gateway; --page: put there
  table.py --server HOST:PORT              of any other server
"""

import argparse
import asyncio
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from h2.conform import SMALL, answer_to, upstream_script  # noqa: E402
from h2.page import put  # noqa: E402
from h2.rows import ROWS  # noqa: E402
from support.case import Case  # noqa: E402
from support.wire import connect  # noqa: E402

AT_ONCE = 8


def allowed(row):
    """RST_STREAM and GOAWAY of one code are one thing to say: `stream error`."""
    said, rest = [], set(row.allowed)
    for one in sorted(row.allowed):
        code = one.removeprefix("RST_STREAM ")
        if code != one and f"GOAWAY {code}" in rest:
            rest -= {one, f"GOAWAY {code}"}
            said.append(f"stream error {code}")
    said += [one.replace("GOAWAY", "connection error") for one in sorted(rest)]
    return ", ".join(said)


async def answers(host, port):
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(row):
        async with slots:
            wire = await connect(host, port)
            try:
                return await answer_to(row, wire)
            finally:
                wire.close()

    return await asyncio.gather(*(one(row) for row in ROWS))


def show(told, page):
    lines = ["| RFC 9113 | sent | allowed | answered |", "|---|---|---|---|"]
    for row, answer in zip(ROWS, told):
        wrong = "" if answer in row.allowed else "**"
        section = row.section.replace("8441", "RFC 8441")
        lines.append(f"| {section} | {escaped(row.text)} | {allowed(row)} | {wrong}{answer}{wrong} |")
    good = sum(answer in row.allowed for row, answer in zip(ROWS, told))
    text = f"{good} of {len(ROWS)} rows are answered as the RFC allows.\n\n" + "\n".join(lines)
    put(page, "conformance", text) if page else print(text)
    return 0 if good == len(ROWS) else 1


def escaped(text):
    return text.replace("|", "\\|").replace("\\", "\\\\") if "|" in text or "\\" in text else text


async def of_gateway(binary):
    t = Case(os.path.abspath(binary), None)
    try:
        gateway = await t.gateway(await t.upstream(upstream_script, receive_buffer=SMALL))
        return await answers(*gateway.addresses[0])
    finally:
        await t.finish()
        t.discard()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?")
    parser.add_argument("--server")
    parser.add_argument("--page")
    arguments = parser.parse_args()
    if arguments.server:
        host, port = arguments.server.rsplit(":", 1)
        return show(asyncio.run(answers(host, int(port))), arguments.page)
    return show(asyncio.run(of_gateway(arguments.binary)), arguments.page)


if __name__ == "__main__":
    sys.exit(main())
