"""WebSocket over HTTP/2 (RFC 8441): tunnels in streams, in every pair."""

import base64
import hashlib
import os

from h2 import frames as f
from h2.client import connect
from h2.upstream import H2Upstream
from support import case, check, request_bytes, response_bytes

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONNECTABLE = ((f.ENABLE_CONNECT_PROTOCOL, 1),)


def accept_of(key):
    return base64.b64encode(hashlib.sha1(key.encode() + GUID).digest()).decode()


def extended(path="/chat", fields=()):
    return [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":authority", "localhost"),
            (":path", path), ("sec-websocket-version", "13"), *fields]


async def front(t, upstream, **settings):
    setting = upstream.setting() if isinstance(upstream, H2Upstream) else upstream.url
    return await t.gateway("http://unused", upstreams={"u": setting}, **settings)


async def h1_side(upstream, agree=True):
    """As an HTTP/1.1 upstream: the wire of the tunnel, or of a refusal, and the request."""
    peer = await upstream.connection()
    request = await peer.request()
    check(request.method == "GET" and request.listed("Upgrade") == ["websocket"], f"{request}")
    check("upgrade" in request.listed("Connection") and request.get("Sec-WebSocket-Version") == "13", f"{request}")
    key = request.get("Sec-WebSocket-Key")
    check(key and len(base64.b64decode(key)) == 16, f"{request}")
    if agree:
        peer.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                  b"Sec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: chat\r\n\r\nfirst" % accept_of(key).encode())
    return peer, request


@case
async def a_client_in_http2_reaches_an_http1_websocket(t):
    upstream = await t.upstream()
    client = await connect(t, await front(t, upstream))
    await client.want(lambda: client.settings_seen, "SETTINGS")
    check(client.settings.get(f.ENABLE_CONNECT_PROTOCOL) == 1, f"not offered: {client.settings}")
    stream = client.begin(block=extended("/chat?room=1", [("sec-websocket-protocol", "chat")]), end=False)
    peer, request = await h1_side(upstream)
    check(request.target == "/chat?room=1" and request.get("Sec-WebSocket-Protocol") == "chat", f"{request}")
    await client.want(lambda: stream.body == b"first", "what came with the 101")
    check(stream.status == 200 and stream.head.get("sec-websocket-protocol") == "chat", f"{stream}")
    check(stream.head.get("sec-websocket-accept") is None and stream.head.get("upgrade") is None, f"{stream}")
    data = os.urandom(1_000_000)
    t.later(client.send_data(stream, data, end=False))
    check(await peer.take(len(data)) == data, "other bytes to the upstream")
    stream.body.clear()
    await peer.push(data)
    await client.want(lambda: len(stream.body) == len(data), "bytes from the upstream")
    check(stream.body == data, "other bytes to the client")
    peer.close()
    await client.done(stream)
    check(stream.ended or stream.code is not None, f"{stream}")
    check(not client.goaways, f"{client}")


@case
async def ends_of_a_tunnel_pass_through(t):
    upstream = await t.upstream()
    client = await connect(t, await front(t, upstream))
    stream = client.begin(block=extended(), end=False)
    peer, _ = await h1_side(upstream)
    await client.want(lambda: stream.body == b"first", "101")
    client.send(f.data(stream.number, b"last words", end=True))
    check(await peer.take(10) == b"last words", "bytes in front of the end")
    check(await peer.ended() == "fin", "END_STREAM is a FIN")
    peer.send(b"an answer")
    peer.fin()
    await client.done(stream)
    check(stream.ended and stream.body == b"firstan answer", f"{stream}")
    for how in ("reset by the client", "reset by the upstream"):
        stream = client.begin(block=extended(), end=False)
        peer, _ = await h1_side(upstream)
        await client.want(lambda: stream.body == b"first", "101")
        if how == "reset by the client":
            client.reset(stream)
            await peer.ended(5)
        else:
            peer.reset()
            await client.done(stream)
            check(stream.code is not None, f"{stream}")
    check(not client.goaways, f"{client}")


@case
async def a_refusal_is_an_ordinary_response(t):
    upstream = await t.upstream()
    client = await connect(t, await front(t, upstream))
    stream = client.begin(block=extended(), end=False)
    peer, _ = await h1_side(upstream, agree=False)
    peer.send(response_bytes(b"no", "403 Forbidden"))
    await client.want(lambda: stream.ended, "the refusal's end")
    check(stream.status == 403 and stream.body == b"no", f"{stream}")


@case
async def a_wrong_accept_is_not_taken_for_a_websocket(t):
    upstream = await t.upstream()
    client = await connect(t, await front(t, upstream))
    stream = client.begin(block=extended(), end=False)
    peer = await upstream.connection()
    await peer.request()
    peer.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
    await client.done(stream)
    check(stream.status in (502, None), f"{stream}")


async def agreed(upstream):
    """As an HTTP/2 upstream: (server, stream) of the tunnel."""
    server = upstream.servers[-1] if upstream.servers else await upstream.server()
    stream = await server.request()
    check(stream.head.get(":method") == "CONNECT" and stream.head.get(":protocol") == "websocket", f"{stream}")
    check(stream.head.get(":path") == "/chat" and stream.head.get(":scheme"), f"{stream}")
    check(not any(stream.head.get(f"sec-websocket-{name}") for name in ("key", "accept")), f"{stream}")
    check(not stream.ended, f"END_STREAM on a tunnel's head: {stream}")
    server.head(stream, 200, [("sec-websocket-protocol", "chat")])
    return server, stream


@case
async def an_http1_client_reaches_an_http2_websocket(t):
    upstream = await t.listening(H2Upstream(settings=CONNECTABLE))
    wire = await t.client(await front(t, upstream))
    key = base64.b64encode(os.urandom(16)).decode()
    wire.send(request_bytes(target="/chat", fields=[("Connection", "Upgrade"), ("Upgrade", "websocket"),
                                                    ("Sec-WebSocket-Key", key), ("Sec-WebSocket-Version", "13")]))
    server, there = await agreed(upstream)
    response = await wire.response()
    check(response.status == 101 and response.get("Sec-WebSocket-Accept") == accept_of(key), f"{response}")
    check(response.listed("Upgrade") == ["websocket"] and response.get("Sec-WebSocket-Protocol") == "chat", f"{response}")
    data = os.urandom(500_000)
    await wire.push(data)
    await server.want(lambda: there.received == len(data), "bytes to the upstream")
    check(there.body == data, "other bytes")
    t.later(server.send_data(there, data, end=True))
    check(await wire.take(len(data)) == data, "other bytes")
    check(await wire.ended() == "fin", f"{wire.end}")


@case
async def a_client_in_http2_reaches_an_http2_websocket(t):
    upstream = await t.listening(H2Upstream(settings=CONNECTABLE))
    client = await connect(t, await front(t, upstream))
    stream = client.begin(block=extended(), end=False)
    server, there = await agreed(upstream)
    await client.want(lambda: stream.head, "answer")
    check(stream.status == 200, f"{stream}")
    data = os.urandom(300_000)
    await client.send_data(stream, data, end=True)
    await server.want(lambda: there.ended, "the client's end")
    check(there.body == data, "other bytes")
    await server.send_data(there, data[::-1], end=True)
    await client.want(lambda: stream.ended, "the upstream's end")
    check(stream.body == data[::-1], "other bytes")
    stream = client.begin(block=extended(), end=False)
    server, there = await agreed(upstream)
    client.reset(stream)
    await server.want(lambda: there.code is not None, "RST_STREAM")
    check(there.error == "CANCEL" and len(upstream.servers) == 1, f"{there}")


@case
async def an_http2_upstream_that_knows_no_tunnels_is_told_so(t):
    upstream = await t.listening(H2Upstream())
    gateway = await front(t, upstream)
    client = await connect(t, gateway)
    stream = client.begin(block=extended(), end=False)
    await client.done(stream)
    check(stream.status in (501, 502), f"{stream}")
    wire = await t.client(gateway)
    wire.send(request_bytes(target="/chat", fields=[("Connection", "Upgrade"), ("Upgrade", "websocket"),
                                                    ("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="),
                                                    ("Sec-WebSocket-Version", "13")]))
    response = await wire.response()
    check(response.status in (501, 502), f"{response}")
    check(not any(s.head.get(":protocol") for s in upstream.streams), f"{upstream.streams}")
