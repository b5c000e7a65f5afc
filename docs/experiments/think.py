#!/usr/bin/env python3
"""Promise 2: nobody is hung up on for thinking.   think.py [--silence S] [--defaults] [PROXY...]

The upstream is silent for S seconds, sends a response head and an event, is silent for S seconds, sends another, and
ends. Beside it an honest client uploads at 100 kB/s for S seconds. The budgets are those of squat.py (2 s, 3 s, 3 s), so
they are shorter than both; the upstream may be silent for 600 s. With --defaults nothing is set but what a proxy cannot
start without.
"""

import argparse
import asyncio
import sys
import time

sys.dont_write_bytecode = True
import peers  # noqa: E402
import wire  # noqa: E402

RATE, PIECES = 100_000, 10  # bytes and writes per second of the upload


def thinker(silence):
    async def upstream(reader, writer):
        words, fields = await wire.read_head(reader)
        body = await wire.read_body(reader, fields)
        if words[1] == "/upload":
            wire.answer(writer, body=str(len(body)).encode())
            return
        await asyncio.sleep(silence)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                     b"9\r\ndata: 1\n\n\r\n")
        await writer.drain()
        await asyncio.sleep(silence)
        writer.write(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n")
        await writer.drain()
    return upstream


async def outcome(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begin = time.monotonic()
    got = status = None
    try:
        writer.write(wire.request("POST", "/", b"{}"))
        words, fields = await wire.read_head(reader)
        status, got = words[1], b""
        if status != "200":
            return f"{status} after {time.monotonic() - begin:.0f} s"
        while size := int((await reader.readline()).split(b";")[0] or b"-1", 16):
            if size < 0:
                raise ConnectionError
            got += (await reader.readexactly(size + 2))[:-2]
        return f"both events, complete after {time.monotonic() - begin:.0f} s"
    except (asyncio.IncompleteReadError, ConnectionError):
        what = "closed without an answer" if status is None else f"cut behind {got.count(b'data')} event(s)"
        return f"{what} after {time.monotonic() - begin:.0f} s"
    finally:
        writer.close()


async def upload(port, seconds):
    connection = reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begin = time.monotonic()

    async def sending():
        for _ in range(seconds * PIECES):
            writer.write(b"u" * (RATE // PIECES))
            await asyncio.sleep(1 / PIECES)

    writer.write(f"POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: {seconds * RATE}\r\n\r\n".encode())
    task = asyncio.ensure_future(sending())
    try:
        words, fields = await wire.read_head(reader)
        came = await wire.read_body(reader, fields)
        what = "whole" if came == str(seconds * RATE).encode() else f"{words[1]} with {'an empty body' if not came else 'another body'}"
    except (asyncio.IncompleteReadError, ConnectionError):
        what = "closed without an answer"
    task.cancel()
    connection[1].close()
    return f"{what} after {time.monotonic() - begin:.0f} s"


async def measure(name, silence, defaults):
    server, up = await wire.serve(thinker(silence))
    async with server:
        with peers.running(name, up, peers.Budgets(2, 3, 3, 600, defaults)) as (port, _):
            texts = await asyncio.gather(outcome(port), upload(port, silence))
    return f"| {name} | {' | '.join(texts)} |"


async def all_at_once(names, arguments):
    for row in await asyncio.gather(*(measure(name, arguments.silence, arguments.defaults) for name in names)):
        print(row, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proxies", nargs="*")
    parser.add_argument("--silence", type=int, default=8)
    parser.add_argument("--defaults", action="store_true")
    arguments = parser.parse_args()
    names = arguments.proxies or (peers.NAMES if arguments.defaults else (*peers.NAMES, "caddy-write"))
    print(f"| | two silences of {arguments.silence} s | an upload of {arguments.silence} s |\n|---|---|---|")
    asyncio.run(all_at_once(peers.present(names), arguments))


main()
