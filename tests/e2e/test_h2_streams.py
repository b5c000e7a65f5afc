"""Streams of a client's HTTP/2 connection: each has its own clocks and its own end."""

import signal

from h2 import frames as f
from h2.answers import front, large_answers
from h2.client import connect
from h2.upstream import H2Upstream
from support import CHUNKED_HEAD, LAST_CHUNK, case, check, chunk_bytes, not_before, now, request_bytes, response_bytes

MIB = 1 << 20
KINDS = ("h1", "h2")


async def waiting(t, upstream, client, path):
    """(stream, what the upstream has of it: a wire, or (server, stream))"""
    stream = client.begin("POST", path, end=False)
    client.send(f.data(stream.number, b"begin"))
    if isinstance(upstream, H2Upstream):
        server = upstream.servers[0] if upstream.servers else await upstream.server()
        there = await server.request()
        await server.want(lambda: there.received == 5, "body")
        return stream, (server, there)
    peer = await upstream.connection()
    await peer.request_head()
    return stream, peer


@case
async def a_reset_stream_cancels_its_exchange_at_once_and_no_other(t):
    upstream = await t.upstream()
    client = await connect(t, await front(t, upstream))
    for when in ("silence", "answer"):
        first, peer = await waiting(t, upstream, client, "/first")
        second, other = await waiting(t, upstream, client, "/second")
        if when == "answer":
            peer.send(CHUNKED_HEAD + chunk_bytes(b"begin"))
            await client.want(lambda: first.body == b"begin", "answer")
        client.reset(first)
        await peer.ended(5)
        check(not other.end, "the other one was cancelled too")
        other.send(response_bytes(b"whole"))
        await client.done(second)
        check(second.status == 200 and second.body == b"whole", f"{second}")
    check(not client.goaways, f"{client}")


@case
async def a_reset_stream_resets_one_stream_of_an_http2_upstream(t):
    upstream = await t.listening(H2Upstream())
    client = await connect(t, await front(t, upstream))
    for when in ("silence", "answer"):
        first, (server, there) = await waiting(t, upstream, client, "/first")
        second, (_, other) = await waiting(t, upstream, client, "/second")
        if when == "answer":
            server.head(there)
            server.send(f.data(there.number, b"begin"))
            await client.want(lambda: first.body == b"begin", "answer")
        client.reset(first)
        await server.want(lambda: there.code is not None, "RST_STREAM", 5)
        check(there.error == "CANCEL" and other.code is None and not server.goaways, f"{there} {other}")
        await server.respond(other, body=b"whole")
        await client.want(lambda: second.body == b"whole" and second.ended, "answer")
    check(len(upstream.servers) == 1 and not server.wire.end, "the connection has ended")


@case
async def a_client_that_is_gone_cancels_all_its_streams(t):
    for how in ("fin", "rst"):
        upstream = await t.listening(H2Upstream())
        gateway = await front(t, upstream)
        client = await connect(t, gateway)
        there = [(await waiting(t, upstream, client, f"/{n}"))[1] for n in range(5)]
        client.wire.reset() if how == "rst" else client.wire.close()
        for server, stream in there:
            await server.want(lambda stream=stream: stream.code is not None, "RST_STREAM", 5)
            check(stream.error == "CANCEL", f"{stream}")
        check(not server.goaways, f"{server}")
        other = await connect(t, gateway)
        t.later(answer_next(server))
        await other.good()
        check(len(upstream.servers) == 1, "the connection was not kept")


async def answer_next(server):
    await server.respond(await server.whole())


@case
async def an_http1_client_that_is_gone_resets_its_stream_only(t):
    upstream = await t.listening(H2Upstream())
    gateway = await front(t, upstream)
    wires = [await t.client(gateway) for _ in range(2)]
    for n, wire in enumerate(wires):
        wire.send(request_bytes("POST", f"/{n}", body=b"body"))
    server = await upstream.server()
    first, second = await server.whole(), await server.whole()
    if first.head.get(":path") != "/0":
        first, second = second, first
    wires[0].reset()
    await server.want(lambda: first.code is not None, "RST_STREAM", 5)
    check(first.error == "CANCEL" and second.code is None, f"{first} {second}")
    await server.respond(second)
    check((await wires[1].response("POST")).status == 200, "the other one failed")


# --- clocks
@case
async def an_idle_connection_is_told_to_go_and_closed(t):
    gateway = await front(t, await t.answering(), limits={"idleTimeoutMs": 1000})
    client = await connect(t, gateway)
    check(await client.ended() in (None, "NO_ERROR"), f"{client}")
    not_before(client.wire.opened_at, client.wire.end_at, 1.0, "the end of one that was never used")
    client = await connect(t, gateway)
    await client.good()
    since = now()
    check(await client.ended() == "NO_ERROR", f"{client}")
    not_before(since, client.wire.end_at, 1.0, "the end")
    check("rst" not in client.wire.end, f"{client.wire.end}")


@case
async def silence_of_the_upstream_ends_nothing(t):
    upstream = await t.upstream()
    limits = {"idleTimeoutMs": 1000, "requestTimeoutMs": 1000, "sendTimeoutMs": 1000}
    client = await connect(t, await front(t, upstream, limits=limits))
    streams = [client.begin(path=f"/{n}") for n in range(3)]
    peers = [await upstream.connection() for _ in streams]
    for peer in peers:
        await peer.request()
    peers[0].send(CHUNKED_HEAD + chunk_bytes(b"begin"))
    await client.wire.until(lambda: client.wire.end, 4.0)
    check(not any(stream.finished for stream in streams) and not client.goaways, f"{streams}")
    peers[0].send(chunk_bytes(b"end") + LAST_CHUNK)
    for peer in peers[1:]:
        peer.send(response_bytes(b"late"))
    for stream in streams:
        await client.done(stream)
        check(stream.status == 200 and stream.ended, f"{stream}")


@case
async def a_client_that_does_not_open_its_window_loses_the_stream(t):
    for kind in KINDS:
        upstream, _ = await large_answers(t, kind, 4 * MIB)
        client = await connect(t, await front(t, upstream, limits={"sendTimeoutMs": 1000}))
        stream = client.begin(path="/shut")
        stream.gives = False
        await client.want(lambda: stream.received == f.WINDOW, "a window of DATA")
        since = now()
        await client.done(stream)
        check(stream.code is not None and not stream.ended and not client.goaways, f"{kind}: {stream} {client}")
        not_before(since, now(), 1.0, "the stream's end")
        await client.good()


@case
async def a_slow_upload_runs_out_of_its_budget_and_others_do_not(t):
    upstream = await t.upstream()
    limits = {"requestTimeoutMs": 1000, "minUploadBytesPerSecond": 0}
    client = await connect(t, await front(t, upstream, limits=limits))
    slow = client.begin("POST", "/slow", end=False)
    since = now()
    other = client.begin("GET", "/other")
    while not slow.finished and now() < since + 10:
        client.send(f.data(slow.number, b"."))
        await client.until(lambda: slow.finished, 0.3)
    check(slow.status == 408 or slow.code is not None, f"{slow}")
    not_before(since, now(), 1.0, "the end of the upload")
    check(not other.finished and not client.goaways, f"{other} {client}")
    client.reset(other)


@case
async def an_upstream_that_is_silent_too_long_costs_its_stream_only(t):
    for kind in KINDS:
        upstream = await t.listening(H2Upstream()) if kind == "h2" else await t.upstream()
        client = await connect(t, await front(t, upstream, limits={"upstreamTimeoutMs": 1000}))
        since = now()
        stream = await client.ask("POST", "/silent", body=b"x")
        check(stream.status == 504 and stream.ended, f"{kind}: {stream}")
        not_before(since, now(), 1.0, "504")
        if kind == "h2":
            server = await upstream.server()
            there = await server.request()
            await server.want(lambda: there.code is not None, "RST_STREAM")
            check(there.error == "CANCEL" and not server.goaways, f"{there}")


# --- stop and reload
@case(threads=True)
async def a_stop_is_announced_and_then_streams_finish(t):
    upstream = await t.upstream()
    gateway = await front(t, upstream)
    client = await connect(t, gateway)
    stream = client.begin(path="/long")
    peer = await upstream.connection()
    await peer.request()
    peer.send(CHUNKED_HEAD + chunk_bytes(b"begin"))
    await client.want(lambda: stream.body == b"begin", "answer")
    gateway.signal(signal.SIGTERM)
    await client.want(lambda: client.goaways, "GOAWAY")
    check(client.goaways[0][:2] == (f.LARGEST_WINDOW, f.NO_ERROR), f"the first of two: {client}")
    under_way = client.begin(path="/under-way")
    other = await upstream.connection()
    await other.request()
    other.send(response_bytes(b"served"))
    await client.done(under_way)
    check(under_way.status == 200 and under_way.body == b"served", f"{under_way}")
    await client.want(lambda: len(client.goaways) > 1, "the second GOAWAY")
    check(client.goaways[-1][:2] == (under_way.number, f.NO_ERROR), f"{client}")
    client.begin(path="/too-late")
    peer.send(chunk_bytes(b"end") + LAST_CHUNK)
    await client.want(lambda: stream.ended, "the stream's end")
    check(stream.body == b"beginend", f"{stream}")
    check(await client.ended() == "NO_ERROR" and "rst" not in client.wire.end, f"{client}")
    check(len(upstream.connections) == 2, "a stream above the last one was served")
    check(await gateway.ended() == 0, "it ended badly")


@case
async def a_connection_without_streams_ends_soon_after_a_stop(t):
    gateway = await front(t, await t.answering())
    client = await connect(t, gateway)
    await client.good()
    gateway.signal(signal.SIGTERM)
    await client.ended(10)
    check(client.goaways and client.goaways[-1][:2] == (1, f.NO_ERROR), f"{client}")
    check(await gateway.ended() == 0, "it ended badly")


@case
async def what_does_not_end_within_the_grace_is_cut(t):
    upstream = await t.upstream()
    gateway = await front(t, upstream, limits={"graceMs": 2500})
    client = await connect(t, gateway)
    stream = client.begin(path="/long")
    await (await upstream.connection()).request()
    since = now()
    gateway.signal(signal.SIGTERM)
    await client.ended()
    check(not stream.ended, f"{stream}")
    not_before(since, client.wire.end_at, 2.5, "the cut")
    check(await gateway.ended() == 0, "it ended badly")


@case(threads=True)
async def a_reload_leaves_connections_and_their_streams_alone(t):
    upstream, second = await t.upstream(), await t.answering(lambda r: response_bytes(b"new"))
    gateway = await front(t, upstream)
    client = await connect(t, gateway)
    stream = client.begin(path="/old")
    peer = await upstream.connection()
    await peer.request()
    with open(gateway.path, encoding="utf-8") as file:
        text = file.read()
    with open(gateway.path, "w", encoding="utf-8") as file:
        file.write(text.replace(upstream.url, second.url))
    gateway.signal(signal.SIGHUP)
    for _ in range(200):
        fresh = client.begin(path="/new")
        if not await client.until(lambda: fresh.finished, 0.1):
            client.reset(fresh)
        if fresh.body == b"new":
            break
    check(fresh.body == b"new", f"not reloaded: {fresh}")
    peer.send(response_bytes(b"old"))
    await client.done(stream)
    check(stream.body == b"old" and not client.goaways, f"{stream}")
