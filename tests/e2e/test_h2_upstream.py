"""HTTP/2 upstreams: one connection for all requests, and what is sent again when it fails (CONTRACT section 2)."""

import asyncio

from h2 import frames as f
from h2.client import connect
from h2.storm import Storm
from h2.upstream import H2Upstream, TlsH2Upstream, echo
from support import authority, case, check, error_of, not_before, now, request_bytes, response_bytes, server_context

GET, POST = request_bytes(target="/r"), request_bytes("POST", "/r", body=b"body")
QUICK = {"retryBackoffMs": 1}


async def behind(t, upstream, own=None, **settings):
    setting = {**upstream.setting(), **(own or {})}
    settings["limits"] = {**QUICK, **settings.get("limits", {})}
    return await t.gateway("http://unused", upstreams={"u": setting}, **settings)


async def scripted(t, *answers, **settings):
    """(upstream, gateway). The nth request, of all connections, is answered by the nth of `answers`, the last one again and
    again: coroutine functions of (server, stream)."""
    count = iter(range(10_000))

    async def answer(server, stream):
        await answers[min(next(count), len(answers) - 1)](server, stream)

    upstream = await t.listening(H2Upstream(answer))
    return upstream, await behind(t, upstream, **settings)


async def good(server, stream):
    await server.done(stream, 60)
    await server.respond(stream, body=b"good")


def resetting(code, after_body=True):
    async def answer(server, stream):
        if after_body:
            await server.done(stream, 60)
        server.reset(stream, code)

    return answer


def going_away(last, code=f.NO_ERROR, close=True):
    """GOAWAY with this number of a stream less than the request's own; the connection is closed behind it."""

    async def answer(server, stream):
        await server.done(stream, 60)
        server.send(f.goaway(max(0, stream.number - last), code))
        if close:
            server.wire.close()

    return answer


def vanishing(how):
    async def answer(server, stream):
        await server.done(stream, 60)
        server.wire.reset() if how == "rst" else server.wire.close()

    return answer


async def fate_of(gateway, count=1):
    """The access log's lines of /r, once there are so many."""
    check(await gateway.until(lambda: len(gateway.exchanges("/r")) >= count), f"{gateway.log}")
    return gateway.exchanges("/r")


def deliveries(upstream):
    return sum(stream.head.get(":path") == "/r" for stream in upstream.streams)


# --- sharing
@case
async def all_requests_share_one_connection(t):
    upstream = await t.listening(H2Upstream(echo))
    gateway = await behind(t, upstream)
    client = await connect(t, gateway)
    await client.good()
    await asyncio.gather(*(client.good(("GET", "POST", "PUT", "DELETE")[n % 4], f"/{n}", body=b"x" * (n % 4 == 1 or 0) or None)
                           for n in range(60)))
    for n in range(10):
        response = await t.ask(gateway, request_bytes("POST", f"/h1/{n}", body=b"body"))
        check(response.body == b"POST /h1/%d 4\n" % n, f"{response}")
    check(len(upstream.servers) == 1, f"{len(upstream.servers)} connections")
    check(len(upstream.streams) == 71, f"{len(upstream.streams)} requests")


@case
async def requests_that_come_before_there_is_a_connection_share_it_too(t):
    upstream = await t.listening(H2Upstream(echo))
    client = await connect(t, await behind(t, upstream))
    done = await asyncio.gather(*(client.good("POST", f"/{n}", body=b"x") for n in range(50)))
    check(len(done) == 50 and len(upstream.servers) <= 2, f"{len(upstream.servers)} connections")


@case
async def beyond_the_upstreams_limit_of_streams_there_are_more_connections(t):
    upstream = await t.listening(H2Upstream(settings=((f.MAX_CONCURRENT_STREAMS, 2),)))
    client = await connect(t, await behind(t, upstream))
    streams = [client.begin(path="/first")]
    server = await upstream.server()
    await server.request()
    streams += [client.begin(path=f"/{n}") for n in range(8)]
    held = []
    for _ in range(200):
        held = [(one, stream) for one in upstream.servers for stream in one.arrived]
        if len(held) == 9:
            break
        await asyncio.sleep(0.05)
    check(len(held) == 9, f"{len(held)} of 9 came")
    check(len(upstream.servers) >= 5 and server.refusals == 0, f"{server.refusals} beyond what it allows")
    for one, stream in held:
        await one.respond(stream)
    for stream in streams:
        await client.done(stream)
        check(stream.status == 200, f"{stream}")


@case
async def an_upstream_that_allows_one_stream_after_another_is_kept_to(t):
    async def answer(server, stream):
        await server.done(stream)
        await asyncio.sleep(0.01)
        await server.respond(stream)

    upstream = await t.listening(H2Upstream(answer, ((f.MAX_CONCURRENT_STREAMS, 1),)))
    client = await connect(t, await behind(t, upstream))
    await client.good(path="/first")
    for n in range(10):
        await client.good("POST", f"/{n}", body=b"x")
    check(len(upstream.servers) == 1 and upstream.servers[0].refusals == 0, f"{len(upstream.servers)} connections")
    done = await asyncio.gather(*(client.good("POST", f"/{n}", body=b"x") for n in range(20)))
    check(len(done) == 20 and upstream.servers[0].refusals == 0, "more than it allows")


@case
async def an_idle_connection_is_told_to_go_after_its_time(t):
    upstream = await t.listening(H2Upstream(echo))
    gateway = await behind(t, upstream, {"idleTimeoutMs": 1000})
    client = await connect(t, gateway)
    await client.good()
    since = now()
    server = upstream.servers[0]
    check(await server.ended() == "NO_ERROR", f"{server}")
    not_before(since, server.wire.end_at, 1.0, "the end")
    await client.good()
    check(len(upstream.servers) == 2, f"{len(upstream.servers)} connections")


@case
async def a_long_stream_keeps_its_connection_and_others_use_it(t):
    upstream = await t.listening(H2Upstream())
    client = await connect(t, await behind(t, upstream, {"idleTimeoutMs": 500}))
    long = client.begin(path="/long")
    server = await upstream.server()
    there = await server.whole()
    server.head(there)
    await asyncio.sleep(2)
    stream = client.begin(path="/other")
    await server.respond(await server.whole())
    await client.done(stream)
    check(stream.status == 200 and not long.finished and len(upstream.servers) == 1, f"{stream} {long}")
    server.send(f.data(there.number, b"late", end=True))
    await client.done(long)
    check(long.body == b"late", f"{long}")


# --- what is sent again
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
        check(deliveries(upstream) == 2 and len(upstream.servers) == 2, f"{upstream.streams}")
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


# --- silence, settings
@case
async def a_connection_that_has_died_in_silence_is_found_out_before_it_is_used(t):
    """The upstream answers nothing any more, neither PING nor requests; no FIN tells of it."""
    upstream = await t.listening(H2Upstream(echo))
    gateway = await behind(t, upstream, {"idleTimeoutMs": 60_000}, limits={"connectTimeoutMs": 1000, "upstreamTimeoutMs": 8000})
    client = await connect(t, gateway)
    await client.good()
    await asyncio.sleep(6)
    dead = upstream.servers[0]
    count = dead.pings
    dead.wire.pause()
    stream = await client.ask("POST", "/after", body=b"body")
    check(stream.status == 200, f"{stream}: {len(upstream.servers)} connections, {count} pings before")
    check(len(upstream.servers) == 2, f"{len(upstream.servers)} connections")


@case
async def an_upstream_that_never_acknowledges_is_used_all_the_same(t):
    async def script(wire):
        from h2.upstream import Server
        server = Server(wire)
        server.acks = False
        await server.serve(echo)

    upstream = await t.upstream(script)
    gateway = await t.gateway("http://unused", upstreams={"u": {"url": upstream.url, "protocol": "h2c"}})
    client = await connect(t, gateway)
    for n in range(3):
        await client.good("POST", f"/{n}", body=b"x")


@case
async def small_windows_of_an_upstream_are_kept_to(t):
    async def answer(server, stream):
        await server.done(stream, 60)
        await server.respond(stream, body=b"%d" % stream.received)

    for window in (1, 100, 20_000):
        upstream = await t.listening(H2Upstream(answer, ((f.INITIAL_WINDOW_SIZE, window), (f.MAX_FRAME_SIZE, 16_384))))
        client = await connect(t, await behind(t, upstream))
        size = min(100_000, window * 300)
        stream = await client.good("POST", "/w", body=b"w" * size)
        check(stream.body == b"%d" % size, f"{window}: {stream}")


@case
async def settings_that_change_under_way_are_kept_to(t):
    upstream = await t.listening(H2Upstream())
    client = await connect(t, await behind(t, upstream))
    stream = client.begin("POST", "/w", end=False)
    server = await upstream.server()
    there = await server.request()
    there.gives = False
    t.later(client.send_data(stream, b"w" * 400_000))
    await server.want(lambda: there.received == f.WINDOW, "a window of DATA")
    server.send(f.settings((f.INITIAL_WINDOW_SIZE, 1000)))  # the window is negative now
    server.send(f.window_update(there.number, f.WINDOW - 1000))
    await asyncio.sleep(0.3)
    check(there.received == f.WINDOW, f"{there.received}")
    there.allowed += 500
    server.send(f.window_update(there.number, 500))
    await server.want(lambda: there.received == f.WINDOW + 500, "500 bytes more")
    there.gives, there.allowed = True, there.allowed + 1_000_000
    server.send(f.window_update(there.number, 1_000_000))
    await server.done(there)
    await server.respond(there)
    await client.done(stream)
    check(stream.status == 200, f"{stream}")


# --- what an upstream may do wrong
WRONG = [
    ("DATA on stream 0", lambda n: f.data(0, b"x")), ("HEADERS on stream 0", lambda n: f.headers(0, [(":status", "200")])),
    ("a stream of its own", lambda n: f.headers(2, [(":status", "200")])),
    ("a response to what was not asked", lambda n: f.headers(n + 20, [(":status", "200")])),
    ("PUSH_PROMISE", lambda n: f.push_promise(n, 2, f.request_fields())),
    ("SETTINGS on a stream", lambda n: f.frame(f.SETTINGS, 0, n)), ("SETTINGS of 5 bytes", lambda n: f.frame(f.SETTINGS, 0, 0, bytes(5))),
    ("SETTINGS: a window beyond 2³¹", lambda n: f.settings((f.INITIAL_WINDOW_SIZE, 1 << 31))),
    ("SETTINGS: ENABLE_PUSH of 1 from a server", lambda n: f.settings((f.ENABLE_PUSH, 1))),
    ("SETTINGS: frames of 100 bytes", lambda n: f.settings((f.MAX_FRAME_SIZE, 100))),
    ("PING of 7 bytes", lambda n: f.ping(b"1234567")), ("RST_STREAM on stream 0", lambda n: f.rst(0)),
    ("RST_STREAM of an idle stream", lambda n: f.rst(n + 20)), ("RST_STREAM of 3 bytes", lambda n: f.frame(f.RST_STREAM, 0, n, bytes(3))),
    ("WINDOW_UPDATE of the connection by 0", lambda n: f.window_update(0, 0)),
    ("the connection's window beyond 2³¹ - 1", lambda n: f.window_update(0, f.LARGEST_WINDOW)),
    ("CONTINUATION of nothing", lambda n: f.continuation(n, b"")),
    ("another frame within a block", lambda n: f.headers(n, [(":status", "200")], flags=0) + f.ping()),
    ("a block that does not decode", lambda n: f.frame(f.HEADERS, 5, n, b"\xff\xff\xff\xff\xff\xff\xff\xff")),
    ("DATA of 16 385 bytes", lambda n: f.headers(n, [(":status", "200")], end=False) + f.data(n, b"d" * 16_385)),
    ("DATA before the head", lambda n: f.data(n, b"x")), ("padding longer than the frame", lambda n: f.frame(f.DATA, 9, n, b"\xffx")),
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


# --- over TLS
@case
async def alpn_chooses_what_is_spoken(t):
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    both = await t.listening(TlsH2Upstream(server_context(own, alpn=["h2", "http/1.1"]), echo))
    old = await t.tls_answering(server_context(own, alpn=["http/1.1"]), lambda r: response_bytes(b"old"))
    older = await t.tls_answering(server_context(own), lambda r: response_bytes(b"older"))
    forced = await t.tls_answering(server_context(own, alpn=["h2", "http/1.1"]), lambda r: response_bytes(b"forced"))
    ca = {"tls": {"ca": trusted.certificate}}
    upstreams = {"both": {"url": both.url, **ca}, "h2": {"url": both.url, "protocol": "http2", **ca},
                 "old": {"url": old.url, **ca}, "older": {"url": older.url, **ca},
                 "none": {"url": old.url, "protocol": "http2", **ca}, "forced": {"url": forced.url, "protocol": "http1", **ca}}
    routes = [{"path": f"/{name}", "upstream": name} for name in upstreams]
    gateway = await t.gateway("http://unused", upstreams=upstreams, routes=routes, limits=QUICK)
    for name, body in (("both", b"POST /both 1\n"), ("h2", b"POST /h2 1\n"), ("old", b"old"), ("older", b"older"),
                       ("forced", b"forced")):
        for _ in range(3):
            response = await t.ask(gateway, request_bytes("POST", f"/{name}", body=b"x"))
            check(response.status == 200 and response.body == body, f"{name}: {response}")
    check(len(both.servers) == 2, f"{len(both.servers)} connections")
    check(all(s.head.get(":scheme") == "https" for s in both.streams), f"{both.streams}")
    response = await t.ask(gateway, request_bytes("POST", "/none", body=b"x"))
    check(response.status == 502 and response.get("x-should-retry") == "true", f"{response}")


# --- the storm
@case(seconds=120)
async def in_a_storm_of_goaways_nothing_is_delivered_twice(t):
    for client in ("h1", "h2"):
        storm = Storm(seed=7, client=client)
        figures = await storm.run(t, posts=500)
        check(not storm.wrong, f"{client}: {storm.wrong[:3]} of {figures}")
        check(figures["2xx"] > 350 and figures["fate unknown"] > 0, f"{client}: {figures}")
