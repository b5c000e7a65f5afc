#!/usr/bin/env python3
"""Large and slow bodies: transfer.py BINARY [GIB] [--slow-only | --no-slow]

GIB (5) GiB down from a generator and as many up, byte for byte, peak RSS of the gateway (VmHWM) at most 64 MiB; and
an upload of 10 KB/s for 150 s with the default rate rule (requestTimeoutMs 60 000, minUploadBytesPerSecond 8 192),
which must pass, beside one of 4 KB/s, which must not.
"""

import sys
import threading
import time

import common
from common import PATTERN, PERIOD, check

PIECE = 1 << 20
MOST_KIB = 64 * 1024
SLOW_SECONDS, SLOW_RATE, TOO_SLOW_RATE = 150, 10_000, 4_000
REQUEST_MS, UPLOAD_RATE, SLACK = 60_000, 8192, 3.0


def down(port, size):
    """(bytes, pieces that were wrong)"""
    s = common.connect(port)
    s.sendall(f"GET /bytes/{size} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    _, _, data = common.read_head(s)
    taken = wrong = 0
    while data:
        offset = taken % PERIOD
        wrong += PATTERN[offset:offset + len(data)] != data
        taken += len(data)
        data = s.recv(min(PIECE - PERIOD, size - taken)) if taken < size else b""
    return taken, wrong


def post(port, size):
    s = common.connect(port)
    s.sendall(f"POST /sink HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n".encode())
    return s


def up_all(port, size):
    """(bytes at the upstream, wrong ones)"""
    s, sent, whole = post(port, size), 0, memoryview(PATTERN)[:PERIOD * 16]
    while sent < size:
        piece = whole[:min(len(whole), size - sent)]  # a whole number of periods, but for the last
        s.sendall(piece)
        sent += len(piece)
    _, _, body = common.read_head(s)
    return tuple(map(int, (body or s.recv(4096)).split()))


class SlowUpload(threading.Thread):
    def __init__(self, port, rate):
        super().__init__(daemon=True)
        self.port, self.rate, self.seen, self.seconds = port, rate, "no answer", 0.0
        self.start()

    def run(self):
        size, sent, begin = self.rate * SLOW_SECONDS, 0, time.monotonic()
        s = post(self.port, size)
        try:
            while sent < size:
                piece = self.rate // 10
                s.sendall(PATTERN[sent % PERIOD:sent % PERIOD + piece])
                sent += piece
                time.sleep(max(0, begin + sent / self.rate - time.monotonic()))
            status, _, body = common.read_head(s)
            self.seen = f"{status} {(body or s.recv(4096)).decode()}"
        except OSError as fault:
            self.seen = f"{fault!r} after {sent} B"
        self.seconds = time.monotonic() - begin


def large(binary, size):
    up, up_port = common.upstream()
    gateway = common.Gateway(binary, up_port)
    common.get(common.connect(gateway.port), "/ok")
    for name, move in (("down", down), ("up", up_all)):
        cpu, begin = gateway.cpu_ms(), time.monotonic()
        moved, wrong = move(gateway.port, size)
        took, peak = time.monotonic() - begin, gateway.memory_kib("VmHWM")
        check((moved, wrong) == (size, 0) and peak <= MOST_KIB,
              f"{size} B {name}, none wrong, peak RSS <= {MOST_KIB} KiB",
              f"{moved} B, {wrong} wrong, VmHWM {peak} KiB, {took:.1f} s = {moved / took / 1e6:.0f} MB/s, "
              f"{(gateway.cpu_ms() - cpu) / (size / 2**30):.0f} ms of CPU per GiB")
    check(gateway.end() == 0, "the gateway ends with 0", gateway.process.child.returncode)
    up.end()


def slow(binary):
    up, up_port = common.upstream()
    gateway = common.Gateway(binary, up_port, limits__idleTimeoutMs=5000)
    good, bad = SlowUpload(gateway.port, SLOW_RATE), SlowUpload(gateway.port, TOO_SLOW_RATE)
    good.join(SLOW_SECONDS + 60)
    size = SLOW_RATE * SLOW_SECONDS
    check(good.seen == f"200 {size} 0", f"{SLOW_RATE} B/s for {SLOW_SECONDS} s: 200 and {size} B at the upstream",
          f"{good.seen} after {good.seconds:.1f} s")
    bad.join(60)
    # rate * t / 8192 s are gained in t s: the budget ends at 60 / (1 - rate / 8192) s
    budget = REQUEST_MS / (1 - TOO_SLOW_RATE / UPLOAD_RATE)
    ages = [line["age_ms"] for line in gateway.log("swept") if line["clock"] == "receive"]
    check(len(ages) == 1 and budget - 1000 <= ages[0] <= budget + 1000 + 500,
          f"{TOO_SLOW_RATE} B/s is swept at {budget:.0f} + 1000 ms", f"after {ages} ms; the client saw {bad.seen}")
    check(gateway.end() == 0, "the gateway ends with 0", gateway.process.child.returncode)
    up.end()


def main():
    words = [word for word in sys.argv[2:] if not word.startswith("--")]
    if "--slow-only" not in sys.argv:
        large(sys.argv[1], int(float(words[0] if words else 5) * 2**30))
    if "--no-slow" not in sys.argv:
        slow(sys.argv[1])
    common.finish()


if __name__ == "__main__":
    main()
