#!/usr/bin/env python3
"""Slow readers: slow_reader.py BINARY [--full]

sendTimeoutMs 2 000, minSendBytes 16 384, small receive buffers. Readers that steadily take 20 KB/s (in small bites
and in big ones) are served to the end of the answer, byte for byte: 400 KB in about 20 s, or with --full 10 MB in
about 510 s. At the same time: one that takes nothing, one that takes a byte now and then, one that takes 4 KB/s are
cut, visibly, by their budget + one period.
"""

import socket
import sys
import threading
import time

import common
from common import PATTERN, PERIOD, check

RATE, SEND_MS, PERIOD_MS, LATE_MS = 20_000, 2000, 1000, 1000
WINDOW = 16_384  # minSendBytes
QUICK, FULL = 400_000, 10_000_000
BUFFER = 4096


class Reader(threading.Thread):
    """Asks for `size` bytes and takes `bite` of them every `pause` s."""

    def __init__(self, port, size, bite, pause):
        super().__init__(daemon=True)
        self.size, self.bite, self.pause = size, bite, pause
        self.taken, self.wrong, self.ended = 0, 0, None
        self.socket = common.connect(port, BUFFER)
        self.socket.settimeout(None)
        self.begin = time.monotonic()
        self.start()

    def verify(self, data):
        offset = self.taken % PERIOD
        self.wrong += PATTERN[offset:offset + len(data)] != data
        self.taken += len(data)

    def run(self):
        self.socket.sendall(f"GET /bytes/{self.size} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        due, credit, rest = self.begin, 0, b""
        try:
            while b"\r\n\r\n" not in rest:
                rest += self.socket.recv(256)
            self.verify(rest.partition(b"\r\n\r\n")[2])
            while self.taken < self.size:
                due += self.pause
                time.sleep(max(0, due - time.monotonic()))
                credit += self.bite
                fault = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)  # seen before what is still queued
                if fault:
                    raise OSError(fault, "reset")
                while credit > 0 and self.taken < self.size:
                    data = self.socket.recv(min(credit, 65536))
                    if not data:
                        raise ConnectionError("a FIN before the end")
                    credit -= len(data)
                    self.verify(data)
            self.ended = "whole"
        except OSError as fault:
            self.ended = repr(fault)
        self.seconds = time.monotonic() - self.begin


class Stopped(threading.Thread):
    """Asks for a lot and takes nothing (a reset is seen without reading)."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.socket, self.ended = common.connect(port, BUFFER), None
        self.begin = time.monotonic()
        self.start()

    def run(self):
        self.socket.sendall(b"GET /bytes/10000000 HTTP/1.1\r\nHost: x\r\n\r\n")
        while time.monotonic() - self.begin < 30:
            fault = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if fault:
                self.ended = f"reset, errno {fault}"
                break
            time.sleep(0.01)
        self.seconds = time.monotonic() - self.begin


def main():
    size = FULL if "--full" in sys.argv else QUICK
    up, up_port = common.upstream()
    gateway = common.Gateway(sys.argv[1], up_port, limits__sendTimeoutMs=SEND_MS, limits__minSendBytes=WINDOW,
                             limits__idleTimeoutMs=5000, limits__requestTimeoutMs=5000)
    steady = {f"{bite} B every {pause} s": Reader(gateway.port, size, bite, pause)
              for bite, pause in ((1000, 0.05), (RATE, 1.0), (int(RATE * 1.5), 1.5))}
    nothing = Stopped(gateway.port)
    sipping = {"1 byte every 0.3 s": Reader(gateway.port, FULL, 1, 0.3), "4 KB/s": Reader(gateway.port, FULL, 400, 0.1)}
    limit = (SEND_MS + PERIOD_MS + LATE_MS) / 1e3
    nothing.join(35)
    check(nothing.ended and SEND_MS / 1e3 <= nothing.seconds <= limit,
          f"one that takes nothing is reset in {SEND_MS / 1e3} to {limit} s",
          f"{nothing.ended} after {nothing.seconds:.2f} s")
    for name, reader in sipping.items():
        reader.join(60)
        check(reader.ended not in (None, "whole"), f"one that takes {name} is cut, visibly",
              f"{reader.ended} with {reader.taken} of {reader.size} B")
    for name, reader in steady.items():
        reader.join(size / RATE * 1.5 + 30)
        check(reader.ended == "whole" and not reader.wrong, f"one that takes {name} gets all of {size} B",
              f"{reader.ended}, {reader.taken} B in {getattr(reader, 'seconds', 0):.1f} s, {reader.wrong} wrong pieces")
    time.sleep(0.3)
    ages = [line["age_ms"] for line in gateway.log("swept") if line["clock"] == "send"]
    check(len(ages) == 3 and max(ages) <= SEND_MS + PERIOD_MS + 100,
          f"log: 3 swept while sending, by {SEND_MS} + {PERIOD_MS} ms; no steady one among them", f"after {ages} ms")
    gateway.end()
    up.end()
    common.finish()


if __name__ == "__main__":
    main()
