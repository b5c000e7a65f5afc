#!/usr/bin/env python3
"""Squatters, all at once: squatters.py BINARY [SHARE]

5 000 connections that send nothing, 3 000 that drip bytes of a head and 1 000 bytes of a body (one per 300 ms, also
after their 408), 500 that read nothing of a large answer (times SHARE, 1 by default), while a normal client asks
every 20 ms, by turns on a new and a kept connection, and never fails. Each loses its turn by its budget + one sweep
period: by the gateway's log (`swept`, age_ms) and as the clients see it. Then: the gateway's CPU time with 9 000 idle
connections.
"""

import os
import sys
import time
from collections import Counter, defaultdict

import common
from common import check, percentile

IDLE, REQUEST, SEND, PERIOD = 3000, 4000, 4000, 750
AFTER_408 = 2000  # `closing` in all, after a 408
TURN = 100  # how late a loop turn may look, on a busy machine
VIEW = 1000  # what lies between the gateway's clock and the client's: an accept queue, a busy machine
KINDS = {  # the client's: (how many, the gateway's clock, budget)
    "silent": (5000, "idle", IDLE), "head": (3000, "head", min(IDLE, REQUEST)),
    "body": (1000, "receive", REQUEST), "reader": (500, "send", SEND)}
BIG = 100_000_000
DRIPPED = 20  # bytes of body within the budget; they lengthen it by 1000 * 20 / 8192 ms
IDLE_CONNECTIONS, IDLE_SECONDS = 9000, 10


def figures(values):
    if not values:
        return "none"
    return f"{len(values)}, age {min(values):.0f} to {max(values):.0f} ms, median {percentile(values, .5):.0f}"


def squat(port, counts, seconds):
    words = [str(port), *map(str, counts), str(BIG), str(seconds)]
    process = common.Process([common.compiled("squatters.c"), *words])
    opened = process.line_with(r"^open (\d+) (\d+)", 60)
    print(f"     {opened.group(1)} connections within {opened.group(2)} ms", flush=True)
    return process


def judge_log(gateway, counts):
    ages = defaultdict(list)
    for line in gateway.log("swept"):
        ages[line["clock"]].append(line["age_ms"])
    for (kind, (_, clock, budget)), count in zip(KINDS.items(), counts):
        if kind == "body":
            budget += 1000 * DRIPPED / 8192
        seen = sorted(ages[clock])
        late = [age for age in seen if age > budget + PERIOD + TURN]
        early = [age for age in seen if age < budget - 5]
        enough = count <= len(seen) <= count + 2  # the normal client's kept connection may be among the idle
        check(enough and not late and not early,
              f"log: {count} {kind} swept by {budget:.0f} + {PERIOD} ms ({clock})",
              f"{figures(seen)}; {len(early)} early {early[:3]}, {len(late)} late {late[-3:]}")
    if ages["linger"]:
        check(max(ages["linger"]) <= AFTER_408 + PERIOD + TURN,
              f"log: closing after a 408 ends by {AFTER_408} + {PERIOD} ms", figures(ages["linger"]))


def upstreams_turn_ms(gateway, path):
    """The longest time that was the upstream's, of the exchanges on `path`: no client's budget runs then."""
    return max((line["serving_ms"] for line in gateway.log("exchange") if line["path"].startswith(path)), default=0)


def judge_view(lines, counts, serving_ms):
    first, gone = defaultdict(list), defaultdict(list)
    for words in map(str.split, lines):
        if len(words) == 3 and words[0] in KINDS:
            first[words[0]].append(float(words[1]))
            gone[words[0]].append(float(words[2]))
    for (kind, (_, _, budget)), count in zip(KINDS.items(), counts):
        left = gone[kind].count(-1)
        limit = budget + PERIOD + VIEW + (serving_ms if kind == "reader" else 0)
        bad = [t for t in first[kind] if t < budget - 100 or t > limit]
        check(not left and not bad and len(first[kind]) == count,
              f"clients: {count} {kind} meet their end by {limit:.0f} ms",
              f"{figures(first[kind])}; {left} still there, {len(bad)} outside {bad[:3]}")
        limit += AFTER_408 + PERIOD if kind in ("head", "body") else 0
        check(max(gone[kind], default=0) <= limit, f"clients: {kind} connections closed by {limit:.0f} ms",
              figures(gone[kind]))


def all_at_once(binary, share):
    counts = [max(1, int(count * share)) for count, _, _ in KINDS.values()]
    up, up_port = common.upstream()
    gateway = common.Gateway(binary, up_port, limits__idleTimeoutMs=IDLE, limits__requestTimeoutMs=REQUEST,
                             limits__sendTimeoutMs=SEND, limits__maxConnections=12000)
    at_rest = gateway.connections()
    normal = [common.NormalClient(gateway.port, kind) for kind in ("new", "kept")]
    time.sleep(1)
    before = gateway.cpu_ms()
    squatters = squat(gateway.port, counts, 40)
    peak = gateway.connections()
    squatters.line_with("^end$", 60)
    print(f"     {peak} sockets at the peak, peak RSS {gateway.memory_kib('VmHWM') / 1024:.0f} MiB, "
          f"CPU {gateway.cpu_ms() - before:.0f} ms, load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for client in normal:
        client.judge()
    time.sleep(1)
    judge_log(gateway, counts)
    serving_ms = upstreams_turn_ms(gateway, "/bytes/")
    print(f"     clients: budget + {PERIOD} ms, {VIEW} for the view; "
          f"the readers' upstream had {serving_ms:.0f} ms of its own")
    judge_view(squatters.lines, counts, serving_ms)
    time.sleep(4.5)  # the pool's idle time, and a kept connection's
    left = gateway.connections() - at_rest
    check(left <= 2, "nothing left afterwards", f"{left} sockets more than before")
    sheds = Counter(line["event"] for line in gateway.log() if line["event"] not in ("exchange", "swept"))
    print(f"     other events: {dict(sheds)}")
    check(gateway.end() == 0, "the gateway ends with 0", gateway.process.child.returncode)
    up.end()


def idle_cpu(binary, share):
    up, up_port = common.upstream()
    gateway = common.Gateway(binary, up_port, limits__idleTimeoutMs=60000, limits__maxConnections=12000)
    count = int(IDLE_CONNECTIONS * share)
    bare = gateway.memory_kib("VmRSS")
    squatters = squat(gateway.port, [count, 0, 0, 0], IDLE_SECONDS + 25)
    time.sleep(1.5)
    held = gateway.connections()
    begin, before, ran = time.monotonic(), gateway.cpu_ms(), gateway.scheduled_ms()[0]
    time.sleep(IDLE_SECONDS)
    used, took = gateway.cpu_ms() - before, time.monotonic() - begin
    check(held >= count and used / took < 10, f"{count} idle connections cost less than 10 ms of CPU per s",
          f"{used:.0f} ms in {took:.1f} s = {used / took:.2f} ms/s by utime + stime (in ticks), "
          f"{(gateway.scheduled_ms()[0] - ran) / took:.3f} ms/s by schedstat, {held} sockets, "
          f"{(gateway.memory_kib('VmRSS') - bare) / max(1, count):.2f} KiB of RSS each")
    squatters.end()
    check(gateway.end() == 0, "the gateway ends with 0", gateway.process.child.returncode)
    up.end()


def main():
    share = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    limit = common.raise_descriptors()
    if limit < 12500:
        raise SystemExit(f"FAIL the descriptor limit is {limit}; 12 500 are needed")
    all_at_once(sys.argv[1], share)
    idle_cpu(sys.argv[1], share)
    common.finish()


if __name__ == "__main__":
    main()
