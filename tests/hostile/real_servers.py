#!/usr/bin/env python3
"""Real servers that close idle connections just then: real_servers.py BINARY [SERVER...] [--pairs N] [--learn]

node, bun, deno, gunicorn, uvicorn and nginx, each with an idle timeout of 1 to 2 s. In waves, 64 clients ask at once, which
fills the pool, and each asks again when the server is about to close: T +- 20 ms behind its answer, T as measured on
connections of our own in the wave before. The second request is safe in one half and unsafe in the other. 2 000 pairs per
server: none may fail, and every unsafe one must have been delivered exactly once, as the server itself counts. A run in
which no pooled connection was found closed shows nothing and is void.

hushgate learns when an upstream closes and would keep out of harm's way from the second wave on. So each wave goes through an
upstream of its own name, all of them the same server; with --learn all go through one.

Deno runs node:http's server there, because Deno.serve has no idle timeout to set. A server that is not here is named and
left out: Debian has node, gunicorn, uvicorn and nginx, npm has bun and deno. BUN, DENO, GUNICORN, UVICORN: where they are, if not in PATH.
"""

import argparse
import asyncio
import collections
import contextlib
import json
import os
import random
import shutil
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path

import common
from common import check

SERVERS = Path(__file__).resolve().parent / "real_servers"
CLIENTS = 64
CANARIES = 12
SPREAD = 0.020  # s
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")
PATIENCE = 20  # s for an answer
NGINX = """daemon off; worker_processes 1; pid {d}/pid; error_log {d}/error.log;
events {{ worker_connections 2048; }}
http {{ log_format t '$request_method $uri'; access_log {d}/access.log t; keepalive_timeout 1s; keepalive_requests 100000;
  client_body_temp_path {d}/b; proxy_temp_path {d}/p; fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u; scgi_temp_path {d}/s;
  server {{ listen 127.0.0.1:{port} backlog=1024; default_type text/plain; location / {{ return 200 $uri; }} }} }}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def program(name):
    return os.environ.get(name.upper()) or shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin:/usr/bin")


class Server:
    """One server program in front of us: its command, and where its counts are."""

    def __init__(self, name, folder):
        self.name, self.port, self.folder = name, free_port(), folder
        found = program(name.split("-")[0])
        if not found:
            raise LookupError(f"{name} is not here: left out")
        command, environment = self._command(found), {**os.environ, "PYTHONPATH": str(SERVERS), "DENO_NO_UPDATE_CHECK": "1"}
        with open(os.path.join(folder, "said"), "w", encoding="utf-8") as said:
            self.process = common.Process(command, stderr=said, env=environment)
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"FAIL {name} does not serve: {Path(folder, 'said').read_text(encoding='utf-8')[-500:]}")

    def _command(self, found):
        port, script = str(self.port), str(SERVERS / ("bun.mjs" if self.name == "bun" else "node.mjs"))
        if self.name == "nginx":
            path = os.path.join(self.folder, "nginx.conf")
            Path(path).write_text(NGINX.format(d=self.folder, port=port), encoding="utf-8")
            os.chmod(self.folder, 0o755)
            return [found, "-c", path, "-p", self.folder]
        return {"node": [found, script, port, "1000"], "node-told": [found, script, port, "2000", "told"],
                "bun": [found, script, port, "1000"],
                "deno": [found, "run", "--allow-all", "--no-prompt", script, port, "1000"],
                "gunicorn": [found, "-b", f"127.0.0.1:{port}", "-k", "gthread", "--threads", "96", "--keep-alive", "1",
                             "--worker-connections", "1000", "--log-level", "error", "apps:wsgi"],
                "uvicorn": [found, "--port", port, "--timeout-keep-alive", "1", "--log-level", "error", "--no-access-log",
                            "apps:asgi"]}[self.name]

    def counts(self):
        """{"METHOD /path": how often it was delivered}, as the server itself says."""
        if self.name == "nginx":
            lines = Path(self.folder, "access.log").read_text(encoding="utf-8").splitlines()
            return collections.Counter(lines)
        s = common.connect(self.port)
        s.sendall(b"GET /counts HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        raw = b""
        while data := s.recv(65536):
            raw += data
        head, _, body = raw.partition(b"\r\n\r\n")
        return dict(json.loads(unchunked(body) if b"chunked" in head.lower() else body))


def unchunked(body):
    out = b""
    while True:
        size, _, body = body.partition(b"\r\n")
        if int(size, 16) == 0:
            return out
        out, body = out + body[:int(size, 16)], body[int(size, 16) + 2:]


async def ask(reader, writer, method, path):
    """The body of one answer. Whatever else comes is a failure."""
    body = "x" if method in ("POST", "PUT", "PATCH") else ""
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\n{length}\r\n{body}".encode())
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
    if not head.startswith(b"HTTP/1.1 200 "):
        raise OSError(f"{method} {path}: {head.splitlines()[0].decode()}")
    fields = {k.strip().lower(): v.strip() for k, _, v in (line.partition(b":") for line in head.splitlines()[1:])}
    if b"chunked" in fields.get(b"transfer-encoding", b"").lower():
        raw = await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), PATIENCE)
        return unchunked(raw).decode()
    return (await asyncio.wait_for(reader.readexactly(int(fields[b"content-length"])), PATIENCE)).decode()


class Run:
    def __init__(self, server, gateway, pairs, learn):
        self.server, self.gateway, self.learn = server, gateway, learn
        self.waves = -(-pairs // CLIENTS)
        self.failures, self.unsafe, self.safe = [], [], []
        self.ages = []  # of our own idle connections when the server closed them
        self.age = None

    async def canary(self, n):
        """A connection straight to the server: how long it lets it idle."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        try:
            path = f"/canary/{n}?hold"
            body = await ask(reader, writer, "GET", path)
            begin = time.monotonic()
            if body != "/canary/%d" % n:
                raise OSError(f"canary: {body}")
            await asyncio.wait_for(reader.read(), PATIENCE)
            self.ages.append(time.monotonic() - begin)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError) as fault:
            print(f"     canary {n}: {fault!r}")
        finally:
            writer.close()

    async def client(self, n, wave, connection, gate):
        reader, writer = connection
        prefix = f"/w{0 if self.learn else wave}"
        first, second = f"{prefix}/a{wave}-{n}", f"{prefix}/b{wave}-{n}"
        method = "GET" if n % 2 else random.choice(UNSAFE)
        await gate.wait()
        try:
            if await ask(reader, writer, "GET", first + "?hold") != first:
                raise OSError(f"{first}: another's answer")
            self.safe.append(f"GET {first}")
            await asyncio.sleep(self.age + random.uniform(-SPREAD, SPREAD))
            (self.safe if method == "GET" else self.unsafe).append(f"{method} {second}")
            if await ask(reader, writer, method, second) != second:
                raise OSError(f"{second}: another's answer")
        except (OSError, EOFError, asyncio.TimeoutError) as fault:
            self.failures.append(f"{method} {second}: {fault!r}")

    async def run(self):
        await asyncio.gather(*(self.canary(-n - 1) for n in range(CANARIES)))
        self.age = statistics.median(self.ages)
        print(f"     {self.server.name} closes after {self.spread_of(self.ages)}", flush=True)
        clients = [await asyncio.open_connection("127.0.0.1", self.gateway.port) for _ in range(CLIENTS)]
        for wave in range(self.waves):
            gate, self.ages = asyncio.Event(), []
            tasks = [asyncio.ensure_future(self.client(n, wave, client, gate)) for n, client in enumerate(clients)]
            tasks += [asyncio.ensure_future(self.canary(wave * CANARIES + n)) for n in range(CANARIES)]
            await asyncio.sleep(0)
            gate.set()
            await asyncio.gather(*tasks)
            if self.ages:
                self.age = statistics.median(self.ages)
            if self.failures:
                clients = [await asyncio.open_connection("127.0.0.1", self.gateway.port) for _ in range(CLIENTS)]
        for _, writer in clients:
            writer.close()

    @staticmethod
    def spread_of(ages):
        return f"{min(ages) * 1e3:.0f} to {max(ages) * 1e3:.0f} ms, median {statistics.median(ages) * 1e3:.0f}"


def gateway_file(folder, server, waves, learn):
    names = [f"w{n}" for n in range(1 if learn else waves)]
    path = os.path.join(folder, "gateway.json")
    url = f"http://127.0.0.1:{server.port}"
    Path(path).write_text(json.dumps({
        "listen": ["127.0.0.1:0"], "upstream": {"idleTimeoutMs": 60000}, "upstreams": {name: url for name in names},
        "routes": [{"path": f"/{name}", "upstream": name} for name in names]}), encoding="utf-8")
    return path


class Gateway(common.FileGateway):
    """With what it counted."""

    def counters(self):
        total = collections.Counter()
        for line in self.log("worker_stopped"):
            total.update({key: value for key, value in line.items() if isinstance(value, int)})
        return total


def judge(run, counts, counters, name):
    pairs = run.waves * CLIENTS
    check(not run.failures, f"{name}: {pairs} pairs over {CLIENTS} connections without a failure",
          f"{len(run.failures)} failures {run.failures[:3]}")
    wrong = [f"{key}: {counts.get(key, 0)}" for key in run.unsafe if counts.get(key, 0) != 1]
    check(not wrong, f"{name}: each of {len(run.unsafe)} unsafe requests delivered exactly once, by the server's count",
          f"{len(wrong)} were not {wrong[:3]}")
    times = collections.Counter(counts.get(key, 0) for key in run.safe)
    check(set(times) <= {1, 2}, f"{name}: safe ones once, or twice where they were repeated",
          ", ".join(f"{n} times: {count}" for n, count in sorted(times.items())))
    stale = counters["replays"] + counters["pool_closed_early"]
    if name == "node-told" or run.learn:
        print(f"     {name}: {counters['replays']} replays, {counters['pool_closed_early']} closed while idle, "
              f"{counters['pool_expired']} let go in time, {counters['reuses']} reuses")
    else:
        check(stale > 0, f"{name}: pooled connections that had gone stale (none: the run is void)",
              f"{stale}: {counters['replays']} found when the request was already sent (replays), "
              f"{counters['pool_closed_early']} while idle; {counters['reuses']} reuses, {counters['connects']} connects")


def one(binary, name, pairs, learn):
    with tempfile.TemporaryDirectory(prefix="hushgate-servers-") as folder:
        try:
            server = Server(name, folder)
        except LookupError as absent:
            print(f"     {absent}")
            return
        begin, waves = time.monotonic(), -(-pairs // CLIENTS)
        gateway = Gateway(binary, gateway_file(folder, server, waves, learn))
        run = Run(server, gateway, pairs, learn)
        asyncio.run(run.run())
        counts = server.counts()
        check(gateway.end() == 0, f"{name}: the gateway ends with 0", gateway.process.child.returncode)
        judge(run, counts, gateway.counters(), name)
        if run.ages:
            print(f"     {name}: in the last wave it closed after {run.spread_of(run.ages)}; {time.monotonic() - begin:.0f} s")
        server.process.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("servers", nargs="*", default=[])
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--learn", action="store_true")
    words = parser.parse_args()
    with contextlib.suppress(OSError):
        os.nice(-10)  # time is measured here, whatever else this machine does
    common.raise_descriptors()
    for name in words.servers or ["node", "bun", "deno", "gunicorn", "uvicorn", "nginx"]:
        one(words.binary, name, words.pairs, words.learn)
    common.finish()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
