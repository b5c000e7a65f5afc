"""CONTRACT section 1: fresh, kept, head and reading; what runs out, what does not, and what the client is told."""

import asyncio

from support import CHUNKED_HEAD, LAST_CHUNK, case, check, chunk_bytes, error_of, not_before, now, request_bytes, \
    response_bytes

SHORT = {"idleTimeoutMs": 1000, "requestTimeoutMs": 1600}
GET = request_bytes(target="/now")


async def drip(wire, data, pause, size=1):
    """Sends a piece every `pause` seconds until the peer has gone."""
    for at in range(0, len(data), size):
        if wire.lost:
            return
        wire.send(data[at:at + size])
        await asyncio.sleep(pause)


@case
async def a_connection_that_says_nothing_is_closed_silently(t):
    gateway = await t.gateway(await t.answering(), limits=SHORT)
    begin = now()
    wire = await t.client(gateway)
    check(await wire.ended() == "fin", "closed by a reset")
    check(not wire.received, f"told something: {bytes(wire.buffer)!r}")
    not_before(begin, wire.end_at, 1.0, "the close")


@case
async def a_kept_connection_that_says_nothing_is_closed_silently(t):
    gateway = await t.gateway(await t.answering(), limits=SHORT)
    wire = await t.client(gateway)
    await asyncio.sleep(0.5)  # the first budget does not count into the second
    wire.send(GET)
    check((await wire.response()).status == 200, "not served")
    begin = now()
    check(await wire.ended() == "fin", "closed by a reset")
    check(not wire.buffer, f"told something: {bytes(wire.buffer)!r}")
    not_before(begin, wire.end_at, 0.95, "the close")


@case
async def a_head_that_drips_is_408_by_its_first_byte(t):
    gateway = await t.gateway(await t.answering(), limits=SHORT)
    wire = await t.client(gateway)
    await asyncio.sleep(0.5)
    begin = now()
    t.later(drip(wire, b"GET /now HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 400, 0.1))
    response = await wire.response()
    not_before(begin, now(), 1.0, "the 408")
    error_of(response, 408, "request_timeout")
    check("close" in response.listed("Connection"), f"no Connection: close: {response}")


@case
async def the_head_has_the_smaller_of_both_budgets(t):
    gateway = await t.gateway(await t.answering(), limits={"idleTimeoutMs": 20000, "requestTimeoutMs": 1000})
    wire = await t.client(gateway)
    begin = now()
    wire.send(b"GET /now HT")
    error_of(await wire.response(), 408)
    not_before(begin, now(), 1.0, "the 408")


@case
async def half_a_head_on_a_kept_connection_is_408_by_its_first_byte(t):
    gateway = await t.gateway(await t.answering(), limits={"idleTimeoutMs": 6000, "requestTimeoutMs": 1000})
    wire = await t.client(gateway)
    wire.send(GET)
    await wire.response()
    await asyncio.sleep(0.5)
    begin = now()
    t.later(drip(wire, b"GET /now HTTP/1.1\r\nX-Long: " + b"a" * 400, 0.1))
    error_of(await wire.response(), 408)
    not_before(begin, now(), 1.0, "the 408")


@case
async def a_body_that_drips_is_408_by_the_heads_first_byte_and_its_upstream_sees_a_cut_request(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits=SHORT)
    wire = await t.client(gateway)
    begin = now()
    wire.send(b"POST /drip HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n")
    t.later(drip(wire, b"a" * 100, 0.1))
    peer = await upstream.connection()
    request = await peer.request_head()
    check(request.get("Content-Length") == "500", f"{request}")
    error_of(await wire.response(), 408, "request_timeout")
    not_before(begin, now(), 1.6, "the 408")
    await peer.ended()
    check(len(peer.buffer) < 500, "the request was completed")


@case
async def a_slow_upload_at_a_fair_pace_is_served(t):
    gateway = await t.gateway(await t.answering(), limits={"idleTimeoutMs": 2000, "requestTimeoutMs": 2000})
    wire = await t.client(gateway)
    wire.send(b"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 262144\r\n\r\n")
    begin = now()
    t.later(drip(wire, b"a" * 262144, 0.25, 16384))
    response = await wire.response()
    check(response.status == 200, f"{response}")
    check(now() - begin >= 3.0, "the upload was not slow")


@case
async def an_upload_below_the_pace_is_lengthened_by_amount_and_no_more(t):
    # 2 KiB per second at a rate of 8 KiB per second: due at t = 1 + t / 4.
    gateway = await t.gateway(await t.answering(), limits={"idleTimeoutMs": 1000, "requestTimeoutMs": 1000})
    wire = await t.client(gateway)
    begin = now()
    wire.send(b"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 65536\r\n\r\n")
    t.later(drip(wire, b"a" * 65536, 0.1, 205))
    error_of(await wire.response(), 408)
    not_before(begin, now(), 1.15, "the 408")


@case
async def without_a_minimum_rate_the_budget_is_exactly_request_timeout(t):
    gateway = await t.gateway(await t.answering(), limits={"requestTimeoutMs": 1000, "minUploadBytesPerSecond": 0})
    wire = await t.client(gateway)
    begin = now()
    wire.send(b"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999\r\n\r\n")
    t.later(drip(wire, b"a" * 999999, 0.05, 8192))
    error_of(await wire.response(), 408)
    not_before(begin, now(), 1.0, "the 408")
    check(now() - begin < 4.0, "lengthened all the same")


@case
async def a_route_may_have_a_minimum_rate_of_its_own(t):
    routes = [{"path": "/", "upstream": "u"}, {"path": "/strict", "upstream": "u", "minUploadBytesPerSecond": 0},
              {"path": "/lax", "upstream": "u", "minUploadBytesPerSecond": 100}]
    gateway = await t.gateway(await t.answering(), routes=routes, limits={"requestTimeoutMs": 1000})

    async def upload(path):
        wire = await t.client(gateway)
        wire.send(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4096\r\n\r\n".encode())
        t.later(drip(wire, b"a" * 4096, 0.2, 256))
        return (await wire.response()).status

    check(await asyncio.gather(upload("/strict"), upload("/lax")) == [408, 200], "the routes' rates do not count")


@case
async def an_upstream_may_think_longer_than_every_client_budget(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits=SHORT)
    wire = await t.client(gateway)
    wire.send(request_bytes("POST", "/think", body=b"hi"))
    peer = await upstream.connection()
    await peer.request()
    await wire.quiet(3.5)
    peer.send(response_bytes(b"thought"))
    check((await wire.response()).body == b"thought", "not served")


@case
async def a_stream_may_be_silent_longer_than_every_client_budget(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits=SHORT)
    wire = await t.client(gateway)
    wire.send(request_bytes(target="/stream"))
    peer = await upstream.connection()
    await peer.request()
    peer.send(CHUNKED_HEAD + chunk_bytes(b"data: a\n\n"))
    await wire.response_head()
    check(await wire.chunk() == b"data: a\n\n", "the first event is not there")
    await wire.quiet(3.5)
    peer.send(chunk_bytes(b"data: b\n\n") + LAST_CHUNK)
    check(await wire.chunk() == b"data: b\n\n" and await wire.chunk() == b"", "the second event is not there")
    await wire.trailers()


@case
async def while_the_100_is_awaited_the_upload_has_no_clock(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"idleTimeoutMs": 1000, "requestTimeoutMs": 1000})
    wire = await t.client(gateway)
    wire.send(b"POST /wait HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
    peer = await upstream.connection()
    request = await peer.request_head()
    check(request.listed("Expect") == ["100-continue"], f"Expect is not forwarded: {request}")
    await wire.quiet(2.5)
    peer.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    check((await wire.response_head()).status == 100, "no 100")
    wire.send(b"body")
    check(await peer.take(4) == b"body", "another body")
    peer.send(response_bytes())
    check((await wire.response()).status == 200, "not served")


@case
async def a_body_that_does_not_come_after_the_100_is_408(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"idleTimeoutMs": 1000, "requestTimeoutMs": 1000})
    wire = await t.client(gateway)
    wire.send(b"POST /wait HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
    peer = await upstream.connection()
    await peer.request_head()
    await wire.quiet(1.5)
    peer.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    check((await wire.response_head()).status == 100, "no 100")
    begin = now()
    error_of(await wire.response(), 408)
    not_before(begin, now(), 0.8, "the 408")  # what the head took of the budget is gone


@case
async def while_the_upstream_takes_nothing_the_upload_has_no_clock(t):
    upstream = await t.upstream(receive_buffer=262144)
    gateway = await t.gateway(upstream, limits={"requestTimeoutMs": 2000, "minUploadBytesPerSecond": 0})
    wire = await t.client(gateway)
    wire.send(b"PUT /big HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n")
    t.later(wire.pour(4_000_000))
    peer = await upstream.connection()
    peer.pause()
    await asyncio.sleep(4.5)
    check(not wire.buffer, f"answered while the upstream took nothing: {bytes(wire.buffer[:60])!r}")
    peer.resume()
    request = await peer.request()
    check(len(request.body) == 4_000_000, "another body")
    peer.send(response_bytes())
    check((await wire.response()).status == 200, "not served")


@case
async def an_upstream_that_takes_nothing_of_an_upload_is_504(t):
    upstream = await t.upstream(receive_buffer=262144)
    gateway = await t.gateway(upstream, limits={"upstreamTimeoutMs": 1000})
    wire = await t.client(gateway)
    begin = now()
    wire.send(b"PUT /big HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99000000\r\n\r\n")
    t.later(wire.pour(99_000_000))
    peer = await upstream.connection()
    peer.pause()
    error_of(await wire.response(), 504, "http_response_timeout")
    not_before(begin, now(), 1.0, "the 504")


@case
async def what_the_client_takes_of_its_time_does_not_count_for_the_upstream(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"upstreamTimeoutMs": 1000})
    wire = await t.client(gateway)
    wire.send(b"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\na")
    peer = await upstream.connection()
    await peer.request_head()
    await wire.quiet(2.5)
    wire.send(b"b")
    await peer.take(2)
    peer.send(response_bytes())
    check((await wire.response()).status == 200, "not served")
