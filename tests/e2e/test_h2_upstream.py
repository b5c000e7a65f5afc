"""HTTP/2 upstreams: one connection for all requests, as it may be used."""

import asyncio

from h2 import frames as f
from h2.answers import QUICK, behind
from h2.client import connect
from h2.upstream import H2Upstream, Server, TlsH2Upstream, echo
from support import authority, case, check, not_before, now, request_bytes, response_bytes, server_context


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
async def requests_that_are_lost_together_share_the_next_connection(t):
    async def answer(server, stream):
        await server.done(stream)
        if server is not upstream.servers[0]:
            await server.respond(stream)
        elif len(server.arrived) == 40:
            server.wire.reset()

    upstream = await t.listening(H2Upstream(answer))
    client = await connect(t, await behind(t, upstream))
    for stream in [client.begin(path=f"/{n}") for n in range(40)]:
        await client.done(stream)
        check(stream.status == 200, f"{stream}")
    check(len(upstream.servers) <= 4, f"{len(upstream.servers)} connections")


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
