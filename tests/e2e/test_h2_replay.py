"""What is sent again to an HTTP/2 upstream, and what never is (CONTRACT section 2)."""

import asyncio

from h2 import frames as f
from h2.answers import GET, POST, behind, deliveries, fate_of, going_away, good, resetting, scripted, vanishing
from h2.client import connect
from h2.storm import Storm
from h2.upstream import H2Upstream
from support import case, check, error_of


@case
async def what_was_refused_is_sent_again_with_its_body(t):
    for request in (GET, POST):
        for refusal in (resetting(f.REFUSED_STREAM), resetting(f.REFUSED_STREAM, False), going_away(1), going_away(1, close=False),
                        going_away(1, f.ENHANCE_YOUR_CALM)):
            upstream, gateway = await scripted(t, refusal, refusal, good)
            response = await t.ask(gateway, request)
            check(response.status == 200 and response.body == b"good", f"{response}")
            check(deliveries(upstream) == 3, f"{deliveries(upstream)} times")
            if request is POST:
                check(upstream.streams[-1].body == b"body" or any(s.body == b"body" and s.ended for s in upstream.streams),
                      f"{upstream.streams}")
            await gateway.stop()


@case
async def what_is_refused_always_is_503_and_said_to_be_safe(t):
    for refusal in (resetting(f.REFUSED_STREAM), going_away(1)):
        upstream, gateway = await scripted(t, refusal, limits={"upstreamRetries": 2})
        response = await t.ask(gateway, POST)
        error_of(response, 503)
        check(response.get("x-should-retry") == "true", f"{response}")
        check(deliveries(upstream) == 3, f"{deliveries(upstream)} times")
        line = (await fate_of(gateway))[0]
        check("fate" not in line and line.get("refusals") == 3, f"{line}")
        await gateway.stop()


@case
async def a_post_whose_fate_is_unknown_is_502_and_said_to_be(t):
    for failure in (vanishing("fin"), vanishing("rst"), resetting(f.CANCEL), resetting(f.INTERNAL_ERROR),
                    resetting(f.PROTOCOL_ERROR), resetting(f.ENHANCE_YOUR_CALM), going_away(0)):
        upstream, gateway = await scripted(t, failure, good)
        response = await t.ask(gateway, POST)
        error_of(response, 502)
        check(response.get("x-should-retry") == "false", f"{response}")
        check(deliveries(upstream) == 1, f"delivered {deliveries(upstream)} times")
        line = (await fate_of(gateway))[0]
        check(line.get("fate") == "unknown", f"{line}")
        await gateway.stop()


@case
async def a_get_whose_fate_is_unknown_is_sent_once_more_on_a_new_connection(t):
    for failure in (vanishing("fin"), vanishing("rst"), resetting(f.INTERNAL_ERROR), resetting(f.CANCEL)):
        upstream, gateway = await scripted(t, failure, good)
        response = await t.ask(gateway, GET)
        check(response.status == 200 and response.body == b"good", f"{response}")
        check(deliveries(upstream) == 2 and len(upstream.servers) == 2, f"{deliveries(upstream)} {len(upstream.servers)} {failure}")
        await gateway.stop()
        upstream, gateway = await scripted(t, failure)
        response = await t.ask(gateway, GET)
        check(response.status == 502 and deliveries(upstream) == 2, f"{response} {deliveries(upstream)}")
        await gateway.stop()


@case
async def a_response_that_has_begun_is_never_asked_for_again(t):
    async def begins(server, stream):
        await server.done(stream)
        server.head(stream)
        server.send(f.data(stream.number, b"begin"))
        await server.until(lambda: False, 0.2)
        server.reset(stream, f.REFUSED_STREAM)

    async def interim(server, stream):
        await server.done(stream)
        server.head(stream, 103)
        await server.until(lambda: False, 0.1)
        server.wire.reset()

    upstream, gateway = await scripted(t, begins)
    wire = await t.client(gateway)
    wire.send(GET)
    await wire.ended()
    check(b"begin" in wire.buffer and deliveries(upstream) == 1, f"{bytes(wire.buffer)} {deliveries(upstream)}")
    client = await connect(t, gateway)
    stream = await client.ask(path="/r")
    check(stream.body == b"begin" and not stream.ended and stream.code is not None, f"{stream}")
    await gateway.stop()
    upstream, gateway = await scripted(t, interim)
    response = await t.ask(gateway, GET)
    check(response.status == 502 and deliveries(upstream) == 1, f"{response} {deliveries(upstream)}")


@case
async def a_body_that_is_not_held_any_more_can_not_be_sent_again(t):
    async def refuses_late(server, stream):
        await server.until(lambda: stream.received >= 300_000, 20)
        server.reset(stream, f.REFUSED_STREAM)

    upstream, gateway = await scripted(t, refuses_late, good)
    client = await connect(t, gateway)
    stream = client.begin("POST", "/r", end=False)
    t.later(client.send_data(stream, b"u" * 2_000_000))
    await client.done(stream)
    check(stream.status == 503 and deliveries(upstream) == 1, f"{stream} {deliveries(upstream)}")
    check(stream.head.get("x-should-retry") == "true", f"{stream}")


@case
async def goaway_leaves_the_streams_below_it_alone_and_moves_those_above(t):
    upstream = await t.listening(H2Upstream())
    client = await connect(t, await behind(t, upstream))
    streams = [client.begin("POST", f"/{n}", end=False) for n in range(4)]
    for stream in streams:
        client.send(f.data(stream.number, b"body", end=True))
    server = await upstream.server()
    there = sorted([await server.whole() for _ in streams], key=lambda s: s.number)
    server.send(f.goaway(there[1].number))
    second = await upstream.server()
    moved = [await second.whole() for _ in range(2)]
    check(sorted(s.head.get(":path") for s in moved) == sorted(s.head.get(":path") for s in there[2:]), f"{moved}")
    check(all(s.body == b"body" for s in moved), f"{moved}")
    fresh = client.begin(path="/fresh")
    moved.append(await second.whole())
    for stream in moved:
        await second.respond(stream)
    for stream in there[:2]:
        await server.respond(stream)
    for stream in [*streams, fresh]:
        await client.done(stream)
        check(stream.status == 200, f"{stream}")
    await server.wire.ended()
    check(len(upstream.servers) == 2, "a third connection")


@case
async def a_graceful_goaway_moves_new_requests_and_nothing_else(t):
    upstream = await t.listening(H2Upstream())
    client = await connect(t, await behind(t, upstream))
    first = client.begin("POST", "/first", end=False)
    client.send(f.data(first.number, b"x", end=True))
    server = await upstream.server()
    there = await server.whole()
    server.send(f.goaway(f.LARGEST_WINDOW))
    await asyncio.sleep(0.3)
    fresh = client.begin(path="/fresh")
    second = await upstream.server()
    await second.respond(await second.whole())
    server.send(f.goaway(there.number))
    await server.respond(there)
    for stream in (first, fresh):
        await client.done(stream)
        check(stream.status == 200, f"{stream}")


@case(seconds=120)
async def in_a_storm_of_goaways_nothing_is_delivered_twice(t):
    for client in ("h1", "h2"):
        storm = Storm(seed=7, client=client)
        figures = await storm.run(t, posts=500)
        check(not storm.wrong, f"{client}: {storm.wrong[:3]} of {figures}")
        check(figures["2xx"] > 350 and figures["fate unknown"] > 0, f"{client}: {figures}")
