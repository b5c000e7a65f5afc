#!/usr/bin/env python3
"""Promise 1: nobody squats.   squat.py [--seconds N] [PROXY...]

Clients that do not act, under budgets of 2 s (idle), 3 s (request) and 3 s (send): when does the proxy end them?
  silent  connects and sends nothing            kept  one whole request, then nothing
  head    a byte of a head every 300 ms         body  a whole head, then a byte of the body every 300 ms
  sip     asks for 50 MB and reads 1 kB every 300 ms
"""

import argparse
import asyncio
import contextlib
import socket
import statistics
import sys
import time

sys.dont_write_bytecode = True
import peers  # noqa: E402
import wire  # noqa: E402

EACH = 20  # connections of a kind
BIG = 50_000_000
DRIP = 0.3


async def upstream(reader, writer):
    while True:
        words, fields = await wire.read_head(reader)
        await wire.read_body(reader, fields)
        if words[1] != "/big":
            wire.answer(writer, words[0])
            continue
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {BIG}\r\n\r\n".encode())
        for _ in range(BIG // 50_000):
            writer.write(b"x" * 50_000)
            await writer.drain()


async def until_ended(reader, writer, begin, drip=b"", limit=1 << 16):
    """Seconds until the proxy says or does something final."""
    async def dripping():
        while True:
            for i in range(len(drip)):
                writer.write(drip[i:i + 1])
                await asyncio.sleep(DRIP)

    task = asyncio.ensure_future(dripping()) if drip else None
    try:
        with contextlib.suppress(ConnectionError):
            await reader.read(limit)
        return time.monotonic() - begin
    finally:
        if task:
            task.cancel()


async def sip(port):
    """With a plain socket: a stream reader would read ahead."""
    loop = asyncio.get_running_loop()
    with socket.socket() as plain:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plain.setblocking(False)
        await loop.sock_connect(plain, ("127.0.0.1", port))
        begin = time.monotonic()
        await loop.sock_sendall(plain, wire.request("GET", "/big"))
        with contextlib.suppress(ConnectionError):
            while await loop.sock_recv(plain, 1000):
                await asyncio.sleep(DRIP)
        return time.monotonic() - begin


async def squat(kind, port):
    if kind == "sip":
        return await sip(port)
    begin = time.monotonic()  # a little early rather than late: this loop may be busy when it is connected
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        if kind == "head":
            return await until_ended(reader, writer, begin, b"GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + b"y" * 200)
        if kind == "body":
            writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
            return await until_ended(reader, writer, begin, b"z" * 200)
        if kind == "kept":
            await wire.ask((reader, writer), "GET", "/")
            begin = time.monotonic()
        return await until_ended(reader, writer, begin)
    finally:
        writer.transport.abort()


async def measure(name, seconds):
    server, up = await wire.serve(upstream)
    async with server:
        with peers.running(name, up, peers.Budgets(idle=2, request=3, send=3)) as (port, _):
            kinds = ("silent", "kept", "head", "body", "sip")
            tasks = {kind: [asyncio.ensure_future(squat(kind, port)) for _ in range(EACH)] for kind in kinds}
            await asyncio.wait(sum(tasks.values(), []), timeout=seconds)
            row = []
            for kind in kinds:
                ended = [task.result() for task in tasks[kind] if task.done()]
                row.append(f"{statistics.median(ended):.1f} s" if len(ended) == EACH
                           else f"{EACH - len(ended)} of {EACH} open after {seconds} s")
            for task in sum(tasks.values(), []):
                task.cancel()
            await asyncio.gather(*sum(tasks.values(), []), return_exceptions=True)
    print(f"| {name} | {' | '.join(row)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proxies", nargs="*", default=peers.NAMES)
    parser.add_argument("--seconds", type=int, default=20)
    arguments = parser.parse_args()
    print("| | silent | kept | head | body | sip |\n|---|---|---|---|---|---|")
    for name in peers.present(arguments.proxies):
        asyncio.run(measure(name, arguments.seconds))


main()
