"""Scripted upstreams: connections are handed to the case one by one, or answered by a function."""

import asyncio
import os
import socket

from .message import Ended, Fault, response_bytes
from .wire import PATIENCE, Wire


class Upstream:
    """With `script`, a coroutine function of a Wire, every connection is served by it; without, the case takes
    connections with `connection()` and plays the upstream's part itself."""

    def __init__(self, script=None):
        self.script = script
        self.connections = []  # in the order of their coming
        self.requests = []  # of scripts that note() them: (request, number of the connection, ordinal on it)
        self.faults = []
        self.host, self.port, self.path = None, None, None
        self._server = None
        self._handed = 0
        self._tasks = set()
        self._came = asyncio.Event()

    @property
    def url(self):
        if self.path:
            return f"unix:{self.path}"
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    async def listen(self, host="127.0.0.1", port=0, path=None, receive_buffer=None, backlog=1024):
        loop = asyncio.get_running_loop()
        self.host, self.path = host, path
        if path:
            self._server = await loop.create_unix_server(self._new_wire, path)
            return self
        sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if ":" in host:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.bind((host, port))
        self.port = sock.getsockname()[1]
        self._server = await loop.create_server(self._new_wire, sock=sock, backlog=backlog)
        return self

    def _new_wire(self):
        return Wire(on_open=self._opened)

    def _opened(self, wire):
        wire.number = len(self.connections)
        wire.ordinal = 0
        self.connections.append(wire)
        self._came.set()
        if self.script:
            task = asyncio.ensure_future(self._play(wire))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _play(self, wire):
        try:
            await self.script(wire)
        except Ended:
            pass  # a cut request: whether that is right is for the case to say
        except Fault as fault:
            self.faults.append(fault)
        finally:
            wire.close()

    def note(self, wire, request):
        """Remembers a request; returns how many came on this connection, this one included."""
        wire.ordinal += 1
        self.requests.append((request, wire.number, wire.ordinal))
        self._came.set()
        return wire.ordinal

    async def connection(self, seconds=PATIENCE):
        """The next connection that the case has not taken yet."""
        if not await self.until(lambda: len(self.connections) > self._handed, seconds):
            raise Fault(f"connection {self._handed + 1} to the upstream did not come within {seconds} s")
        self._handed += 1
        return self.connections[self._handed - 1]

    async def until(self, condition, seconds=PATIENCE):
        """Waits for a condition on what note() and new connections tell."""
        loop = asyncio.get_running_loop()
        limit = loop.time() + seconds
        while not condition():
            self._came.clear()
            left = limit - loop.time()
            if left <= 0:
                return False
            try:
                await asyncio.wait_for(self._came.wait(), left)
            except asyncio.TimeoutError:
                return bool(condition())
        return True

    def deliveries(self, target):
        return sum(request.target == target for request, _, _ in self.requests)

    def stop_listening(self):
        """Connects are refused from now on; open connections stay."""
        self._server.close()

    async def close(self):
        self._server.close()
        for wire in self.connections:
            wire.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.path and os.path.exists(self.path):
            os.unlink(self.path)


def answering(upstream, answer=None):
    """A script that answers every request with `answer(request)`: bytes, or None to close. Notes them in `upstream`."""

    async def script(wire):
        while await wire.until(lambda: wire.buffer or wire.end, 3600) and wire.buffer:
            request = await wire.request()
            upstream.note(wire, request)
            reply = answer(request) if answer else response_bytes(b"" if request.method == "HEAD" else b"ok")
            if reply is None:
                return
            wire.send(reply)

    return script


def free_port(host="127.0.0.1"):
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as sock:
        sock.bind((host, 0))
        return sock.getsockname()[1]
