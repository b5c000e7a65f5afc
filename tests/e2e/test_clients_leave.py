"""CONTRACT section 1: clients that leave, and clients that only half-close."""

import asyncio

from support import CHUNKED_HEAD, case, check, chunk_bytes, has_last_chunk, request_bytes, response_bytes

SOON = 5.0  # "in the loop turn in which it can be seen": no budget runs, so anything that waits for one is later
LONG = {"idleTimeoutMs": 60000, "upstreamTimeoutMs": 600000}


async def in_silence(t, request=request_bytes("POST", "/think", body=b"hi"), **settings):
    """A client whose upstream has its request and is silent: (gateway, client, upstream's end)."""
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits=LONG, **settings)
    wire = await t.client(gateway)
    wire.send(request)
    peer = await upstream.connection()
    await peer.request()
    return gateway, wire, peer


@case(threads=True)
async def a_reset_in_silence_cancels_at_once(t):
    gateway, wire, peer = await in_silence(t)
    wire.reset()
    await peer.ended(SOON)
    line = await gateway.exchange("/think")
    check(line.get("status") in (None, 0), f"the log tells of a status: {line}")


@case(threads=True)
async def a_fin_in_silence_that_comes_later_cancels_at_once(t):
    _, wire, peer = await in_silence(t)
    await asyncio.sleep(0.5)
    wire.fin()
    await peer.ended(SOON)


@case
async def a_client_that_closes_in_silence_cancels_a_safe_request_too(t):
    _, wire, peer = await in_silence(t, request_bytes(target="/think"))
    await asyncio.sleep(0.5)
    wire.close()
    check(await peer.reset_by_peer(SOON), "the abandoned attempt was not reset")


@case
async def a_fin_with_the_request_is_a_half_close_and_is_served(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"idleTimeoutMs": 2000})
    wire = await t.client(gateway)
    wire.send(request_bytes("POST", "/think", body=b"hi"))
    wire.fin()
    peer = await upstream.connection()
    await peer.request()
    await peer.quiet(3.5)
    peer.send(response_bytes(b"thought"))
    response = await wire.response()
    check(response.body == b"thought", f"{response}")
    check(await wire.ended() == "fin", "not closed in order behind a half-closed client")


@case
async def a_half_closed_client_gets_all_of_a_large_response(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway, receive_buffer=65536)
    wire.send(request_bytes(target="/large"))
    wire.fin()
    peer = await upstream.connection()
    await peer.request()
    wire.pause()
    body = bytes(range(256)) * 16_000
    peer.send(response_bytes(body))
    await asyncio.sleep(0.5)
    wire.resume()
    check((await wire.response()).body == body, "another body")


@case(seconds=120)
async def a_client_that_closed_with_its_request_is_found_by_probes(t):
    _, wire, peer = await in_silence(t)
    # close() at once: FIN within 100 ms. Linux answers probes with a reset once it has given up FIN_WAIT2, after 60 s.
    wire.close()
    await peer.ended(90)


@case
async def half_close_cancel_takes_every_fin_for_gone(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits=LONG, client={"halfClose": "cancel"})
    wire = await t.client(gateway)
    wire.send(request_bytes(target="/think"))
    wire.fin()
    # It may be seen gone before an attempt was made.
    await wire.ended(SOON)
    check(not wire.received, "answered")
    if upstream.connections:
        await upstream.connections[0].ended(SOON)


@case
async def half_close_serve_takes_no_fin_for_gone(t):
    _, wire, peer = await in_silence(t, client={"halfClose": "serve"})
    await asyncio.sleep(0.5)
    wire.fin()
    await peer.quiet(1.5)
    peer.send(response_bytes(b"served"))
    check((await wire.response()).body == b"served", "not served")


@case
async def a_fin_before_the_request_is_complete_aborts_it_and_the_upstream_sees_it_cut(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    for chunked in (False, True):
        wire = await t.client(gateway)
        framing = "Transfer-Encoding: chunked" if chunked else "Content-Length: 10"
        wire.send(f"POST /cut HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n\r\n".encode())
        wire.send(chunk_bytes(b"abcd") if chunked else b"abcd")
        peer = await upstream.connection()
        await peer.request_head()
        await peer.take_until(b"abcd")
        wire.fin()
        await peer.ended(SOON)
        check(not has_last_chunk(peer.buffer), "the request was completed")
        await wire.ended(SOON)


@case
async def a_fin_in_a_head_closes_without_an_upstream(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits=LONG)
    wire = await t.client(gateway)
    wire.send(b"GET /never HTTP/1.1\r\nHos")
    wire.fin()
    await wire.ended(SOON)
    check(not upstream.connections, "an upstream was asked")


@case
async def a_fin_on_an_idle_connection_closes_it(t):
    gateway = await t.gateway(await t.answering(), limits=LONG)
    wire = await t.client(gateway)
    wire.fin()
    await wire.ended(SOON)
    wire = await t.client(gateway)
    wire.send(request_bytes())
    await wire.response()
    wire.fin()
    await wire.ended(SOON)


@case(threads=True)
async def a_reset_in_a_stream_cancels_at_once(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits=LONG)
    wire = await t.client(gateway)
    wire.send(request_bytes(target="/stream"))
    peer = await upstream.connection()
    await peer.request()
    peer.send(CHUNKED_HEAD + chunk_bytes(b"a"))
    await wire.response_head()
    await wire.chunk()
    wire.reset()
    await peer.ended(SOON)


@case
async def a_fin_in_a_stream_cancels_at_once(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits=LONG)
    wire = await t.client(gateway)
    wire.send(request_bytes(target="/stream"))
    peer = await upstream.connection()
    await peer.request()
    peer.send(CHUNKED_HEAD + chunk_bytes(b"a"))
    await wire.response_head()
    await wire.chunk()
    await asyncio.sleep(0.3)
    wire.fin()
    await peer.ended(SOON)


@case
async def a_reset_in_an_upload_that_the_upstream_does_not_take_cancels(t):
    upstream = await t.upstream(receive_buffer=262144)
    gateway = await t.gateway(upstream, limits=LONG)
    wire = await t.client(gateway)
    wire.send(b"PUT /big HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000000\r\n\r\n")
    peer = await upstream.connection()
    peer.pause()
    check(not await wire.pour(90_000_000, 1.5), "everything was taken")
    wire.reset()
    line = await gateway.exchange("/big", SOON)
    check(line["event"] == "exchange", f"{line}")
    peer.resume()
    await peer.ended(SOON)


@case
async def a_client_that_leaves_while_connects_are_refused_ends_the_exchange(t):
    upstream = await t.upstream()
    upstream.stop_listening()
    gateway = await t.gateway(upstream, limits={"upstreamRetries": 100, "retryBackoffMs": 20000})
    wire = await t.client(gateway)
    wire.send(request_bytes("POST", "/refused", body=b"x"))
    await asyncio.sleep(0.5)
    wire.reset()
    await gateway.exchange("/refused", SOON)


@case
async def a_pipelining_client_that_resets_cancels_too(t):
    _, wire, peer = await in_silence(t)
    wire.send(request_bytes(target="/next") * 3)
    await asyncio.sleep(0.3)
    wire.reset()
    await peer.ended(SOON)


@case
async def a_client_that_leaves_behind_a_full_surplus_cancels_too(t):
    _, wire, peer = await in_silence(t)
    await wire.push(request_bytes(target="/next", fields=[("X-Pad", "p" * 8000)]) * 1500, 1.0)
    wire.reset()
    await peer.ended(SOON)


@case
async def a_fin_behind_pipelined_requests_serves_them_all(t):
    upstream = await t.answering(lambda r: response_bytes(r.target.encode()))
    gateway = await t.gateway(upstream, client={"halfClose": "serve"})
    wire = await t.client(gateway)
    wire.send(b"".join(request_bytes(target=f"/{n}") for n in range(3)))
    wire.fin()
    for n in range(3):
        check((await wire.response()).body == f"/{n}".encode(), "not served")
    await wire.ended()


@case(threads=True, seconds=120)
async def two_hundred_cancelled_requests_free_two_hundred_upstream_connections(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits=LONG)
    wires, peers = [], []
    for n in range(200):
        wire = await t.client(gateway)
        wire.send(request_bytes("POST", f"/{n}", body=b"x"))
        wires.append(wire)
    for _ in wires:
        peer = await upstream.connection()
        await peer.request()
        peers.append(peer)
    await asyncio.sleep(0.3)
    for n, wire in enumerate(wires):
        wire.reset() if n % 2 else wire.close()
    await asyncio.gather(*(peer.ended(30) for peer in peers))
