"""What an HTTP/2 upstream may do wrong, and what it may do."""

import asyncio

from h2 import frames as f
from h2.answers import POST, QUICK, deliveries, fate_of, good, scripted
from h2.client import connect
from support import case, check


WRONG = [
    ("DATA on stream 0", lambda n: f.data(0, b"x")), ("HEADERS on stream 0", lambda n: f.headers(0, [(":status", "200")])),
    ("a stream of its own", lambda n: f.headers(2, [(":status", "200")])),
    ("a response to what was not asked", lambda n: f.headers(n + 20, [(":status", "200")])),
    ("PUSH_PROMISE", lambda n: f.push_promise(n, 2, f.request_fields())),
    ("SETTINGS on a stream", lambda n: f.frame(f.SETTINGS, 0, n)),
    ("SETTINGS of 5 bytes", lambda n: f.frame(f.SETTINGS, 0, 0, bytes(5))),
    ("SETTINGS: a window beyond 2³¹", lambda n: f.settings((f.INITIAL_WINDOW_SIZE, 1 << 31))),
    ("SETTINGS: ENABLE_PUSH of 1 from a server", lambda n: f.settings((f.ENABLE_PUSH, 1))),
    ("SETTINGS: frames of 100 bytes", lambda n: f.settings((f.MAX_FRAME_SIZE, 100))),
    ("PING of 7 bytes", lambda n: f.ping(b"1234567")), ("RST_STREAM on stream 0", lambda n: f.rst(0)),
    ("RST_STREAM of an idle stream", lambda n: f.rst(n + 20)),
    ("RST_STREAM of 3 bytes", lambda n: f.frame(f.RST_STREAM, 0, n, bytes(3))),
    ("WINDOW_UPDATE of the connection by 0", lambda n: f.window_update(0, 0)),
    ("the connection's window beyond 2³¹ - 1", lambda n: f.window_update(0, f.LARGEST_WINDOW)),
    ("CONTINUATION of nothing", lambda n: f.continuation(n, b"")),
    ("another frame within a block", lambda n: f.headers(n, [(":status", "200")], flags=0) + f.ping()),
    ("a block that does not decode", lambda n: f.frame(f.HEADERS, 5, n, b"\xff\xff\xff\xff\xff\xff\xff\xff")),
    ("DATA of 16 385 bytes", lambda n: f.data(n, b"d" * 16_385)),
    ("DATA before the head", lambda n: f.data(n, b"x")),
    ("padding longer than the frame", lambda n: f.frame(f.DATA, 9, n, b"\xffx")),
    ("HTTP/1.1", lambda n: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
    ("GOAWAY of 7 bytes", lambda n: f.frame(f.GOAWAY, 0, 0, bytes(7))),
]


@case(seconds=180)
async def what_an_upstream_does_wrong_is_502_and_the_next_connection_is_a_new_one(t):
    for text, wrong in WRONG:
        async def answer(server, stream, wrong=wrong):
            await server.done(stream)
            server.send(wrong(stream.number))

        upstream, gateway = await scripted(t, answer, good)
        response = await t.ask(gateway, POST)
        check(response.status == 502 and response.get("x-should-retry") == "false", f"{text}: {response}")
        check((await fate_of(gateway))[0].get("fate") == "unknown", f"{text}: {gateway.log[-1]}")
        response = await t.ask(gateway, POST)
        check(response.status == 200 and deliveries(upstream) == 2, f"{text}, then: {response}")
        await gateway.stop()


@case
async def an_upstream_that_does_not_speak_http2_is_502_before_anything_was_processed(t):
    async def script(wire):
        await wire.take_until(b"SM\r\n\r\n")
        wire.send(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")

    upstream = await t.upstream(script)
    gateway = await t.gateway("http://unused", upstreams={"u": {"url": upstream.url, "protocol": "h2c"}}, limits=QUICK)
    response = await t.ask(gateway, POST)
    check(response.status == 502, f"{response}")


@case
async def stream_errors_of_an_upstream_cost_their_stream_only(t):
    async def wrong(server, stream):
        server.send(f.headers(stream.number, [(":status", "200"), ("connection", "x")], end=False))

    upstream, gateway = await scripted(t, wrong, good)
    client = await connect(t, gateway)
    stream = await client.ask("POST", "/r", body=b"x")
    check(stream.status == 502, f"{stream}")
    await client.good("POST", "/r", body=b"x")
    server = upstream.servers[0]
    check(server.arrived[0].error == "PROTOCOL_ERROR" and len(upstream.servers) == 1, f"{server.arrived} {server}")


@case
async def frames_that_carry_little_are_understood(t):
    async def answer(server, stream):
        await server.done(stream)
        block = f.block([(":status", "200"), ("x", "1" * 200)])
        n = stream.number
        server.send(f.priority(n), f.frame(0xEE, 1, n, b"?"), f.frame(f.HEADERS, f.PADDED, n, b"\x03" + block[:50] + bytes(3)),
                    f.continuation(n, block[50:150], end=False), f.continuation(n, block[150:]), f.data(n),
                    f.frame(f.DATA, f.PADDED, n, b"\xffpadded" + bytes(255)), f.window_update(n, 5), f.ping(),
                    f.data(n, end=True))

    upstream, gateway = await scripted(t, answer)
    for _ in range(3):
        response = await t.ask(gateway, POST)
        check(response.status == 200 and response.body == b"padded" and response.get("x") == "1" * 200, f"{response}")
    check(len(upstream.servers) == 1 and not upstream.servers[0].goaways, f"{upstream.servers}")


@case
async def a_response_that_overtakes_the_upload_is_whole(t):
    async def answer(server, stream):
        await server.until(lambda: stream.received > 1000)
        await server.respond(stream, 401, body=b"too early")
        server.reset(stream, f.NO_ERROR)

    upstream, gateway = await scripted(t, answer)
    client = await connect(t, gateway)
    stream = client.begin("POST", "/r", end=False)
    t.later(client.send_data(stream, b"u" * 1_000_000))
    await client.want(lambda: stream.ended, "answer")
    check(stream.status == 401 and stream.body == b"too early", f"{stream}")
    check(len(upstream.servers) == 1 and not upstream.servers[0].wire.end, "the connection has ended")


@case
async def a_head_that_is_too_large_is_502(t):
    async def answer(server, stream):
        await server.done(stream)
        server.head(stream, 200, [(f"x-{n}", "v" * 1000) for n in range(90)], end=True)

    _, gateway = await scripted(t, answer)
    response = await t.ask(gateway, POST)
    check(response.status == 502, f"{response}")


@case
async def floods_of_an_upstream_end_its_connection(t):
    for text, piece in (("PING", f.ping()), ("SETTINGS", f.settings()), ("unknown", f.frame(0xEE, 0, 0, b"??"))):
        async def answer(server, stream, piece=piece):
            await server.done(stream)
            for _ in range(2000):
                if server.wire.end or not await server.wire.push(piece * 100, 5):
                    break
                await asyncio.sleep(0)

        _, gateway = await scripted(t, answer, good, limits={"upstreamTimeoutMs": 15_000})
        response = await t.ask(gateway, POST)
        check(response.status == 502, f"{text}: {response}")
        check((await t.ask(gateway, POST)).status == 200, text)
        await gateway.stop()
