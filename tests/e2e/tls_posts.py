#!/usr/bin/env python3
"""What a POST pays for a TLS connection of its own: tls_posts.py BINARY [--posts N] [--pace-ms MS] [--spare N]

POSTs one behind the other, through hushgate to nginx: in cleartext, over TLS, and over TLS with connections made ahead of
need. Prints for each the handshakes, from the counters of `worker_stopped`, and the latency. With `--pace-ms` every POST
begins so long after the one before it: a client that never waits leaves no time to make a connection ahead.
"""

import argparse
import asyncio
import os
import socket
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE / "real")]

from programs import Nginx  # noqa: E402
from support.case import Case  # noqa: E402
from support.certificates import authority  # noqa: E402
from support.message import check, request_bytes  # noqa: E402
from support.upstream import free_port  # noqa: E402

POST = request_bytes("POST", "/post", body=b"x" * 100)
COUNTERS = ("tls_connects_full", "tls_connects_resumed", "spares_made", "spares_used")
WARM_UP = 50  # POSTs that are not measured


def posts(port, count, pace):
    """The latency of each, in seconds."""
    took = []
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        due = time.perf_counter()
        for _ in range(count + WARM_UP):
            due = max(due + pace, time.perf_counter())
            while (left := due - time.perf_counter()) > 0:
                time.sleep(left)
            begin = time.perf_counter()
            sock.sendall(POST)
            answer = sock.recv(65536)
            while not answer.endswith(b"posted"):
                more = sock.recv(65536)
                check(more, f"closed behind {answer}")
                answer += more
            took.append(time.perf_counter() - begin)
            check(answer.startswith(b"HTTP/1.1 200 "), f"{answer}")
    return sorted(took[WARM_UP:])


async def measure(t, upstream, count, pace):
    gateway = await t.gateway("http://unused", upstreams={"u": upstream}, log={"access": False})
    took = await asyncio.get_running_loop().run_in_executor(None, posts, gateway.port, count, pace)
    await gateway.stop()
    counted = next(line for line in gateway.log if line.get("event") == "worker_stopped")
    return took, counted


async def run(arguments):
    t = Case(os.path.abspath(arguments.binary), None)
    try:
        trusted = await authority(t.directory)
        own = await trusted.issue("server")
        plain, secure = free_port(), free_port()
        http = f"""server {{ listen 127.0.0.1:{plain} backlog=4096; listen 127.0.0.1:{secure} ssl backlog=4096;
          ssl_certificate {own.certificate}; ssl_certificate_key {own.key}; ssl_protocols TLSv1.2 TLSv1.3;
          ssl_session_cache shared:s:1m; location /post {{ return 200 posted; }} }}"""
        https = {"url": f"https://localhost:{secure}", "tls": {"ca": trusted.certificate}}
        rows = [("cleartext", f"http://127.0.0.1:{plain}"), ("TLS", https),
                (f"TLS, spare {arguments.spare}", {**https, "spare": arguments.spare})]
        print(f"{arguments.posts} POSTs, {arguments.pace_ms} ms apart\n")
        print("| upstream | handshakes full, resumed | spares made, used | p50 | p99 | added p50 | added p99 |")
        print("|---|--:|--:|--:|--:|--:|--:|")
        base = None
        async with Nginx(t.directory, plain, http):
            for name, upstream in rows:
                took, counted = await measure(t, upstream, arguments.posts, arguments.pace_ms / 1000)
                at = [took[int(len(took) * part)] * 1e6 for part in (0.5, 0.99)]
                base = base or at
                full, resumed, made, used = (counted.get(field, 0) for field in COUNTERS)
                print(f"| {name} | {full}, {resumed} | {made}, {used} | "
                      + " | ".join(f"{value:.0f} µs" for value in [*at, *(a - b for a, b in zip(at, base))]) + " |",
                      flush=True)
        await t.finish()
    finally:
        t.discard()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--posts", type=int, default=10_000)
    parser.add_argument("--pace-ms", type=float, default=2.0)
    parser.add_argument("--spare", type=int, default=2)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
