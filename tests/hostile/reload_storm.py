#!/usr/bin/env python3
"""A storm of reloads: reload_storm.py BINARY [--seconds 100] [--reloads 200] [--streams 100] [--tunnels 20] [--rate 300]

200 reloads by SIGHUP in 100 s, each with another file: the upstream behind every path changes its address, its name and its
settings, limits change, a route comes and goes; every tenth file is faulty. Meanwhile 100 event streams run (each from
before the first reload to behind the last one, an event every 200 ms, numbered), 20 tunnels echo numbered lines, and 300
requests per second come: GET, HEAD, POST, PUT with bodies, on kept and on new connections. Nothing may be cut, late or
lost, every unsafe request is counted once by the upstreams, and at the end no descriptor is left.
"""

import argparse
import asyncio
import collections
import contextlib
import json
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

import common
from common import check

EVENT_EVERY = 0.2  # s
LANES = 30  # kept client connections over which the requests go
LATE = 5.0  # s for an answer, on a machine with other things to do
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"


# --- the upstreams: two of them in a process of their own

class Upstream:
    def __init__(self, name):
        self.name = name
        self.seen = collections.Counter()

    async def serve(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                first, *lines = head.decode("latin-1").split("\r\n")
                method, target, _ = first.split(" ")
                fields = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
                body = await reader.readexactly(int(fields.get("content-length", 0)))
                if not await self.answer(reader, writer, method, target, body):
                    break
                if fields.get("connection", "").lower() == "close":
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def answer(self, reader, writer, method, target, body):
        """Whether the connection goes on."""
        if target == "/counts":
            text = json.dumps(list(self.seen.items())).encode()
        elif target.startswith("/stream/"):
            return await self.stream(writer, target)
        elif target.startswith("/tunnel/"):
            writer.write(SWITCH)
            while line := await reader.readline():
                writer.write(line)
            return False
        else:
            self.seen[f"{method} {target}"] += 1
            text = f"{target} {len(body)}".encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), b"" if method == "HEAD" else text))
        return True

    async def stream(self, writer, target):
        """Numbered events until /end/NUMBER of seconds is over, then the last chunk."""
        end = time.monotonic() + float(target.rsplit("/", 1)[1])
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        n = 0
        while time.monotonic() < end:
            event = b"data: %d\n\n" % n
            writer.write(b"%x\r\n%s\r\n" % (len(event), event))
            n += 1
            await asyncio.sleep(EVENT_EVERY)
        event = b"data: end %d\n\n" % n
        writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(event), event))
        return True


def run_upstreams(pipe):
    async def main():
        ports = []
        for name in ("one", "two"):
            server = await asyncio.start_server(Upstream(name).serve, "127.0.0.1", 0, backlog=1024)
            ports.append(server.sockets[0].getsockname()[1])
        pipe.send(ports)
        await asyncio.Event().wait()

    common.raise_descriptors()
    asyncio.run(main())


# --- the clients

class Storm:
    def __init__(self, gateway, words):
        self.gateway, self.words = gateway, words
        self.faults, self.took = [], []
        self.unsafe, self.kinds = [], collections.Counter()
        self.events = self.echoes = self.ended_streams = self.reloads = 0
        self.longest_gap = 0.0
        self.over = asyncio.Event()

    def fault(self, what):
        self.faults.append(f"{time.monotonic() - self.begin:.1f} s: {what}")

    async def open(self):
        return await asyncio.open_connection("127.0.0.1", self.gateway.port)

    async def stream(self, n, seconds):
        reader, writer = await self.open()
        expected, last = 0, time.monotonic()
        try:
            writer.write(f"GET /stream/{n}/{seconds} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), LATE)
            if not head.startswith(b"HTTP/1.1 200 "):
                raise OSError(head.splitlines()[0])
            while size := int(await asyncio.wait_for(reader.readline(), LATE), 16):
                event = (await reader.readexactly(size + 2))[:-2].decode()
                self.longest_gap = max(self.longest_gap, time.monotonic() - last)
                last = time.monotonic()
                if event.strip() == f"data: end {expected}":
                    self.ended_streams += 1
                elif event.strip() != f"data: {expected}":
                    raise OSError(f"event {event!r} instead of {expected}")
                else:
                    expected += 1
                    self.events += 1
            await reader.readline()
        except (OSError, EOFError, ValueError, asyncio.TimeoutError) as fault:
            self.fault(f"stream {n} at event {expected}: {fault!r}")
        writer.close()

    async def tunnel(self, n):
        reader, writer = await self.open()
        try:
            writer.write(f"GET /tunnel/{n} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n".encode())
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), LATE)
            if not head.startswith(b"HTTP/1.1 101 "):
                raise OSError(head.splitlines()[0])
            count = 0
            while not self.over.is_set():
                line = b"%d %d %s\n" % (n, count, b"x" * random.choice((0, 10, 1000, 30000)))
                writer.write(line)
                got = await asyncio.wait_for(reader.readline(), LATE)
                if got != line:
                    raise OSError(f"echo {count} is {got[:20]!r}")
                count += 1
                self.echoes += 1
                await asyncio.sleep(0.1)
            writer.write_eof()
            if await asyncio.wait_for(reader.read(), LATE):
                raise OSError("bytes behind the last echo")
        except (OSError, EOFError, asyncio.TimeoutError) as fault:
            self.fault(f"tunnel {n}: {fault!r}")
        writer.close()

    async def request(self, connection, path):
        reader, writer = connection
        method = random.choice(("GET", "GET", "HEAD", "POST", "PUT", "DELETE"))
        body = b"b" * random.choice((1, 100, 20000)) if method in ("POST", "PUT") else b""
        length = b"Content-Length: %d\r\n" % len(body) if body else b""
        if method not in ("GET", "HEAD"):
            self.unsafe.append(f"{method} {path}")
        self.kinds[method] += 1
        begin = time.monotonic()
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\n".encode() + length + b"\r\n" + body)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), LATE)
        if not head.startswith(b"HTTP/1.1 200 "):
            raise OSError(head.splitlines()[0])
        want = f"{path} {len(body)}".encode()
        if method != "HEAD" and await asyncio.wait_for(reader.readexactly(len(want)), LATE) != want:
            raise OSError("another body")
        self.took.append(time.monotonic() - begin)

    async def lane(self, n):
        """Requests at an even pace; a third on a new connection each."""
        every, due, count = LANES / self.words.rate, time.monotonic() + n / self.words.rate, 0
        kept = None
        while not self.over.is_set():
            await asyncio.sleep(max(0, due - time.monotonic()))
            due += every
            fresh = n % 3 == 0
            try:
                kept = await self.open() if fresh or not kept else kept
                await self.request(kept, f"/r/{n}/{count}")
                if fresh:
                    kept[1].close()
            except (OSError, EOFError, asyncio.TimeoutError) as fault:
                self.fault(f"request {n}/{count}: {fault!r}")
                kept = None
            count += 1
        if kept:
            kept[1].close()

    async def reload(self, file, configurations):
        """All reloads, evenly spaced; each is waited for in the log."""
        every, due = self.words.seconds / self.words.reloads, time.monotonic()
        for n in range(self.words.reloads):
            await asyncio.sleep(max(0, due - time.monotonic()))
            due += every
            Path(file + ".new").write_text(configurations(n), encoding="utf-8")
            os.replace(file + ".new", file)
            os.kill(self.gateway.pid, signal.SIGHUP)
            self.reloads += 1
        await asyncio.sleep(1)
        self.over.set()

    async def run(self, file, configurations):
        self.begin = time.monotonic()
        tasks = [self.stream(n, self.words.seconds + 4) for n in range(self.words.streams)]
        tasks += [self.tunnel(n) for n in range(self.words.tunnels)]
        tasks = [asyncio.ensure_future(task) for task in tasks]
        await asyncio.sleep(1.5)  # all of them have begun
        tasks += [asyncio.ensure_future(self.lane(n)) for n in range(LANES)]
        tasks.append(asyncio.ensure_future(self.reload(file, configurations)))
        await asyncio.gather(*tasks)


def configurations(ports):
    def text(n):
        if n % 10 == 9:
            return random.choice(('{"listen": [', '{"upstreams": {}}', '{"limits": {"idleTimeoutMs": 0}}', ""))
        name = f"up{n % 3}"
        whole = {"listen": ["127.0.0.1:0"], "workers": 2,
                 "upstreams": {name: {"url": f"http://127.0.0.1:{ports[n % 2]}", "idleTimeoutMs": 1000 + 500 * (n % 4)}},
                 "routes": [{"path": "/", "upstream": name}],
                 "limits": {"idleTimeoutMs": 20000 + n, "requestTimeoutMs": 10000 + n, "maxBodyBytes": (n % 2) * 1000000}}
        if n % 4 == 3:
            whole["upstreams"]["extra"] = f"http://127.0.0.1:{ports[(n + 1) % 2]}"
            whole["routes"].append({"path": "/r/7/", "upstream": "extra", "upstreamTimeoutMs": 30000})
        return json.dumps(whole)

    return text


def counts(ports):
    total = collections.Counter()
    for port in ports:
        s = common.connect(port)
        _, body = common.get(s, "/counts")
        for key, count in json.loads(body):
            total[key] += count
        s.close()
    return total


def judge(storm, gateway, words, ports, took):
    done = len(storm.took)
    log = collections.Counter(line["event"] for line in gateway.log())
    print(f"     {storm.reloads} reloads in {took:.1f} s; {words.streams} streams with {storm.events} events (longest pause "
          f"{storm.longest_gap * 1e3:.0f} ms), {words.tunnels} tunnels with {storm.echoes} echoes, {done} requests "
          f"({done / (words.seconds + 1):.0f}/s: {dict(storm.kinds)}; median {common.percentile(storm.took, .5) * 1e3:.1f} ms, p99 "
          f"{common.percentile(storm.took, .99) * 1e3:.1f} ms, most {max(storm.took, default=0) * 1e3:.0f} ms)")
    check(not storm.faults, "nothing cut, nothing failed", f"{len(storm.faults)} faults {storm.faults[:4]}")
    check(storm.ended_streams == words.streams, f"{words.streams} streams that came to their own end", storm.ended_streams)
    check(done >= 0.97 * words.rate * words.seconds, f"the requests at their pace, {words.rate}/s", f"{done}")
    seen = counts(ports)
    wrong = [f"{key}: {seen[key]}" for key in storm.unsafe if seen[key] != 1]
    check(not wrong, f"each of {len(storm.unsafe)} unsafe requests delivered once", f"{len(wrong)} were not {wrong[:3]}")
    good, bad = words.reloads - words.reloads // 10, words.reloads // 10
    # Signals that come while a reload runs are joined into one behind it.
    check(log["reloaded"] + log["reload_failed"] >= words.reloads * 0.95, f"{good} files taken, {bad} faulty ones refused",
          f"{log['reloaded']} reloaded, {log['reload_failed']} reload_failed, {log['reload_fault']} faults told")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--seconds", type=float, default=100)
    for name, default in (("reloads", 200), ("streams", 100), ("tunnels", 20), ("rate", 300)):
        parser.add_argument(f"--{name}", type=int, default=default)
    words = parser.parse_args()
    with contextlib.suppress(OSError):
        os.nice(-10)  # time is measured here, whatever else this machine does
    hard = common.raise_descriptors()
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16384), hard))
    ours, theirs = multiprocessing.Pipe()
    upstreams = multiprocessing.Process(target=run_upstreams, args=(theirs,), daemon=True)
    upstreams.start()
    ports = ours.recv()
    with tempfile.TemporaryDirectory(prefix="hushgate-reload-") as folder:
        file, texts = os.path.join(folder, "gateway.json"), configurations(ports)
        Path(file).write_text(texts(0), encoding="utf-8")
        gateway = common.FileGateway(words.binary, file)
        rest = gateway.connections()
        storm, begin = Storm(gateway, words), time.monotonic()
        asyncio.run(storm.run(file, texts))
        judge(storm, gateway, words, ports, time.monotonic() - begin)
        limit = time.monotonic() + 15  # pools expire
        while gateway.connections() > rest and time.monotonic() < limit:
            time.sleep(0.1)
        check(gateway.connections() == rest, f"{rest} sockets at rest, as before", gateway.connections())
        check(gateway.end() == 0, "the gateway ends with 0", gateway.process.child.returncode)
    upstreams.terminate()
    common.finish()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
