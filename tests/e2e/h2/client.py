"""The client's end."""

from support.message import check
from support.wire import PATIENCE

from . import frames as f
from .peer import Peer, Stream


class Client(Peer):
    """`settings`: pairs. Unless told not to, it begins as a client has to."""

    def __init__(self, wire, settings=(), *, preface=True, scheme="http"):
        super().__init__(wire, settings)
        self._own_window_holds()  # nothing is asked before
        self.scheme = scheme
        if preface:
            self.send(f.PREFACE, f.settings(*self.own.items()))

    def opens(self, number):
        return False  # nothing is pushed

    def refused(self, stream):
        return bool(self.goaways) and stream.number > self.goaways[-1][0]

    def stream(self, number=None):
        """A Stream for what comes on it; nothing is sent."""
        number = number or (self._last_id + 2 if self._last_id else 1)
        self._last_id = max(self._last_id, number)
        self.streams[number] = Stream(self, number)
        return self.streams[number]

    def begin(self, method="GET", path="/", fields=(), *, end=True, authority="localhost", number=None, block=None):
        """A request's head. `block`: all its fields, if they are to be others."""
        stream = self.stream(number)
        head = block if block is not None else f.request_fields(method, path, fields, authority, self.scheme)
        self.send(f.headers(stream.number, head, end=end))
        return stream

    async def ask(self, method="GET", path="/", fields=(), body=None, *, trailers=None, seconds=PATIENCE, **options):
        """A whole request; the stream, once its response has come or it was refused."""
        stream = self.begin(method, path, fields, end=body is None and trailers is None, **options)
        if body is not None:
            await self.send_data(stream, body, end=trailers is None, seconds=seconds)
        if trailers is not None:
            self.send(f.headers(stream.number, trailers))
        return await self.done(stream, seconds)

    async def good(self, *words, **options):
        """As ask(); the answer is a whole 200."""
        stream = await self.ask(*words, **options)
        check(stream.status == 200 and stream.ended, f"not a whole 200: {stream} of {self}")
        return stream


class Raw(Client):
    """Whose case opens streams without telling it."""

    def opens(self, number):
        return number % 2 == 1


async def connect(t, gateway, settings=(), *, context=None, of=0, preface=True, **options):
    """A Client of a case. `context`: over TLS."""
    if context:
        wire = await t.tls_client(gateway, context, of=of, **options)
        why = await wire.handshake()
        check(why is None and wire.tls.selected_alpn_protocol() == "h2", f"{why} {wire.tls.selected_alpn_protocol()}")
    else:
        wire = await t.client(gateway, **options)
    return Client(wire, settings, preface=preface, scheme="https" if context else "http")
