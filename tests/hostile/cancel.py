#!/usr/bin/env python3
"""Clients that leave in the upstream's silence: cancel.py BINARY [COUNT]

COUNT (1 000) times each, a client resets or closes (FIN) 300 ms after its request, while the upstream is silent; by
turns GET and POST. Measured from just before the client's close to the upstream's seeing the end of its connection,
both by CLOCK_MONOTONIC: median < 2 ms, p99 < 50 ms, none lost.
"""

import os
import socket
import struct
import sys
import time
from collections import deque

import common
from common import check, percentile

GAP, SILENCE, ABORT = 0.012, 0.3, struct.pack("ii", 1, 0)


def leave(s, how):
    if how == "rst":
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
    begin = time.monotonic_ns()
    s.close()
    return begin


def round_of(how, count, port):
    """When each client left, by name. Requests begin GAP apart and each ends SILENCE later, one thing at a time."""
    waiting, left, begun, start = deque(), {}, 0, time.monotonic()
    while len(left) < count:
        now = time.monotonic()
        if waiting and waiting[0][0] <= now:
            _, name, s = waiting.popleft()
            left[name] = leave(s, how)
        elif begun < count and start + begun * GAP <= now:
            name = f"{how}-{begun}"
            begun += 1
            s = common.connect(port)
            head = "GET /hold/%s HTTP/1.1\r\nHost: x\r\n\r\n" if begun % 2 else \
                "POST /hold/%s HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
            s.sendall((head % name).encode())
            waiting.append((time.monotonic() + SILENCE, name, s))
        else:
            time.sleep(0.0005)
    return left


def ends(lines):
    return {words[1]: int(words[2]) for words in map(str.split, lines) if words[:1] == ["gone"]}


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    up, up_port = common.upstream()
    gateway = common.Gateway(sys.argv[1], up_port)
    common.get(common.connect(gateway.port), "/ok")
    for how in ("rst", "fin"):
        left = round_of(how, count, gateway.port)
        up.wait_for(lambda lines: len(ends(lines[-2 * count:]).keys() & left.keys()) >= count, 10)
        seen = ends(up.lines)
        lost = [name for name in left if name not in seen]
        took = [(seen[name] - left[name]) / 1e6 for name in left if name in seen]
        early = [t for t in took if t < 0]
        check(not lost and not early, f"{how}: all {count} attempts end with their client, none before",
              f"{len(lost)} lost, {len(early)} early {lost[:3]}")
        figures = f"median {percentile(took, .5):.3f} ms, p99 {percentile(took, .99):.1f} ms, most {max(took):.1f} ms"
        check(percentile(took, .5) < 2 and percentile(took, .99) < 50, f"{how}: median < 2 ms, p99 < 50 ms", figures)
    print(f"     load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    check(gateway.end() == 0, "the gateway ends with 0", gateway.process.child.returncode)
    common.finish()


if __name__ == "__main__":
    main()
