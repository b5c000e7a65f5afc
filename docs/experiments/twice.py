#!/usr/bin/env python3
"""Promise 3: nothing that could have acted is sent twice.   twice.py [--all] [PROXY...]

An upstream reads a whole request on a reused connection and closes it without a byte. How often was each request
delivered, and what did the client see? Every method, with and without a body, with and without an Idempotency-Key, as a
client connection's first request and as a later one. --all prints a line for each.
"""

import argparse
import asyncio
import itertools
import sys
from collections import defaultdict

sys.dont_write_bytecode = True
import peers  # noqa: E402
import wire  # noqa: E402

METHODS = ("GET", "HEAD", "OPTIONS", "TRACE", "POST", "PUT", "PATCH", "DELETE", "PURGE", "QUERY")
BODY = b'{"a":1}'


class Upstream:
    def __init__(self):
        self.delivered = defaultdict(int)

    async def handle(self, reader, writer):
        for ordinal in itertools.count(1):
            words, fields = await wire.read_head(reader)
            await wire.read_body(reader, fields)
            if words[1].startswith("/die/"):
                self.delivered[words[1]] += 1
                if ordinal > 1:
                    return
            wire.answer(writer, words[0])


def cases():
    for method, body, key in itertools.product(METHODS, (None, BODY), ("", "Idempotency-Key: 7d3c\r\n")):
        if method != "TRACE" or not body:
            yield method, body, key


async def one(port, upstream, number, case, later):
    """(deliveries, what the client saw), behind a request that leaves a connection in the proxy's pool."""
    method, body, key = case
    connection = await asyncio.open_connection("127.0.0.1", port)
    await wire.ask(connection, "GET", "/warm")
    if not later:
        connection[1].close()
        connection = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.sleep(0.02)
    path = f"/die/{number}"
    seen, _ = await wire.ask(connection, method, path, body, key)
    await asyncio.sleep(0.05)
    connection[1].close()
    return upstream.delivered[path], seen


def label(case):
    method, body, key = case
    return f"{method}{' with a body' if body else ''}{', Idempotency-Key' if key else ''}"


async def measure(name, every):
    upstream = Upstream()
    server, up = await wire.serve(upstream.handle)
    found = defaultdict(list)
    async with server:
        with peers.running(name, up, peers.Budgets()) as (port, _):
            for number, (case, later) in enumerate(itertools.product(cases(), (False, True))):
                times, seen = await one(port, upstream, number, case, later)
                found[times, seen].append((case, later))
                if every:
                    print(f"  {name}: {label(case)}, {'later' if later else 'first'}: delivered {times}, {seen}")
    print(f"\n{name}")
    for (times, seen), those in sorted(found.items()):
        methods = defaultdict(list)
        for case, later in those:
            methods[case[0]].append((case, later))
        words = [method if len(group) == full(method) else f"{method} ({parts(group)})"
                 for method, group in methods.items()]
        print(f"  delivered {times}, client sees {seen} ({len(those)} cases): {', '.join(words)}", flush=True)


def full(method):
    return 4 if method == "TRACE" else 8


def parts(group):
    """What the cases of one method have in common."""
    of = {"with a body": {bool(case[1]) for case, _ in group}, "with a key": {bool(case[2]) for case, _ in group},
          "a later request": {later for _, later in group}}
    words = [f"{'' if True in values else 'not '}{name}" for name, values in of.items() if len(values) == 1]
    return "only " + ", ".join(words) if words else f"{len(group)} cases"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proxies", nargs="*", default=("nginx", "haproxy", "haproxy-retry", "caddy", "hushgate"))
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    for name in peers.present(arguments.proxies):
        asyncio.run(measure(name, arguments.all))


main()
