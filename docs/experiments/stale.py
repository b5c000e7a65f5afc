#!/usr/bin/env python3
"""Promise 4, first half: the client never pays for a connection that had gone stale.   stale.py [--pairs N] [PROXY...]

The upstream closes connections that were idle for 500 ms, and the proxy hears of it 10 ms later, as it does across a
network; what is sent in between is lost. 64 client connections send N pairs of requests each, the second 500 +/- 20 ms
behind the first: GET and POST by turns. How many fail, and how many POSTs were delivered more than once?
"""

import argparse
import asyncio
import random
import sys
from collections import Counter, defaultdict

sys.dont_write_bytecode = True
import peers  # noqa: E402
import wire  # noqa: E402

IDLE, LATE, SPREAD, CLIENTS = 0.5, 0.01, 0.02, 64


class Upstream:
    def __init__(self):
        self.delivered = defaultdict(int)
        self.lost = 0  # connections on which a request came in vain

    async def handle(self, reader, writer):
        while True:
            try:
                words, fields = await asyncio.wait_for(wire.read_head(reader), IDLE)
            except asyncio.TimeoutError:
                break
            await wire.read_body(reader, fields)
            self.delivered[words[1]] += 1
            wire.answer(writer, words[0])
        await asyncio.sleep(LATE)
        self.lost += bool(reader._buffer)  # noqa: SLF001: what nobody will read
        writer.transport.abort()


async def client(port, number, pairs, seen):
    dice, connection = random.Random(number), None
    for pair in range(pairs):
        method = "POST" if (number + pair) % 2 else "GET"
        for which in (1, 2):
            if connection is None:
                connection = await asyncio.open_connection("127.0.0.1", port)
            body = b"{}" if method == "POST" else None
            what, again = await wire.ask(connection, method, f"/{method}/{number}/{pair}/{which}", body)
            seen[method, what] += 1
            if not again:
                connection[1].close()
                connection = None
            await asyncio.sleep(IDLE + dice.uniform(-SPREAD, SPREAD) if which == 1 else dice.uniform(0, SPREAD))
    if connection:
        connection[1].close()


async def measure(name, pairs):
    upstream, seen = Upstream(), Counter()
    server, up = await wire.serve(upstream.handle)
    async with server:
        with peers.running(name, up, peers.Budgets()) as (port, _):
            await asyncio.gather(*(client(port, number, pairs, seen) for number in range(CLIENTS)))
    row = [str(upstream.lost)]
    for method in ("GET", "POST"):
        failed = {what: n for (verb, what), n in seen.items() if verb == method and what != "200"}
        asked = sum(n for (verb, _), n in seen.items() if verb == method)
        row.append(f"{sum(failed.values())} of {asked}" + "".join(f", {what}" for what in failed))
    row.append(str(sum(n > 1 for path, n in upstream.delivered.items() if path.startswith("/POST/"))))
    print(f"| {name} | {' | '.join(row)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proxies", nargs="*", default=peers.NAMES)
    parser.add_argument("--pairs", type=int, default=32)
    arguments = parser.parse_args()
    print("| | requests lost on stale connections | GETs that failed | POSTs that failed | POSTs delivered twice |\n"
          "|---|---|---|---|---|")
    for name in peers.present(arguments.proxies):
        asyncio.run(measure(name, arguments.pairs))


main()
