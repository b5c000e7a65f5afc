"""CONTRACT sections 1 and 4: Upgrade and CONNECT."""

import asyncio

from support import case, check, error_of, not_before, now, request_bytes, response_bytes

UPGRADE = request_bytes(target="/ws", fields=[("Connection", "Upgrade"), ("Upgrade", "websocket"),
                                              ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")])
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"


async def tunnel(t, behind=b"", **settings):
    """An open tunnel: (client, upstream's end, gateway)."""
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, **settings)
    wire = await t.client(gateway)
    wire.send(UPGRADE)
    peer = await upstream.connection()
    request = await peer.request()
    check(request.listed("Connection") == ["upgrade"] and request.get("Upgrade") == "websocket", f"{request}")
    check(request.get("Sec-WebSocket-Key") == "dGhlIHNhbXBsZSBub25jZQ==", f"{request}")
    peer.send(SWITCH + behind)
    response = await wire.response()
    check(response.status == 101 and response.get("Upgrade") == "websocket", f"{response}")
    check(response.listed("Connection") == ["upgrade"], f"{response}")
    return wire, peer, gateway


@case
async def bytes_go_both_ways(t):
    wire, peer, _ = await tunnel(t)
    for n in range(50):
        wire.send(b"ping %d;" % n)
        await peer.take_until(b"ping %d;" % n)
        peer.send(b"pong %d;" % n)
        await wire.take_until(b"pong %d;" % n)


@case
async def bytes_in_the_same_read_as_the_101_are_not_lost(t):
    wire, _, _ = await tunnel(t, behind=b"first frame")
    check(await wire.take(11) == b"first frame", "lost")


@case
async def bytes_behind_the_upgrade_request_are_not_lost(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    wire.send(UPGRADE + b"eager frame")
    peer = await upstream.connection()
    await peer.request()
    peer.send(SWITCH)
    await wire.response()
    check(await peer.take(11) == b"eager frame", "lost")


@case
async def large_amounts_go_both_ways_at_once(t):
    wire, peer, _ = await tunnel(t)
    data = bytes(range(256)) * 16_000  # 4 MB
    pushes = [t.later(wire.push(data)), t.later(peer.push(data))]
    check(await peer.take(len(data)) == data, "the client's bytes changed")
    check(await wire.take(len(data)) == data, "the upstream's bytes changed")
    await asyncio.gather(*pushes)


@case
async def half_closes_pass_through(t):
    wire, peer, _ = await tunnel(t)
    wire.send(b"last words")
    wire.fin()
    check(await peer.take(10) == b"last words", "lost")
    check(await peer.ended(10) == "fin", "no half-close")
    await asyncio.sleep(0.5)
    peer.send(b"still answering")
    check(await wire.take(15) == b"still answering", "the other direction was closed too")
    peer.fin()
    check(await wire.ended(10) == "fin", "no end")

    wire, peer, _ = await tunnel(t)
    peer.send(b"bye")
    peer.fin()
    check(await wire.take(3) == b"bye", "lost")
    check(await wire.ended(10) == "fin", "no half-close")
    wire.send(b"late")
    check(await peer.take(4) == b"late", "the other direction was closed too")
    wire.fin()
    check(await peer.ended(10) == "fin", "no end")


@case
async def a_reset_ends_both_sides(t):
    wire, peer, _ = await tunnel(t)
    wire.reset()
    await peer.ended(10)
    wire, peer, _ = await tunnel(t)
    peer.reset()
    await wire.ended(10)


@case
async def a_refused_upgrade_is_an_ordinary_response(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    wire.send(UPGRADE)
    peer = await upstream.connection()
    await peer.request()
    peer.send(response_bytes(b"no", "403 Forbidden"))
    check((await wire.response()).status == 403, "not delivered")
    wire.send(request_bytes(target="/next"))
    other = await upstream.connection()
    request = await other.request()
    check(request.target == "/next", f"{request}")
    other.send(response_bytes(b"next"))
    check((await wire.response()).body == b"next", "the connection did not go on")


@case
async def a_tunnel_may_be_silent_by_default(t):
    wire, peer, _ = await tunnel(t, limits={"idleTimeoutMs": 500, "requestTimeoutMs": 500, "upstreamTimeoutMs": 500,
                                            "sendTimeoutMs": 500})
    await wire.quiet(2.5)
    peer.send(b"alive")
    await wire.take(5)
    wire.send(b"alive")
    await peer.take(5)


@case
async def tunnel_idle_timeout_ends_a_silent_tunnel_and_bytes_either_way_put_it_off(t):
    wire, peer, gateway = await tunnel(t, limits={"tunnelIdleTimeoutMs": 1200})
    for n in range(6):
        await asyncio.sleep(0.4)
        (wire if n % 2 else peer).send(b"x")
        await (peer if n % 2 else wire).take(1)
    begin = now()
    await wire.ended()
    not_before(begin, wire.end_at, 1.15, "the end")
    await peer.ended()
    await gateway.exchange("/ws")


@case
async def a_blocked_tunnel_has_the_budget_of_sending(t):
    wire, peer, gateway = await tunnel(t, limits={"sendTimeoutMs": 1000})
    wire.pause()
    begin = now()
    t.later(peer.pour(30_000_000))
    await gateway.exchange("/ws")
    not_before(begin, now(), 0.95, "the cut")


@case
async def an_upgrade_takes_a_new_connection_and_never_enters_the_pool(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    first = await t.client(gateway)
    first.send(request_bytes())
    peer = await upstream.connection()
    await peer.request()
    peer.send(response_bytes())
    await first.response()
    wire = await t.client(gateway)
    wire.send(UPGRADE)
    other = await upstream.connection()
    check("close" not in (await other.request()).listed("Connection"), "an Upgrade with Connection: close")


@case
async def connect_is_refused_unless_a_route_allows_it(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    wire.send(b"CONNECT db.example:5432 HTTP/1.1\r\nHost: db.example:5432\r\n\r\n")
    response = await wire.response()
    check(response.status in (403, 404, 405), f"{response}")
    check(not upstream.connections, "an upstream was asked")


@case
async def connect_opens_a_tunnel_where_a_route_allows_it(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, routes=[{"path": "/", "upstream": "u", "connect": True}])
    wire = await t.client(gateway)
    wire.send(b"CONNECT db.example:5432 HTTP/1.1\r\nHost: db.example:5432\r\n\r\neager")
    peer = await upstream.connection()
    request = await peer.request_head()
    check((request.method, request.target) == ("CONNECT", "db.example:5432"), f"{request}")
    peer.send(b"HTTP/1.1 200 Connected\r\n\r\nhello")
    head = await wire.response_head()
    check(head.status == 200 and not head.all("Transfer-Encoding") and not head.all("Content-Length"), f"{head}")
    check(await wire.take(5) == b"hello", "lost")
    check(await peer.take(5) == b"eager", "lost")


@case
async def an_upgrade_with_a_fin_at_once_still_reaches_its_upstream(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    wire.send(UPGRADE + b"all I say")
    wire.fin()
    peer = await upstream.connection()
    await peer.request()
    peer.send(SWITCH + b"answer")
    check((await wire.response()).status == 101, "no tunnel")
    check(await wire.take(6) == b"answer", "lost")
    check(await peer.take(9) == b"all I say", "lost")
    check(await peer.ended(10) == "fin", "no half-close")


@case
async def an_upstream_that_fails_an_upgrade_is_502_and_never_asked_twice(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    wire.send(UPGRADE)
    peer = await upstream.connection()
    await peer.request()
    peer.close()
    error_of(await wire.response(), 502, "connection_terminated")
    check(len(upstream.connections) == 1, "asked twice")
