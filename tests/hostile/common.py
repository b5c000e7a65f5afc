"""What the hostile runs share: helpers in C compiled on the spot, the gateway with its log, checks, a client."""

import atexit
import contextlib
import json
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PERIOD = 65521  # of upstream.c's pattern
PATTERN = bytes((i % PERIOD) * 31 // 7 % 256 for i in range(PERIOD)) * 17
_directory = tempfile.TemporaryDirectory(prefix="hushgate-hostile-")
_failed = []


def raise_descriptors():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def compiled(source):
    program = os.path.join(_directory.name, Path(source).stem)
    if not os.path.exists(program):
        subprocess.run(["cc", "-O2", "-o", program, str(HERE / source)], check=True)
    return program


def check(holds, expected, seen):
    """One line: what was expected, what was seen."""
    print(f"{'ok  ' if holds else 'FAIL'} expected {expected}; seen {seen}", flush=True)
    if not holds:
        _failed.append(expected)
    return holds


def finish():
    print(f"{Path(sys.argv[0]).name}: {'FAIL' if _failed else 'ok'}", flush=True)
    sys.exit(1 if _failed else 0)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else float("nan")


class Process:
    """A child whose lines are collected; ended with this one."""

    def __init__(self, command, lines_of="stdout", **options):
        streams = {"stdout": subprocess.PIPE, "stderr": None, "stdin": subprocess.DEVNULL, **options}
        self.child = subprocess.Popen(command, text=True, **streams)
        self.lines = []
        self._changed = threading.Condition()
        stream = getattr(self.child, lines_of)
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()
        atexit.register(self.end)

    def _read(self, stream):
        for line in stream:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()

    def wait_for(self, condition, seconds):
        """The condition's value over the lines so far, once it is true."""
        with self._changed:
            return self._changed.wait_for(lambda: condition(self.lines), seconds)

    def line_with(self, pattern, seconds=15):
        search = re.compile(pattern).search
        found = self.wait_for(lambda lines: next((m for m in map(search, lines) if m), None), seconds)
        if not found:
            raise SystemExit(f"FAIL no line with {pattern!r} from {self.child.args[0]}: {self.lines[-5:]}")
        return found

    def end(self):
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(5)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        return self.child.returncode


def upstream(*arguments):
    """(the process of upstream.c, its port)"""
    process = Process([compiled("upstream.c"), *arguments])
    return process, int(process.line_with(r"^port (\d+)").group(1))


class Gateway:
    """`serve` on a free port. `settings`: limits__x=y and the like. The log goes to a file: nothing holds it up."""

    def __init__(self, binary, upstream_port, listen="127.0.0.1:0", **settings):
        words = ["--listen", listen, "--upstream", f"http://127.0.0.1:{upstream_port}"]
        for key, value in settings.items():
            words += ["--set", f"{key.replace('__', '.')}={value}"]
        self._serve(binary, words)

    def _serve(self, binary, words):
        self.log_path = os.path.join(_directory.name, f"log{id(self)}")
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = Process([os.path.abspath(binary), "serve", *words], stderr=log)
        self.pid = self.process.child.pid
        self.port = int(self.process.line_with(r"listening on [^ ]+:(\d+)").group(1))

    def log(self, event=None):
        with open(self.log_path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.startswith("{") and line.endswith("}\n")]
        return [line for line in lines if event in (None, line.get("event"))]

    def cpu_ms(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")

    def scheduled_ms(self):
        """(ran, waited for a core), of all threads: tells a slow program from a busy machine."""
        folder = f"/proc/{self.pid}/task"
        rows = [Path(folder, task, "schedstat").read_text(encoding="ascii").split() for task in os.listdir(folder)]
        return sum(int(row[0]) for row in rows) / 1e6, sum(int(row[1]) for row in rows) / 1e6

    def memory_kib(self, field):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return int(re.search(rf"^{field}:\s+(\d+)", file.read(), re.MULTILINE).group(1))

    def connections(self):
        folder, count = f"/proc/{self.pid}/fd", 0
        for fd in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # closed since
                count += os.readlink(f"{folder}/{fd}").startswith("socket:")
        return count

    def end(self):
        return self.process.end()


class FileGateway(Gateway):
    """As Gateway, with a file."""

    def __init__(self, binary, file):  # pylint: disable=super-init-not-called
        self._serve(binary, ["-c", file])


def connect(port, receive_buffer=None):
    s = socket.socket()
    if receive_buffer:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    s.settimeout(30)
    s.connect(("127.0.0.1", port))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def read_head(s, rest=b""):
    """(status, fields in lower case, bytes behind the head)"""
    while b"\r\n\r\n" not in rest:
        data = s.recv(65536)
        if not data:
            raise ConnectionError(f"closed in the head after {rest[:80]!r}")
        rest += data
    head, _, rest = rest.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    return int(first.split()[1]), fields, rest


def get(s, path, extra=""):
    """One GET with a small answer on an open connection: (status, body)."""
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n{extra}\r\n".encode())
    status, fields, body = read_head(s)
    length = int(fields.get("content-length", 0))
    while len(body) < length:
        data = s.recv(65536)
        if not data:
            raise ConnectionError("closed in the body")
        body += data
    return status, body


class NormalClient(threading.Thread):
    """Asks every `every` s, always on a new connection or always on a kept one. Counts its failures, with reasons."""

    def __init__(self, port, kind, every=0.04):
        super().__init__(daemon=True)
        self.port, self.kind, self.every = port, kind, every
        self.times, self.failures = [], []
        self._halt = threading.Event()
        self.start()

    def run(self):
        s, due = connect(self.port), time.monotonic()
        while not self._halt.is_set():
            begin = time.monotonic()
            try:
                if self.kind == "new":
                    s.close()
                    s = connect(self.port)
                status, body = get(s, f"/ok/{len(self.times)}")
                if (status, body) != (200, b"ok"):
                    raise ConnectionError(f"{status} {body[:40]!r}")
                self.times.append(time.monotonic() - begin)
            except OSError as fault:
                self.failures.append(f"request {len(self.times)} after {time.monotonic() - begin:.3f} s: {fault!r}")
                s = connect(self.port)
            due = max(due + self.every, time.monotonic() - 1)
            self._halt.wait(max(0, due - time.monotonic()))
        s.close()

    def judge(self):
        self._halt.set()
        self.join(40)
        took = f"median {percentile(self.times, .5) * 1e3:.1f} ms, p99 {percentile(self.times, .99) * 1e3:.1f} ms"
        check(not self.failures and self.times, f"a normal client ({self.kind} connections) that never fails",
              f"{len(self.times)} answers ({took}, most {max(self.times, default=0) * 1e3:.0f}), "
              f"{len(self.failures)} failures {self.failures[:3]}")
