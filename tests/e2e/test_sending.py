"""CONTRACT section 1: `sending` measures what the client takes, and while it runs nobody else is blamed; duplex."""

import asyncio

from support import CHUNKED_HEAD, LAST_CHUNK, case, check, chunk_bytes, has_last_chunk, not_before, now, \
    request_bytes, response_bytes

# SO_RCVBUF of a client that is to be slow; well above a loopback segment, or its kernel takes bytes by the persist timer.
SMALL = 131072


async def waiting_response(t, size, framing="length", target="/big", **limits):
    """A response of `size` bytes waits for a client that reads nothing: (gateway, client, upstream's end)."""
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits=limits)
    wire = await t.client(gateway, receive_buffer=SMALL)
    wire.pause()
    wire.send(request_bytes(target=target, version="1.0" if framing == "eof" else "1.1"))
    peer = await upstream.connection()
    await peer.request()
    if framing == "length":
        peer.send(response_bytes(b"z" * size))
    elif framing == "chunked":
        peer.send(CHUNKED_HEAD + chunk_bytes(b"z" * size) + LAST_CHUNK)
    else:
        peer.send(b"HTTP/1.1 200 OK\r\n\r\n" + b"z" * size)
        peer.fin()
    return gateway, wire, peer


async def read_slowly(wire, size, per_second):
    """Takes about so many bytes per second, until `size` have come or the peer has ended."""
    piece = wire.transport.max_size = 16384  # of one receive
    begin = now()
    while wire.received < size and not wire.end:
        have = wire.received
        wire.resume()
        await wire.until(lambda: wire.received > have or wire.end, 1)
        wire.pause()
        await asyncio.sleep(max(piece / per_second / 4, begin + wire.received / per_second - now()))
    wire.resume()


@case
async def a_slow_reader_is_served_to_the_end(t):
    size = 4_000_000
    _, wire, _ = await waiting_response(t, size, sendTimeoutMs=1500, minSendBytes=65536)
    begin = now()
    await read_slowly(wire, size, 600_000)
    response = await wire.response()
    check(len(response.body) == size, "cut")
    check(now() - begin > 2.5, "the reader was not slow")


@case
async def a_client_that_takes_nothing_is_cut_visibly(t):
    for framing in ("length", "chunked", "eof"):
        begin = now()
        gateway, wire, peer = await waiting_response(t, 3_000_000, framing, sendTimeoutMs=1000)
        line = await gateway.exchange("/big")
        not_before(begin, now(), 1.0, "the cut")
        wire.resume()
        end = await wire.ended()
        check(not has_last_chunk(wire.buffer) and wire.received < 3_000_000, "it looks complete")
        check(framing != "eof" or "rst" in end, "a close-delimited response was cut with a FIN")
        await peer.ended()
        check(line["status"] == 200, f"{line}")


@case
async def a_client_that_takes_too_little_is_cut(t):
    begin = now()
    gateway, wire, _ = await waiting_response(t, 3_000_000, sendTimeoutMs=1500, minSendBytes=1_000_000)
    t.later(read_slowly(wire, 3_000_000, 20_000))
    await gateway.exchange("/big")
    not_before(begin, now(), 1.5, "the cut")


@case
async def an_upstream_that_waits_for_a_slow_client_is_not_blamed(t):
    size = 4_000_000
    _, wire, _ = await waiting_response(t, size, sendTimeoutMs=20000, upstreamTimeoutMs=800, idleTimeoutMs=800,
                                        requestTimeoutMs=800)
    await asyncio.sleep(3)
    check(not wire.end, "cut")
    wire.resume()
    check(len((await wire.response()).body) == size, "cut")


@case
async def while_a_response_waits_the_upload_has_no_clock(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"requestTimeoutMs": 1000, "minUploadBytesPerSecond": 0,
                                                "sendTimeoutMs": 20000, "upstreamTimeoutMs": 1000})
    wire = await t.client(gateway, receive_buffer=SMALL)
    wire.pause()
    wire.send(b"POST /both HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
    peer = await upstream.connection()
    await peer.request_head()
    body = b"z" * 3_000_000
    peer.send(CHUNKED_HEAD + chunk_bytes(body))
    await asyncio.sleep(3)
    check(not wire.end, "cut")
    wire.resume()
    await wire.response_head()
    check(await wire.payload(len(body)) == body, "another body")
    wire.send(LAST_CHUNK)
    await peer.take_until(LAST_CHUNK)
    peer.send(LAST_CHUNK)
    check(await wire.chunk() == b"", "no end")


@case
async def the_upstream_is_not_read_while_the_client_takes_nothing(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway, receive_buffer=SMALL)
    before = gateway.resident_bytes()
    wire.pause()
    wire.send(request_bytes(target="/endless"))
    peer = await upstream.connection()
    await peer.request()
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 64000000\r\n\r\n")
    check(not await peer.pour(64_000_000, 2.0), "64 MB were taken for a client that reads nothing")
    grown = gateway.resident_bytes() - before
    check(grown < 12_000_000, f"{grown} bytes are held")


@case
async def the_client_is_not_read_while_the_upstream_takes_nothing(t):
    upstream = await t.upstream(receive_buffer=262144)
    gateway = await t.gateway(upstream)
    before = gateway.resident_bytes()
    wire = await t.client(gateway)
    wire.send(b"PUT /big HTTP/1.1\r\nHost: localhost\r\nContent-Length: 64000000\r\n\r\n")
    peer = await upstream.connection()
    peer.pause()
    check(not await wire.pour(64_000_000, 2.0), "64 MB were taken for an upstream that reads nothing")
    grown = gateway.resident_bytes() - before
    check(grown < 12_000_000, f"{grown} bytes are held")


@case
async def a_large_body_goes_through_whole_both_ways(t):
    body = bytes(range(256)) * 20_000  # 5 MB
    upstream = await t.answering(lambda r: response_bytes(r.body))
    gateway = await t.gateway(upstream)
    for chunked in (False, True):
        response = await t.ask(gateway, request_bytes("POST", "/echo", body=body, chunked=chunked))
        check(response.body == body, "another body")


# --- duplex

async def duplex(t, **limits):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits=limits)
    wire = await t.client(gateway)
    wire.send(b"POST /duplex HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
    peer = await upstream.connection()
    await peer.request_head()
    peer.send(CHUNKED_HEAD)
    check((await wire.response_head()).status == 200, "the head waits for the request's end")
    return wire, peer


@case
async def a_duplex_stream_has_no_total_budget(t):
    wire, peer = await duplex(t, requestTimeoutMs=1000, idleTimeoutMs=1000, minUploadBytesPerSecond=0)
    for n in range(8):
        await asyncio.sleep(0.4)
        wire.send(chunk_bytes(b"%d" % n))
        check(await peer.chunk() == b"%d" % n, "not forwarded")
        peer.send(chunk_bytes(b"echo %d" % n))
        check(await wire.chunk() == b"echo %d" % n, "not forwarded")
    wire.send(LAST_CHUNK)
    check(await peer.chunk() == b"", "no end")
    peer.send(LAST_CHUNK)
    check(await wire.chunk() == b"", "no end")


@case
async def a_duplex_stream_ends_by_the_upstreams_silence_which_client_bytes_do_not_restamp(t):
    wire, peer = await duplex(t, upstreamTimeoutMs=1500)
    peer.send(chunk_bytes(b"last word"))
    begin = now()
    await wire.chunk()

    async def go_on():
        while not wire.lost:
            wire.send(chunk_bytes(b"a"))
            await asyncio.sleep(0.1)

    t.later(go_on())
    await wire.ended()
    not_before(begin, wire.end_at, 1.5, "the end")
    check(not has_last_chunk(wire.buffer), "it looks complete")


@case
async def a_request_flows_while_it_is_being_sent(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    wire.send(b"PUT /flow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n\r\n")
    peer = await upstream.connection()
    await peer.request_head()
    for part in (b"ab", b"cd", b"ef"):
        wire.send(part)
        check(await peer.take(2) == part, "not forwarded as it comes")
    peer.send(response_bytes())
    check((await wire.response()).status == 200, "not served")


@case
async def a_response_flows_while_it_is_being_sent(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    wire.send(request_bytes(target="/flow"))
    peer = await upstream.connection()
    await peer.request()
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n")
    check((await wire.response_head()).status == 200, "the head waits for the body")
    for part in (b"ab", b"cd", b"ef"):
        peer.send(part)
        check(await wire.take(2) == part, "not forwarded as it comes")
