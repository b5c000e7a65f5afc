"""The program under test: started with a file of its own, its words and its log read as they come."""

import asyncio
import contextlib
import json
import os
import re
import resource
import signal
import time

from .message import Fault
from .wire import PATIENCE, connect

ADDRESS = re.compile(r"\b(?:listening|admin) on .*?(\d+\.\d+\.\d+\.\d+|\[[0-9a-f:]+\]):(\d+)")
SANITIZER = re.compile(r"(ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|SUMMARY: \w+Sanitizer)")
STOP_PATIENCE = 45.0  # more than the default graceMs


PATIENT_POOL = {"idleTimeoutMs": 60000}  # upstream.*: no connection expires while a loaded machine takes its time


def configuration(upstream, /, **settings):
    """A whole configuration: one upstream for everything, one worker, a free port, unless `settings` say otherwise."""
    url = upstream if isinstance(upstream, str) else upstream.url
    whole = {"listen": ["127.0.0.1:0"], "workers": 1, "upstreams": {"u": url},
             "routes": [{"path": "/", "upstream": "u"}]}
    whole.update(settings)
    return whole


class Gateway:
    def __init__(self, binary, directory):
        self.binary, self.directory = binary, directory
        self.process = None
        self.said = []  # lines of standard output
        self.log = []  # lines of standard error, as objects
        self.strange = []  # ... that are not JSON
        self.addresses = []  # (host, port) of the listeners, the admin's last
        self.exit_code = None
        self._changed = asyncio.Event()
        self._readers = []

    async def start(self, config, environment=None, descriptors=None, arguments=None, read_log=True):
        path = os.path.join(self.directory, f"gateway{id(self)}.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(config if isinstance(config, str) else json.dumps(config, indent=1))
        self.path = path

        def limit_descriptors():
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        self.process = await asyncio.create_subprocess_exec(
            self.binary, *(arguments or ["serve", "-c", path]), stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, limit=1 << 20,
            env={**os.environ, **(environment or {})}, preexec_fn=limit_descriptors)
        self._readers = [asyncio.ensure_future(self._read_words())]
        if read_log:
            self.read_log()
        self._end = asyncio.ensure_future(self._await_end())
        wanted = 1
        if isinstance(config, dict):
            listen = config["listen"]
            wanted = (1 if isinstance(listen, str) else len(listen)) + ("admin" in config)
        await self._started(wanted)
        return self

    async def _started(self, wanted):
        def listening():
            return [line for line in self.said if ADDRESS.search(line)]

        if not await self.until(lambda: len(listening()) >= wanted or self.exit_code is not None):
            raise Fault(f"{len(listening())} of {wanted} listeners announced: {self.said} {self.log[:3]}")
        if self.exit_code is not None:
            raise Fault(f"did not start, exit code {self.exit_code}: {self.said} {self.strange[:5]} {self.log[:3]}")
        lines = sorted(listening(), key=lambda line: "admin" in line.lower())
        for line in lines:
            host, port = ADDRESS.search(line).groups()
            self.addresses.append((host.strip("[]").replace("0.0.0.0", "127.0.0.1"), int(port)))

    async def _read_words(self):
        async for line in self.process.stdout:
            self.said.append(line.decode("utf-8", "replace").rstrip("\n"))
            self._changed.set()

    def read_log(self):
        """Begins to read the log, where start() was told not to."""
        self._readers.append(asyncio.ensure_future(self._read_log()))

    async def _read_log(self):
        async for line in self.process.stderr:
            text = line.decode("utf-8", "replace").rstrip("\n")
            try:
                self.log.append(json.loads(text))
            except ValueError:
                self.strange.append(text)
            self._changed.set()

    async def _await_end(self):
        code = await self.process.wait()
        await asyncio.gather(*self._readers, return_exceptions=True)
        self.exit_code = code
        self._changed.set()

    @property
    def port(self):
        return self.addresses[0][1]

    @property
    def pid(self):
        return self.process.pid

    async def client(self, **options):
        host, port = self.addresses[0]
        return await connect(host, port, **options)

    async def admin(self):
        host, port = self.addresses[-1]
        return await connect(host, port)

    async def until(self, condition, seconds=PATIENCE):
        """Waits for a condition on what the program has said, logged or done."""
        limit = time.monotonic() + seconds
        while not condition():
            self._changed.clear()
            left = limit - time.monotonic()
            if left <= 0:
                return False
            try:
                await asyncio.wait_for(self._changed.wait(), left)
            except asyncio.TimeoutError:
                return bool(condition())
        return True

    def exchanges(self, path=None):
        """The access log's lines, of one path or all."""
        return [line for line in self.log if line.get("event") == "exchange" and path in (None, line.get("path"))]

    async def exchange(self, path, seconds=PATIENCE):
        """The access-log line of the first exchange with this path, once it has come."""
        if not await self.until(lambda: self.exchanges(path), seconds):
            raise Fault(f"no access-log line for {path} within {seconds} s: {self.log[-5:]}")
        return self.exchanges(path)[0]

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    async def ended(self, seconds=STOP_PATIENCE):
        """The exit code, once the process has ended."""
        if not await self.until(lambda: self.exit_code is not None, seconds):
            raise Fault(f"the program still runs after {seconds} s")
        return self.exit_code

    async def stop(self):
        """Stops it in order and looks at how it ended. Twice the signal, so that nothing is waited for."""
        self.signal(signal.SIGTERM)
        if not await self.until(lambda: self.exit_code is not None, 2.5):
            self.signal(signal.SIGTERM)
        try:
            await self.ended()
        finally:
            if self.exit_code is None:
                self.process.kill()
                await self.process.wait()
        self.verify()

    def verify(self):
        reports = [line for line in self.strange if SANITIZER.search(line)]
        if reports:
            raise Fault("sanitizer: " + " | ".join(self.strange[:40]))
        if self.exit_code != 0:
            raise Fault(f"exit code {self.exit_code}: {self.strange[-10:]} {self.log[-2:]}")
        if self.strange:
            raise Fault(f"standard error has lines that are not JSON: {self.strange[:3]}")

    def kill(self):
        if self.process and self.process.returncode is None:
            self.process.kill()

    # --- what the kernel knows of it
    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def resident_bytes(self):
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
