"""CONTRACT section 1: `closing` delivers a last response to a client that still sends, and is bounded; early final
responses keep the connection when little is left, and give it up when much is."""

import asyncio

from support import Skip, case, check, error_of, not_before, now, request_bytes, response_bytes

ROUTES = [{"path": "/", "upstream": "u"}, {"path": "/small", "upstream": "u", "maxBodyBytes": 1000}]


async def gone(gateway, wire, begin, limit=45.0):
    """When the gateway has closed its socket: sending into it is answered with a reset then."""
    while not wire.lost and now() - begin < limit:
        wire.send(b"x")
        await asyncio.sleep(0.05)
    check(wire.lost, f"not closed after {limit} s")
    return now()


async def only_listeners(gateway, before, seconds):
    limit = now() + seconds
    while gateway.descriptors() > before and now() < limit:
        await asyncio.sleep(0.02)
    check(gateway.descriptors() <= before, "the connection is still there")
    return now()


@case
async def a_413_reaches_a_client_that_sends_all_before_it_reads(t):
    gateway = await t.gateway(await t.answering(), routes=ROUTES)
    for chunked in (False, True):
        wire = await t.client(gateway)
        wire.pause()
        check(await wire.push(request_bytes("POST", "/small", body=b"b" * 200_000, chunked=chunked)), "cut while sending")
        await asyncio.sleep(0.5)
        wire.resume()
        response = await wire.response()
        error_of(response, 413, "body_too_large")
        check("close" in response.listed("Connection"), f"{response}")
        check(await wire.ended() == "fin", "the answer ended in a reset")


@case
async def a_body_at_its_bound_is_served_and_one_byte_more_is_413(t):
    gateway = await t.gateway(await t.answering(), routes=ROUTES)
    for chunked in (False, True):
        for size, status in ((999, 200), (1000, 200), (1001, 413)):
            response = await t.ask(gateway, request_bytes("POST", "/small", body=b"b" * size, chunked=chunked))
            check(response.status == status, f"{size} bytes, chunked {chunked}: {response}")


@case
async def a_length_that_is_too_large_is_413_without_an_upstream(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"maxBodyBytes": 10})
    wire = await t.client(gateway)
    wire.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 11\r\n\r\n")
    error_of(await wire.response(), 413)
    check(not upstream.connections, "an upstream was asked")


@case
async def a_431_reaches_a_client_that_sends_all_before_it_reads(t):
    gateway = await t.gateway(await t.answering())
    wire = await t.client(gateway)
    wire.pause()
    check(await wire.push(request_bytes(fields=[(f"X-{n}", "v" * 4000) for n in range(60)])), "cut while sending")
    await asyncio.sleep(0.5)
    wire.resume()
    error_of(await wire.response(), 431, "head_too_large")
    check(await wire.ended() == "fin", "the answer ended in a reset")


@case
async def a_408_reaches_a_client_that_still_sends(t):
    gateway = await t.gateway(await t.answering(), limits={"requestTimeoutMs": 1000, "minUploadBytesPerSecond": 0})
    wire = await t.client(gateway)
    wire.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n")

    async def go_on():
        while not wire.lost:
            wire.send(b"b" * 1000)
            await asyncio.sleep(0.05)

    t.later(go_on())
    error_of(await wire.response(), 408)


@case
async def after_a_408_the_connection_has_two_seconds_in_all(t):
    gateway = await t.gateway(await t.answering(), limits={"requestTimeoutMs": 1000})
    wire = await t.client(gateway)
    wire.send(b"GET / HT")
    error_of(await wire.response(), 408)
    begin = now()
    not_before(begin, await gone(gateway, wire, begin), 1.95, "the close")


@case
async def closing_without_a_byte_ends_after_two_seconds(t):
    gateway = await t.gateway(await t.answering())
    before = gateway.descriptors()
    wire = await t.client(gateway)
    wire.send(b"nonsense\r\n\r\n")
    error_of(await wire.response(), 400)
    begin = now()
    not_before(begin, await only_listeners(gateway, before, 20), 1.95, "the close")


@case(seconds=90)
async def closing_with_a_byte_now_and_then_ends_after_thirty_seconds(t):
    gateway = await t.gateway(await t.answering())
    wire = await t.client(gateway)
    wire.send(b"nonsense\r\n\r\n")
    error_of(await wire.response(), 400)
    begin = last = now()
    widest = 0.0
    while not wire.lost and now() - begin < 45:
        wire.send(b"x")
        await asyncio.sleep(0.1)
        widest, last = max(widest, now() - last), now()
    if widest > 1.5:
        raise Skip(f"this machine stood still for {widest:.1f} s")
    not_before(begin, now() if wire.lost else None, 29.5, "the close")


@case
async def closing_ends_when_linger_bytes_have_come(t):
    gateway = await t.gateway(await t.answering(), limits={"lingerBytes": 100000})
    wire = await t.client(gateway)
    begin = now()
    wire.send(b"nonsense\r\n\r\n")
    error_of(await wire.response(), 400)
    wire.send(b"x" * 60000)
    await asyncio.sleep(0.3)
    wire.send(b"x")
    await asyncio.sleep(0.2)
    check(not wire.lost, "closed before lingerBytes had come")
    wire.send(b"x" * 200000)
    await gone(gateway, wire, now(), 1.5)
    check(now() - begin < 15, "nothing but a clock ended it")


@case
async def closing_ends_when_the_client_closes(t):
    gateway = await t.gateway(await t.answering())
    before = gateway.descriptors()
    wire = await t.client(gateway)
    wire.send(b"nonsense\r\n\r\n")
    await wire.response()
    begin = now()
    wire.close()
    check(await only_listeners(gateway, before, 10) - begin < 1.9, "it lingered all the same")


@case
async def a_response_that_says_close_ends_in_a_fin(t):
    gateway = await t.gateway(await t.answering())
    wire = await t.client(gateway)
    wire.send(request_bytes(fields=[("Connection", "close")]))
    response = await wire.response()
    check("close" in response.listed("Connection"), f"{response}")
    check(await wire.ended() == "fin", "the answer ended in a reset")


# --- early final responses

async def early(t, length, rest, chunked=False, **limits):
    """An upload whose upstream answers after the head and the first bytes: (client, upstream's end, gateway)."""
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits=limits)
    wire = await t.client(gateway)
    framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {length}"
    wire.send(f"POST /early HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n\r\n".encode())
    wire.send(b"a\r\nfirst--ten\r\n" if chunked else b"first--ten")
    peer = await upstream.connection()
    await peer.take_until(b"first--ten")
    peer.send(response_bytes(b"no", "401 Unauthorized"))
    response = await wire.response("POST")
    check((response.status, response.body) == (401, b"no"), f"{response}")
    return gateway, upstream, wire, peer


@case
async def an_early_answer_with_a_small_rest_keeps_the_connection(t):
    _, upstream, wire, peer = await early(t, 100_010, 100_000)
    wire.send(b"r" * 50_000)
    await asyncio.sleep(0.3)
    wire.send(b"r" * 50_000 + request_bytes(target="/next"))
    second = await upstream.connection()
    check((await second.request()).target == "/next", "another request")
    check(second is not peer, "the upstream connection of an overtaken request was used again")
    second.send(response_bytes(b"next"))
    check((await wire.response()).body == b"next", "not served")
    await peer.ended()


@case
async def an_early_answer_with_a_large_rest_closes_in_order(t):
    _, _, wire, peer = await early(t, 10_000_000, 9_999_990)
    check(await wire.ended() == "fin", "the answer ended in a reset")
    await peer.ended()


@case
async def an_early_answer_with_a_rest_of_unknown_length_closes_in_order(t):
    _, _, wire, peer = await early(t, 0, 0, chunked=True)
    check(await wire.ended() == "fin", "the answer ended in a reset")
    await peer.ended()


@case
async def a_rest_that_never_comes_ends_under_the_old_stamp(t):
    begin = now()
    _, _, wire, _ = await early(t, 50_000, 0, requestTimeoutMs=2000)
    await wire.ended()
    not_before(begin, wire.end_at, 1.95, "the close")
    check(not wire.buffer, "a second answer came")


@case
async def an_early_answer_reaches_a_client_that_sends_all_before_it_reads(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    wire.pause()
    wire.send(b"POST /early HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n")
    peer = await upstream.connection()
    await peer.request_head()
    peer.send(response_bytes(b"too much", "413 Content Too Large"))
    peer.close()
    check(await wire.push(b"b" * 200_000), "cut while sending")
    await asyncio.sleep(0.3)
    wire.resume()
    check((await wire.response()).body == b"too much", "not delivered")


@case
async def after_a_final_answer_to_expect_the_connection_closes(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    wire.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
    peer = await upstream.connection()
    await peer.request_head()
    peer.send(response_bytes(b"no", "417 Expectation Failed"))
    check((await wire.response()).status == 417, "not delivered")
    check(await wire.ended() == "fin", "the answer ended in a reset")
    await peer.ended()
