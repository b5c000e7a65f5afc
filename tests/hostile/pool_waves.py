#!/usr/bin/env python3
"""Waves against 1 000 ports: pool_waves.py BINARY [WAVES]       (root: it runs in a network namespace of its own)

WAVES (5) times, every 6 s, 900 GETs at once, each answered 400 ms later, so that every one needs a connection of its
own; between the waves the pool expires (upstream.idleTimeoutMs 4 000). With 1 000 ephemeral ports and tcp_tw_reuse
off, one FIN from the wrong side would leave a port in TIME_WAIT for a minute. No failure, exactly one delivery each.
"""

import os
import selectors
import subprocess
import sys
import time
from collections import Counter

import common
from common import check, percentile

WAVE, EVERY, LATE_MS, PORTS = 900, 6.0, 400, 1000
EXPIRED = 5.3  # s: upstream.idleTimeoutMs, a sweep period, and some room


def wave(clients, first):
    """Sends all at once; (answers by status, ms that each took)."""
    waiting = selectors.DefaultSelector()
    begin, statuses, took = time.monotonic(), Counter(), []
    for i, s in enumerate(clients):
        s.sendall(f"GET /late/{LATE_MS}/n/{first + i} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        waiting.register(s, selectors.EVENT_READ)
    while waiting.get_map() and time.monotonic() - begin < 30:
        for key, _ in waiting.select(1):
            data = key.fileobj.recv(4096)
            statuses[data[9:12].decode() if data else "closed"] += 1
            took.append((time.monotonic() - begin) * 1e3)
            waiting.unregister(key.fileobj)
    statuses["no answer"] += len(waiting.get_map())
    return +statuses, took


def time_wait_ports(upstream_port):
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file][1:]
    return Counter(row[3] for row in rows if row[2].endswith(f":{upstream_port:04X}"))["06"]


def run(binary, waves):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["sysctl", "-qw", f"net.ipv4.ip_local_port_range=40000 {40000 + PORTS - 1}",
                    "net.ipv4.tcp_tw_reuse=0"], check=True)
    common.raise_descriptors()
    up, up_port = common.upstream("--port", "9100")
    gateway = common.Gateway(binary, up_port, "127.0.0.1:8787", limits__maxConnections=2000)
    clients = [common.connect(gateway.port) for _ in range(WAVE)]
    for n in range(waves):
        begin, before = time.monotonic(), gateway.scheduled_ms()
        statuses, took = wave(clients, n * WAVE)
        ran, waited = (after - start for after, start in zip(gateway.scheduled_ms(), before))
        check(statuses == {"200": WAVE}, f"wave {n + 1}: {WAVE} answers 200",
              f"{dict(statuses)}, median {percentile(took, .5):.0f} ms, most {max(took, default=0):.0f} ms; "
              f"the gateway's threads ran {ran:.0f} ms, waited for a core {waited:.0f} ms")
        time.sleep(max(begin + EVERY - time.monotonic(), EXPIRED))  # late or not: the pool expires in between
        check(time_wait_ports(up_port) == 0, "none of the gateway's ports in TIME_WAIT", time_wait_ports(up_port))
    _, body = common.get(common.connect(up_port), "/count")
    delivered, most, accepted = map(int, body.split())
    check((delivered, most, accepted - 1) == (waves * WAVE, 1, waves * WAVE),
          f"{waves * WAVE} deliveries, 1 of each, each over its own connection",
          f"{delivered}, at most {most} of one, over {accepted - 1} connections")
    check(gateway.end() == 0, "the gateway ends with 0", gateway.process.child.returncode)
    up.end()
    common.finish()


def main():
    waves = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    if "HUSHGATE_WAVES_INSIDE" in os.environ:
        return run(sys.argv[1], waves)
    inside = {**os.environ, "HUSHGATE_WAVES_INSIDE": "1"}
    return os.execvpe("unshare", ["unshare", "-n", sys.executable, *sys.argv], inside)


if __name__ == "__main__":
    main()
