#!/usr/bin/env python3
"""Promise 4, second half: ports do not run out.   ports.py [--posts N] [PROXY...]   (needs root: it makes a network of its own)

Each run in a network namespace of its own, with 1 000 ephemeral ports and tcp_tw_reuse off: N POSTs, 16 at a time on
kept client connections, to an upstream that honours Connection: close (closes), or to one that ignores it and never
closes first (stays).
"""

import argparse
import asyncio
import subprocess
import sys
import time
from collections import Counter

sys.dont_write_bytecode = True
import peers  # noqa: E402
import wire  # noqa: E402

AT_ONCE = 16
SETUP = ("ip link set lo up && sysctl -qw net.ipv4.ip_local_port_range='40000 40999' net.ipv4.tcp_tw_reuse=0 "
         "&& exec \"$0\" \"$@\"")


def upstream(closes, count):
    async def handle(reader, writer):
        while True:
            words, fields = await wire.read_head(reader)
            await wire.read_body(reader, fields)
            count[words[1]] += 1
            wire.answer(writer, words[0])
            if closes and (fields.get("connection", "").lower() == "close" or words[2] == "HTTP/1.0"):
                return
    return handle


async def client(port, numbers, seen):
    connection = None
    for number in numbers:
        if connection is None:
            connection = await asyncio.open_connection("127.0.0.1", port)
        what, again = await wire.ask(connection, "POST", f"/{number}", b"{}")
        seen[what] += 1
        if not again:
            connection[1].close()
            connection = None


async def measure(name, closes, posts):
    seen, count = Counter(), Counter()
    server, up = await wire.serve(upstream(closes, count))
    async with server:
        with peers.running(name, up, peers.Budgets()) as (port, _):
            begin, numbers = time.monotonic(), iter(range(posts))
            await asyncio.gather(*(client(port, numbers, seen) for _ in range(AT_ONCE)))
            took = time.monotonic() - begin
    answers = ", ".join(f"{n} x {what}" for what, n in sorted(seen.items()))
    twice = sum(n > 1 for n in count.values())
    print(f"| {name} | {'closes' if closes else 'stays'} | {answers} | {twice} | {took:.0f} s |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proxies", nargs="*", default=("hushgate", "nginx", "nginx-no-pool", "haproxy", "caddy"))
    parser.add_argument("--posts", type=int, default=5000)
    parser.add_argument("--inside", choices=("closes", "stays"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        return asyncio.run(measure(arguments.proxies[0], arguments.inside == "closes", arguments.posts))
    print("| | upstream | answers | delivered twice | took |\n|---|---|---|---|---|", flush=True)
    for name in peers.present(arguments.proxies):
        for which in ("closes", "stays"):
            words = [sys.executable, __file__, name, "--posts", str(arguments.posts), "--inside", which]
            subprocess.run(["unshare", "-n", "sh", "-c", SETUP, *words], check=True)
    return None


main()
