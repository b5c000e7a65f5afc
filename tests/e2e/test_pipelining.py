"""CONTRACT section 1: pipelined requests are served in order, their clocks begin when their turn does, surplus is bounded."""

import asyncio

from support import case, check, request_bytes, response_bytes


@case
async def pipelined_requests_are_served_in_order(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    wire.send(request_bytes(target="/1") + request_bytes("POST", "/2", body=b"two") + request_bytes(target="/3"))
    first = await upstream.connection()
    check((await first.request()).target == "/1", "another order")
    await asyncio.sleep(0.3)
    check(len(upstream.connections) == 1, "the second was begun before the first had ended")
    first.send(response_bytes(b"one"))
    check((await wire.response()).body == b"one", "another answer")
    second = await upstream.connection()
    request = await second.request()
    check((request.target, request.body) == ("/2", b"two"), f"{request}")
    second.send(response_bytes(b"two"))
    check((await wire.response()).body == b"two", "another answer")
    check((await first.request()).target == "/3", "the third did not take the pooled connection")
    first.send(response_bytes(b"three"))
    check((await wire.response()).body == b"three", "another answer")


@case
async def five_hundred_pipelined_requests_are_all_answered(t):
    gateway = await t.gateway(await t.answering(lambda r: response_bytes(r.target.encode())))
    wire = await t.client(gateway)
    wire.send(b"".join(request_bytes(target=f"/{n}") for n in range(500)))
    for n in range(500):
        response = await wire.response()
        check(response.body == f"/{n}".encode(), f"{n}: {response}")


@case
async def the_next_heads_clock_starts_when_the_exchange_before_it_ends(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"idleTimeoutMs": 1200, "requestTimeoutMs": 1200})
    wire = await t.client(gateway)
    whole = request_bytes(target="/2")
    wire.send(request_bytes(target="/1") + whole[:10])
    peer = await upstream.connection()
    await peer.request()
    await wire.quiet(2.5)
    peer.send(response_bytes(b"one"))
    await wire.response()
    await wire.quiet(0.5)
    wire.send(whole[10:])
    await peer.request()
    peer.send(response_bytes(b"two"))
    check((await wire.response()).body == b"two", "the second was not served")


@case
async def surplus_behind_a_silent_exchange_is_bounded(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    wire.send(request_bytes(target="/1"))
    peer = await upstream.connection()
    await peer.request()
    before = gateway.resident_bytes()
    one = request_bytes(target="/n", fields=[("X-Pad", "p" * 8000)])
    pushing = t.later(wire.push(one * 3000))  # 24 MB
    await wire.quiet(2)
    grown = gateway.resident_bytes() - before
    check(grown < 12_000_000, f"{grown} bytes are held for a client that pipelines")
    check(not pushing.done(), "everything was taken from it")
    peer.send(response_bytes(b"one"))
    await wire.response()
    for _ in range(20):
        await peer.request()
        peer.send(response_bytes(b"n"))
        check((await wire.response()).body == b"n", "the surplus is not served")


@case
async def an_empty_line_before_a_request_is_passed_over(t):
    gateway = await t.gateway(await t.answering())
    wire = await t.client(gateway)
    for _ in range(2):
        wire.send(b"\r\n" + request_bytes())
        check((await wire.response()).status == 200, "not served")
