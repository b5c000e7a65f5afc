"""The upstream's end."""

import asyncio

from support.message import Ended, Fault, check
from support.tls import TlsUpstream
from support.upstream import Upstream
from support.wire import PATIENCE

from . import frames as f
from .peer import Peer


class Server(Peer):
    def __init__(self, wire, settings=(), *, preface=True):
        super().__init__(wire, settings)
        self.arrived = []  # streams, in the order of their heads
        self.refusals = 0  # of what was too much
        self._handed = 0
        self._began = False
        self._on_request = None
        if preface:
            self.send(f.settings(*self.own.items()))

    def opens(self, number):
        check(number % 2 == 1 and number > self._last_id, f"stream {number} behind {self._last_id}")
        self._last_id = number
        return True

    def opened(self, stream):
        limit = self.own.get(f.MAX_CONCURRENT_STREAMS)
        if limit is not None and sum(one.is_open for one in self.arrived) >= limit:
            self.refusals += 1  # it may have been sent before our SETTINGS had come
            self.reset(stream, f.REFUSED_STREAM)
            return
        self.arrived.append(stream)
        if self._on_request:
            self._on_request(stream)

    def pump(self):
        if not self._began:
            size = len(f.PREFACE)
            if len(self.wire.buffer) < size:
                return
            if not self.wire.buffer.startswith(f.PREFACE):
                self.fault = Fault(f"no preface: {bytes(self.wire.buffer[:40])!r}")
                return
            del self.wire.buffer[:size]
            self._began = True
        super().pump()

    async def request(self, seconds=PATIENCE):
        """The next stream that the case has not taken yet; its head has come."""
        await self.want(lambda: len(self.arrived) > self._handed, f"request {self._handed + 1}", seconds)
        self._handed += 1
        return self.arrived[self._handed - 1]

    async def whole(self, seconds=PATIENCE):
        """The next request, with its body."""
        return await self.done(await self.request(seconds), seconds)

    def head(self, stream, status=200, fields=(), *, end=False):
        stream.closed_here = end
        self.send(f.headers(stream.number, [(":status", str(status)), *fields], end=end))

    async def respond(self, stream, status=200, fields=(), body=b"ok", *, trailers=None):
        """A whole response. `body` None: it ends with its head."""
        self.head(stream, status, fields, end=body is None and trailers is None)
        if body is not None:
            await self.send_data(stream, body, end=trailers is None)
        if trailers is not None:
            stream.closed_here = True
            self.send(f.headers(stream.number, trailers))

    async def serve(self, answer):
        """`answer`, a coroutine function of (server, stream), is called beside for every request, at its head."""
        tasks = set()

        async def play(stream):
            try:
                await answer(self, stream)
            except Ended:
                pass
            except Fault as fault:
                self.fault = self.fault or fault

        def begin(stream):
            task = asyncio.ensure_future(play(stream))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        self._on_request = begin
        for stream in self.arrived:
            begin(stream)
        try:
            await self.over()
        finally:
            for task in tasks:
                task.cancel()


async def echo(server, stream):
    """Answers a whole request with what it was."""
    await server.done(stream, 3600)
    if stream.ended:
        head = stream.head
        text = f"{head.get(':method')} {head.get(':path')} {stream.received}\n".encode()
        await server.respond(stream, body=None if head.get(":method") == "HEAD" else text)


class H2Upstream(Upstream):
    """Hands out Servers, or lets `answer` be played for each request. `servers` are in the order of their coming."""

    def __init__(self, answer=None, settings=()):
        super().__init__(self._serve)
        self._begin(answer, settings)

    def _begin(self, answer, settings):
        self.answer, self.own = answer, settings
        self.servers = []
        self._served = 0

    async def _serve(self, wire):
        server = Server(wire, self.own)
        self.servers.append(server)
        self._came.set()
        if self.answer:
            await server.serve(self.answer)
        else:
            await server.over()

    async def server(self, seconds=PATIENCE):
        """The next connection's, that the case has not taken yet."""
        if not await self.until(lambda: len(self.servers) > self._served, seconds):
            raise Fault(f"connection {self._served + 1} to the upstream did not come within {seconds} s")
        self._served += 1
        return self.servers[self._served - 1]

    @property
    def streams(self):
        """Of all connections, in the order of their coming on each."""
        return [stream for server in self.servers for stream in server.arrived]

    def setting(self, **more):
        """It as a value of the setting `upstreams`."""
        return {"url": self.url, "protocol": "h2c", **more}


class TlsH2Upstream(H2Upstream, TlsUpstream):
    """Over TLS; `context` is to have h2 among its protocols."""

    def __init__(self, context, answer=None, settings=()):
        TlsUpstream.__init__(self, context, self._serve)
        self._begin(answer, settings)

    def setting(self, trusted, **more):
        return {"url": self.url, "tls": {"ca": trusted.certificate}, **more}
