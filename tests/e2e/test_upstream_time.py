"""CONTRACT section 3: upstreamTimeoutMs bounds silence, never a total, and each piece starts it anew."""

import asyncio

from support import CHUNKED_HEAD, LAST_CHUNK, case, check, chunk_bytes, error_of, has_last_chunk, \
    not_before, now, request_bytes, response_bytes


@case
async def silence_before_the_head_is_504(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"upstreamTimeoutMs": 1000})
    begin = now()
    wire = await t.client(gateway)
    wire.send(request_bytes(target="/x"))
    peer = await upstream.connection()
    response = await wire.response()
    not_before(begin, now(), 1.0, "the 504")
    error_of(response, 504, "http_response_timeout")
    check("error=http_response_timeout" in response.get("Proxy-Status"), f"{response}")
    check(await peer.reset_by_peer(), "the abandoned attempt was not reset")
    wire.send(request_bytes(target="/y"))
    other = await upstream.connection()
    await other.request()
    other.send(response_bytes())
    check((await wire.response()).status == 200, "the client's connection was not kept")


@case
async def silence_is_counted_from_the_last_request_byte(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"upstreamTimeoutMs": 1000})
    wire = await t.client(gateway)
    wire.send(b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\na")
    await asyncio.sleep(1.5)
    begin = now()
    wire.send(b"b")
    error_of(await wire.response(), 504)
    not_before(begin, now(), 1.0, "the 504")


@case
async def silence_between_two_pieces_cuts_visibly(t):
    for framed in (True, False):
        upstream = await t.upstream()
        gateway = await t.gateway(upstream, limits={"upstreamTimeoutMs": 1000})
        wire = await t.client(gateway)
        wire.send(request_bytes(target="/x", version="1.1" if framed else "1.0"))
        peer = await upstream.connection()
        await peer.request()
        peer.send(CHUNKED_HEAD + chunk_bytes(b"a") if framed else b"HTTP/1.1 200 OK\r\n\r\na")
        begin = now()
        end = await wire.ended()
        not_before(begin, wire.end_at, 0.95, "the cut")
        check(not has_last_chunk(wire.buffer), "it looks complete")
        check(framed or end != "fin", "a close-delimited response was cut with a FIN")
        line = await gateway.exchange("/x")
        check(line["end"] == "http_response_timeout" and line["side"] == "upstream", f"{line}")


@case
async def pieces_now_and_then_go_on_for_ever(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"upstreamTimeoutMs": 1200, "idleTimeoutMs": 1200, "requestTimeoutMs": 1200})
    wire = await t.client(gateway)
    wire.send(request_bytes(target="/x"))
    peer = await upstream.connection()
    await peer.request()
    peer.send(CHUNKED_HEAD)
    await wire.response_head()
    for n in range(10):
        await asyncio.sleep(0.4)
        peer.send(chunk_bytes(b"%d" % n))
        check(await wire.chunk() == b"%d" % n, "cut")
    peer.send(LAST_CHUNK)
    check(await wire.chunk() == b"", "cut")


@case
async def interim_responses_show_life(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"upstreamTimeoutMs": 1200})
    wire = await t.client(gateway)
    wire.send(request_bytes(target="/x"))
    peer = await upstream.connection()
    await peer.request()
    for _ in range(6):
        await asyncio.sleep(0.4)
        peer.send(b"HTTP/1.1 102 Processing\r\n\r\n")
    peer.send(response_bytes())
    response = await wire.response()
    check((response.status, len(response.interim)) == (200, 6), f"{response} {response.interim}")


@case
async def a_head_that_drips_is_silence_no_more_than_a_body(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"upstreamTimeoutMs": 60000})
    wire = await t.client(gateway)
    wire.send(request_bytes(target="/x"))
    peer = await upstream.connection()
    await peer.request()
    for byte in response_bytes(b"dripped"):
        peer.send(bytes([byte]))
        await asyncio.sleep(0.005)
    check((await wire.response()).body == b"dripped", "not served")


@case
async def a_route_may_have_a_timeout_of_its_own(t):
    upstream = await t.upstream()
    routes = [{"path": "/", "upstream": "u"}, {"path": "/quick", "upstream": "u", "upstreamTimeoutMs": 500}]
    gateway = await t.gateway(upstream, routes=routes, limits={"upstreamTimeoutMs": 60000})
    patient, quick = await t.client(gateway), await t.client(gateway)
    patient.send(request_bytes(target="/slow"))
    quick.send(request_bytes(target="/quick/x"))
    error_of(await quick.response(), 504)
    check(not patient.buffer, "the other route had the same timeout")


@case
async def an_upstream_that_is_awaited_with_100_continue_has_its_own_budget(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"upstreamTimeoutMs": 1000})
    wire = await t.client(gateway)
    begin = now()
    wire.send(b"POST /x HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
    error_of(await wire.response(), 504, "http_response_timeout")
    not_before(begin, now(), 1.0, "the 504")
