"""One exchange told in the same words whether it is in HTTP/1.1 or in HTTP/2, so that a case can be about every pair."""

from support import check, chunk_bytes, request_bytes, response_bytes
from support.message import Ended
from support.upstream import Upstream

from .client import connect
from .upstream import H2Upstream

KINDS = ("h1", "h2")
PAIRS = [(client, upstream) for client in KINDS for upstream in KINDS if "h2" in (client, upstream)]


class Message:
    """`fields` and `trailers`: pairs with names in small letters; what is framing in HTTP/1.1 only is left out."""

    def __init__(self, fields, body=b"", trailers=None, whole=True):
        self.fields = [(name.lower(), value) for name, value in fields if not name.startswith(":") and
                       name.lower() not in ("transfer-encoding", "connection")]
        self.body, self.whole = bytes(body), whole
        self.trailers = [(name.lower(), value) for name, value in trailers or []]

    def all(self, name):
        return [value for key, value in self.fields if key == name]

    def get(self, name):
        values = self.all(name)
        check(len(values) <= 1, f"{name} stands {len(values)} times: {self}")
        return values[0] if values else None

    def __repr__(self):
        return f"<{self.__dict__}>"


class Reply(Message):
    """What an upstream is to answer. `interim`: (status, fields) of each 1xx. `length`: whether content-length is told."""

    def __init__(self, status=200, fields=(), body=b"ok", trailers=None, interim=(), length=True):
        super().__init__(fields, body or b"", trailers)
        self.status, self.interim, self.length, self.bodyless = status, interim, length, body is None


def upstream_of(kind, answer=None):
    """An upstream that notes whole requests in its `seen`, and answers with what `answer(request)` is, a Reply."""
    return (Http1 if kind == "h1" else Http2)(answer or (lambda request: Reply()))


class Http1(Upstream):
    def __init__(self, reply):
        super().__init__(self._play)
        self.reply, self.seen = reply, []

    async def _play(self, wire):
        while await wire.until(lambda: wire.buffer or wire.end, 3600) and wire.buffer:
            got = await wire.request_head()
            if "100-continue" in got.listed("Expect"):
                wire.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            await wire._body(got, got.framing(), 3600)
            request = Message(got.fields, got.body, got.trailers)
            request.method, request.path, request.authority = got.method, got.target, got.get("Host")
            request.fields = [(name, value) for name, value in request.fields if name != "host"]
            self.seen.append(request)
            reply = self.reply(request)
            for status, fields in reply.interim:
                lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
                wire.send(f"HTTP/1.1 {status} Interim\r\n{lines}\r\n".encode())
            wire.send(_http1(reply))

    def setting(self):
        return {"url": self.url}


def _http1(reply):
    fields = list(reply.fields)
    if reply.bodyless:
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
        return f"HTTP/1.1 {reply.status} Said\r\n{lines}\r\n".encode("latin1")
    if reply.trailers or not reply.length:
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
        behind = "".join(f"{name}: {value}\r\n" for name, value in reply.trailers)
        body = chunk_bytes(reply.body) if reply.body else b""
        return f"HTTP/1.1 {reply.status} Said\r\n{lines}Transfer-Encoding: chunked\r\n\r\n".encode("latin1") + body + \
            f"0\r\n{behind}\r\n".encode()
    return response_bytes(reply.body, f"{reply.status} Said", fields)


class Http2(H2Upstream):
    def __init__(self, reply):
        super().__init__(self._tell)
        self.reply, self.seen = reply, []

    async def _tell(self, server, stream):
        if stream.head.get("expect") == "100-continue":
            server.head(stream, 100)
        await server.done(stream, 3600)
        if not stream.ended:
            raise Ended("a cut request")
        head = stream.head
        request = Message(head.fields, stream.body, stream.trailers)
        request.method, request.path = head.get(":method"), head.get(":path")
        request.authority, request.scheme = head.get(":authority"), head.get(":scheme")
        self.seen.append(request)
        reply = self.reply(request)
        for status, fields in reply.interim:
            server.head(stream, status, fields)
        fields = [*reply.fields]
        if reply.length and not reply.bodyless and not reply.trailers:
            fields.append(("content-length", str(len(reply.body))))
        await server.respond(stream, reply.status, fields, None if reply.bodyless else reply.body,
                             trailers=reply.trailers or None)


async def ask(t, kind, gateway, method="GET", path="/", fields=(), body=None, trailers=None, authority="localhost"):
    """The whole response as a Message with `status` and `interim`. `body` with trailers goes without content-length."""
    if kind == "h2":
        client = await connect(t, gateway)
        if body is not None and not trailers:
            fields = [*fields, ("content-length", str(len(body)))]
        stream = await client.ask(method, path, fields, body, trailers=trailers, authority=authority)
        check(stream.head, f"no response: {stream} of {client}")
        message = Message(stream.head.fields, stream.body, stream.trailers, stream.ended)
        message.status = stream.status
        message.interim = [(head.status, [(n, v) for n, v in head.fields if n != ":status"]) for head in stream.interim]
        return message
    wire = await t.client(gateway)
    request = request_bytes(method, path, fields, body, chunked=bool(trailers), host=authority)
    if trailers:
        request = request[:-2] + "".join(f"{name}: {value}\r\n" for name, value in trailers).encode() + b"\r\n"
    wire.send(request)
    got = await wire.response(method)
    message = Message(got.fields, got.body, got.trailers)
    message.status, message.interim = got.status, [(each.status, each.fields) for each in got.interim]
    return message


async def between(t, client, upstream, answer=None, **settings):
    """(the upstream, a coroutine function as ask()) of such a pair, with a gateway of their own."""
    peer = await t.listening(upstream_of(upstream, answer))
    settings = {"upstream": {"host": "client"}, "upstreams": {"u": peer.setting()}, **settings}
    gateway = await t.gateway("http://unused", **settings)

    async def once(*words, **options):
        return await ask(t, client, gateway, *words, **options)

    return peer, once, gateway
