#!/usr/bin/env python3
"""What costs a client nothing and a server something: the table of docs/http2.md.

  floods.py BINARY [--only WORDS] [--page docs/http2.md]

Every flood has a gateway of its own, and beside it a client that asks every 50 ms. Told are the gateway's processor time,
the growth of its memory, when and how the connection ended, how many requests reached the upstream, and how long the
other client waited at most.
"""

import argparse
import asyncio
import contextlib
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from h2 import frames as f  # noqa: E402
from h2.client import Client, Raw  # noqa: E402
from h2.hpack import block, indexed, literal  # noqa: E402
from h2.page import put  # noqa: E402
from support.case import Case, now  # noqa: E402
from support.message import Fault  # noqa: E402

FLOODS = []
BIG = 1_000_000  # of the body of /big
TAKES = 10.0  # seconds that a flood goes on, if nobody ends it
SETTLES = 4.0  # ... and then what was sent is worked off
SOON = 6.0  # seconds: the end of one that no budget has to end
PIECE = 200  # repetitions between two looks at the connection
SMALL = 16_384  # the upstream's receive buffer
NEIGHBOUR_PAUSE = 0.05
QUICK = {"sendTimeoutMs": 2000, "requestTimeoutMs": 2000}
IDLE = {"idleTimeoutMs": 3000}
STREAM_BYTES = 65_536  # limits.maxBufferedBytes


class Flood:
    """`pieces(client)`: yields what is sent, bytes or None for a pause. `ends`: the connection is to end of it, soon, or
    when the budgets in `limits` are over. `growth_mib` and `requests` bound memory and what reaches the upstream."""

    def __init__(self, name, pieces, *, ends=True, limits=None, growth_mib=48, requests=None):
        self.name, self.pieces, self.ends, self.limits = name, pieces, ends, limits or {}
        self.growth_mib, self.requests = growth_mib, requests
        self.within = TAKES + SETTLES if self.limits else SOON
        FLOODS.append(self)


def flood(name, **options):
    return lambda pieces: Flood(name, pieces, **options)


def fields(path="/flood", method="GET", more=()):
    return block(f.request_fields(method, path, more))


def numbers():
    number = -1
    while True:
        number += 2
        yield number


def many(make):
    """PIECE times make(number of a stream), again and again."""
    ids = numbers()
    while True:
        yield b"".join(make(next(ids)) for _ in range(PIECE))


def over(piece, first=b""):
    if first:
        yield first
    while True:
        yield piece * PIECE


GET, WAIT, POST = fields(), fields("/wait"), fields("/wait", "POST")
LIE = fields("/wait", "POST", [("content-length", "1")])


@flood("rapid reset: HEADERS, RST_STREAM", requests=3000)
def _(client):
    return many(lambda n: f.headers(n, WAIT) + f.rst(n))


@flood("made you reset: WINDOW_UPDATE of 0", requests=3000)
def _(client):
    return many(lambda n: f.headers(n, WAIT) + f.window_update(n, 0))


@flood("made you reset: a window that overflows", requests=3000)
def _(client):
    return many(lambda n: f.headers(n, WAIT) + f.window_update(n, f.LARGEST_WINDOW))


@flood("made you reset: DATA behind the end", requests=3000)
def _(client):
    return many(lambda n: f.headers(n, WAIT) + f.data(n, b"x"))


@flood("made you reset: more DATA than content-length", requests=3000)
def _(client):
    return many(lambda n: f.headers(n, LIE, end=False) + f.data(n, b"xx"))


@flood("made you reset: malformed heads", requests=0)
def _(client):
    bad = fields(more=[("connection", "close")])
    return many(lambda n: f.headers(n, bad))


@flood("more streams than allowed", requests=3000)
def _(client):
    return many(lambda n: f.headers(n, WAIT))


@flood("CONTINUATION without end", requests=0)
def _(client):
    return over(f.continuation(1, literal("x-flood", "f" * 50), end=False), f.headers(1, GET, flags=0))


@flood("CONTINUATION, empty, without end", requests=0)
def _(client):
    return over(f.continuation(1, b"", end=False), f.headers(1, GET, flags=0))


@flood("SETTINGS")
def _(client):
    return over(f.settings((f.INITIAL_WINDOW_SIZE, 70_000)))


@flood("SETTINGS, empty")
def _(client):
    return over(f.settings())


@flood("PING")
def _(client):
    return over(f.ping())


@flood("PING, and nothing is read", limits={**QUICK, **IDLE})
def _(client):
    client.wire.pause()
    return over(f.ping())


@flood("PRIORITY")
def _(client):
    return many(lambda n: f.priority(n, 0, n % 256))


@flood("PRIORITY_UPDATE")
def _(client):
    return many(lambda n: f.frame(f.PRIORITY_UPDATE, 0, 0, n.to_bytes(4, "big") + b"u=3"))


@flood("unknown frames")
def _(client):
    return over(f.frame(0xEE, 0, 0, b"????"))


@flood("DATA, empty")
def _(client):
    return over(f.data(1), f.headers(1, POST, end=False))


@flood("DATA of padding only")
def _(client):
    return over(f.frame(f.DATA, f.PADDED, 1, b"\x00"), f.headers(1, POST, end=False))


@flood("WINDOW_UPDATE of 1, of the connection")
def _(client):
    return over(f.window_update(0, 1))


@flood("WINDOW_UPDATE of 1, of a stream")
def _(client):
    return over(f.window_update(1, 1), f.headers(1, WAIT))


@flood("RST_STREAM of a stream that is closed")
def _(client):
    return over(f.rst(1), f.headers(1, WAIT))


@flood("HPACK bomb: a field of 4 000 bytes, 16 000 times in a block")
def _(client):
    bomb = GET + literal("x-bomb", "b" * 4000, 0x40) + indexed(62) * 100
    return many(lambda n: f.headers(n, bomb if n == 1 else GET + indexed(62) * 16_000))


@flood("cookies: 5 000 crumbs in a block")
def _(client):
    crumbs = GET + b"".join(literal("cookie", "c") for _ in range(5000))
    return many(lambda n: f.headers(n, crumbs) if n % 20 == 1 else f.ping())


@flood("a block that does not end", limits=QUICK, requests=0)
def _(client):
    yield f.headers(1, GET, flags=0)
    while True:
        yield None


@flood("a block of a byte every 0.3 s", limits=QUICK, requests=0)
def _(client):
    yield f.frame(f.HEADERS, f.END_HEADERS, 1, b"", length=10_000)
    for byte in GET * 50:
        yield bytes([byte])
        yield from (None, None, None)


@flood("a frame that does not come whole", limits=IDLE)
def _(client):
    yield f.ping()[:10]
    while True:
        yield None


@flood("windows of 0 and 100 large responses", limits={**QUICK, **IDLE}, growth_mib=100 * 4 * STREAM_BYTES / 2**20 + 32)
def _(client):
    yield f.settings((f.INITIAL_WINDOW_SIZE, 0)) + b"".join(f.headers(n, fields("/big")) for n in range(1, 200, 2))
    while True:
        yield None


@flood("100 large responses, and nothing is read", limits=QUICK, growth_mib=100 * 4 * STREAM_BYTES / 2**20 + 32)
def _(client):
    client.wire.pause()
    yield f.settings((f.INITIAL_WINDOW_SIZE, 1 << 30)) + f.window_update(0, 1 << 30)
    yield b"".join(f.headers(n, fields("/big")) for n in range(1, 200, 2))
    while True:
        yield None


@flood("128 uploads that the upstream does not take", ends=False, growth_mib=128 * 4 * STREAM_BYTES / 2**20 + 32)
def _(client):
    head = fields("/take-nothing", "POST")
    yield b"".join(f.headers(n, head, end=False) for n in range(1, 256, 2))
    for _ in range(4):  # what a stream's window allows, all of it, and the connection's is given back
        for n in range(1, 256, 2):
            yield f.data(n, b"u" * 16_000)
    while True:
        yield None


class Figures:
    def __init__(self, flood):
        self.flood = flood
        self.sent = self.cpu = self.growth = self.seconds = self.worst = self.served = self.requests = 0
        self.ended = None  # how the connection did

    def row(self):
        return (f"| {self.flood.name} | {self.sent / 1e6:.1f} | {self.cpu:.2f} | {self.growth / 2**20:.1f} | "
                f"{self.ended or 'not ended'} | {self.seconds:.1f} | {self.requests} | {self.worst * 1000:.0f} |")


HEADER = ("| flood | MB sent | CPU s | memory, MiB | connection ended | after s | requests upstream | neighbour's worst ms |\n"
          "|---|--:|--:|--:|---|--:|--:|--:|")


def upstream_script(counter):
    async def script(wire):
        while await wire.until(lambda: wire.buffer or wire.end, 3600) and wire.buffer:
            head = await wire.request_head()
            counter[head.target] = counter.get(head.target, 0) + 1
            if head.target == "/take-nothing":
                wire.pause()
            if head.target in ("/wait", "/take-nothing"):
                await wire.until(lambda: wire.end, 3600)
                return
            body = b"b" * BIG if head.target == "/big" else b"ok"
            await wire.push(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body), 3600)

    return script


async def neighbour(client, figures, stop):
    """Asks on a connection of its own, again and again."""
    while not stop.is_set():
        begin = now()
        stream = await client.ask(path="/neighbour", seconds=15)
        if stream.status != 200 or not stream.ended:
            raise Fault(f"the neighbour got {stream} of {client}")
        figures.worst = max(figures.worst, now() - begin)
        figures.served += 1
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(stop.wait(), NEIGHBOUR_PAUSE)


async def watch_memory(gateway, before, figures, stop):
    while not stop.is_set():
        figures.growth = max(figures.growth, gateway.resident_bytes() - before)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(stop.wait(), 0.05)


async def pour(client, flood, figures):
    """Sends until the connection ends or time is over."""
    limit = now() + TAKES
    for piece in flood.pieces(client):
        if now() > limit or client.wire.end or client.goaways:
            break
        if piece is None:
            await client.wire.until(lambda: client.goaways or client.wire.end, 0.1)
        elif await client.wire.push(piece, 1.0):
            figures.sent += len(piece)
        elif client.wire.lost:
            break
        await asyncio.sleep(0)


async def measure(t, flood):
    """Figures of one flood."""
    counter, figures, stop = {}, Figures(flood), asyncio.Event()
    gateway = await t.gateway(await t.upstream(upstream_script(counter), receive_buffer=SMALL), limits=flood.limits)
    other = Client(await t.client(gateway))
    await other.good(path="/neighbour")
    client = Raw(await t.client(gateway))
    await client.want(lambda: client.settings_seen, "SETTINGS")
    before, cpu, begin = gateway.resident_bytes(), gateway.cpu_seconds(), now()
    beside = asyncio.gather(neighbour(other, figures, stop), watch_memory(gateway, before, figures, stop))
    try:
        await pour(client, flood, figures)
        client.wire.resume()
        await client.wire.until(lambda: client.wire.end, SETTLES if flood.ends else 0.1)
    finally:
        stop.set()
        await beside
    figures.cpu = gateway.cpu_seconds() - cpu
    codes = [code for _, code, _ in client.goaways]
    if client.wire.end:
        figures.ended = f.error_name(codes[-1]) if codes else client.wire.end
        figures.seconds = client.wire.end_at - begin
    else:
        figures.seconds = now() - begin
    figures.requests = sum(count for path, count in counter.items() if path != "/neighbour")
    await other.good(path="/neighbour")
    return figures


async def all_of(binary, only, rows):
    for flood in FLOODS:
        if only in flood.name:
            t = Case(os.path.abspath(binary), None)
            try:
                rows.append((await measure(t, flood)).row())
                await t.finish()
            except Fault as fault:
                rows.append(f"| {flood.name} | **{fault}** |")
            finally:
                t.discard()
            print(rows[-1], flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--only", default="")
    parser.add_argument("--page")
    arguments = parser.parse_args()
    rows = []
    print(HEADER)
    asyncio.run(all_of(arguments.binary, arguments.only, rows))
    if arguments.page:
        put(arguments.page, "floods", "\n".join([HEADER, *rows]))


if __name__ == "__main__":
    main()
