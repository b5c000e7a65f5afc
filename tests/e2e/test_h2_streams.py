"""Streams of a client's HTTP/2 connection: each has its own flow, its own clocks and its own end."""

import asyncio
import signal

from h2 import frames as f
from h2.client import connect
from h2.upstream import H2Upstream
from support import CHUNKED_HEAD, LAST_CHUNK, case, check, chunk_bytes, not_before, now, request_bytes, response_bytes

MIB = 1 << 20
KINDS = ("h1", "h2")
BUFFER = 65_536  # maxBufferedBytes
HELD = 24 * MIB  # what the kernel's buffers of one connection may hold, and then some


async def behind(t, upstream, **settings):
    """A gateway in front of it, whichever kind it is."""
    setting = upstream.setting() if isinstance(upstream, H2Upstream) else upstream.url
    return await t.gateway("http://unused", upstreams={"u": setting}, **settings)


async def large_answers(t, kind, size):
    """An upstream whose answers have so many bytes."""
    body = bytes(range(256)) * (size // 256)
    if kind == "h1":
        async def script(wire):
            while await wire.until(lambda: wire.buffer or wire.end, 3600) and wire.buffer:
                await wire.request()
                await wire.push(response_bytes(body), 3600)

        return await t.upstream(script), body

    async def answer(server, stream):
        await server.done(stream)
        server.head(stream)
        await server.send_data(stream, body, seconds=3600)

    return await t.listening(H2Upstream(answer)), body


@case(seconds=180)
async def a_stream_whose_window_is_shut_stops_nobody_else(t):
    for kind in KINDS:
        upstream, body = await large_answers(t, kind, MIB)
        client = await connect(t, await behind(t, upstream))
        shut = client.begin(path="/shut")
        shut.gives = False
        await client.want(lambda: shut.received == f.WINDOW, f"a window of DATA from {kind}")
        begin = now()
        busy = [client.begin(path=f"/{n}") for n in range(99)]
        for stream in busy:
            await client.done(stream, 60)
            check(stream.ended and stream.body == body, f"{kind}: {stream}")
        check(shut.received == f.WINDOW and not shut.finished, f"{kind}: {shut} after {now() - begin:.1f} s")
        client.send(f.window_update(shut.number, MIB))
        shut.allowed += MIB
        await client.done(shut)
        check(shut.ended and shut.body == body, f"{kind}: {shut}")


@case(seconds=120)
async def a_slow_client_stops_its_own_http1_upstream_only(t):
    upstream = await t.upstream()
    client = await connect(t, await behind(t, upstream))
    slow, quick = client.begin(path="/slow"), client.begin(path="/quick")
    slow.gives = False
    peers = {}
    for _ in range(2):
        peer = await upstream.connection()
        peers[(await peer.request()).target] = peer
        peer.send(CHUNKED_HEAD)
    sent = 0
    while await peers["/slow"].push(chunk_bytes(b"s" * MIB), 1.0):
        sent += MIB
        check(sent < HELD, "nothing stopped the upstream")
    for n in range(40):
        check(await peers["/quick"].push(chunk_bytes(b"q" * MIB)), f"stopped too after {n} MiB")
    peers["/quick"].send(LAST_CHUNK)
    await client.done(quick)
    check(quick.received == 40 * MIB and quick.ended, f"{quick}")
    check(slow.received == f.WINDOW, f"{slow}")


@case(seconds=120)
async def a_slow_client_shuts_the_window_of_its_own_http2_upstream_stream_only(t):
    upstream = await t.listening(H2Upstream())
    client = await connect(t, await behind(t, upstream))
    slow = client.begin(path="/slow")
    slow.gives = False
    server = await upstream.server()
    there = await server.request()
    server.head(there)
    sending = t.later(server.send_data(there, b"s" * 4 * MIB, seconds=60))
    await server.want(lambda: there.room == 0, "a window that is shut")
    check(await server.until(lambda: server.room > 0), "the connection's window stays shut")
    for n in range(10):
        quick = client.begin(path=f"/quick{n}")
        other = await server.request()
        server.head(other)
        await server.send_data(other, b"q" * MIB)
        await client.done(quick)
        check(quick.received == MIB and quick.ended, f"{quick}")
    check(there.room == 0 and not sending.done(), f"{there.room}")
    check(slow.received == f.WINDOW, f"{slow}")
    check(len(upstream.servers) == 1, "another connection")


@case(seconds=120)
async def a_slow_upstream_stops_its_own_upload_only(t):
    for kind in KINDS:
        if kind == "h1":
            async def script(wire):
                head = await wire.request_head()
                if head.target == "/slow":
                    wire.pause()
                    await wire.until(lambda: wire.end, 3600)
                else:
                    await wire._body(head, head.framing(), 3600)
                    wire.send(response_bytes(b"%d" % len(head.body)))

            upstream = await t.upstream(script, receive_buffer=16_384)
        else:
            async def answer(server, stream):
                if stream.head.get(":path") == "/slow":
                    stream.gives = False
                await server.done(stream, 3600)
                await server.respond(stream, body=b"%d" % stream.received)

            upstream = await t.listening(H2Upstream(answer))
        client = await connect(t, await behind(t, upstream))
        slow = client.begin("POST", "/slow", end=False)
        sending = t.later(client.send_data(slow, b"u" * HELD, seconds=60))
        await client.want(lambda: client.settings_seen and slow.room == 0, "a window that is shut")
        await asyncio.sleep(1)
        for n in range(5):
            quick = await client.good("POST", f"/{n}", body=b"q" * MIB)
            check(quick.body == b"%d" % MIB, f"{kind}: {quick}")
        check(not sending.done() and not slow.finished, f"{kind}: {slow}")
        client.reset(slow)


@case
async def pieces_go_through_at_once_in_both_directions_at_a_time(t):
    for kind in KINDS:
        if kind == "h1":
            async def script(wire):
                await wire.request_head()
                wire.send(CHUNKED_HEAD)
                while piece := await wire.chunk():
                    wire.send(chunk_bytes(piece))
                await wire.trailers()
                wire.send(LAST_CHUNK)

            upstream = await t.upstream(script)
        else:
            async def answer(server, stream):
                server.head(stream)
                sent = 0
                while not stream.finished:
                    await server.until(lambda: stream.received > sent or stream.finished)
                    server.send(f.data(stream.number, bytes(stream.body[sent:])))
                    sent = stream.received
                server.send(f.data(stream.number, end=True))

            upstream = await t.listening(H2Upstream(answer))
        client = await connect(t, await behind(t, upstream))
        stream = client.begin("POST", "/duplex", end=False)
        sent = b""
        for n in range(50):
            piece = b"piece %d;" % n
            sent += piece
            client.send(f.data(stream.number, piece))
            await client.want(lambda: bytes(stream.body) == sent, f"echo of piece {n} from {kind}")
        client.send(f.data(stream.number, end=True))
        await client.done(stream)
        check(stream.ended and stream.body == sent, f"{kind}: {stream}")


# --- ends
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
    client = await connect(t, await behind(t, upstream))
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
    client = await connect(t, await behind(t, upstream))
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
        gateway = await behind(t, upstream)
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
    gateway = await behind(t, upstream)
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
    gateway = await behind(t, await t.answering(), limits={"idleTimeoutMs": 1000})
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
    client = await connect(t, await behind(t, upstream, limits=limits))
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
        client = await connect(t, await behind(t, upstream, limits={"sendTimeoutMs": 1000}))
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
    client = await connect(t, await behind(t, upstream, limits=limits))
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
        client = await connect(t, await behind(t, upstream, limits={"upstreamTimeoutMs": 1000}))
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
@case
async def a_stop_is_announced_and_then_streams_finish(t):
    upstream = await t.upstream()
    gateway = await behind(t, upstream)
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
    gateway = await behind(t, await t.answering())
    client = await connect(t, gateway)
    await client.good()
    gateway.signal(signal.SIGTERM)
    await client.ended(10)
    check(client.goaways and client.goaways[-1][:2] == (1, f.NO_ERROR), f"{client}")
    check(await gateway.ended() == 0, "it ended badly")


@case
async def what_does_not_end_within_the_grace_is_cut(t):
    upstream = await t.upstream()
    gateway = await behind(t, upstream, limits={"graceMs": 2500})
    client = await connect(t, gateway)
    stream = client.begin(path="/long")
    await (await upstream.connection()).request()
    since = now()
    gateway.signal(signal.SIGTERM)
    await client.ended()
    check(not stream.ended, f"{stream}")
    not_before(since, client.wire.end_at, 2.5, "the cut")
    check(await gateway.ended() == 0, "it ended badly")


@case
async def a_reload_leaves_connections_and_their_streams_alone(t):
    upstream, second = await t.upstream(), await t.answering(lambda r: response_bytes(b"new"))
    gateway = await behind(t, upstream)
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


# --- many
@case(seconds=120)
async def a_hundred_streams_are_answered_in_any_order(t):
    for kind in KINDS:
        held = []

        async def script(wire):
            request = await wire.request()
            held.append((request.target, wire))
            await wire.until(lambda: wire.end, 60)

        async def answer(server, stream):
            await server.done(stream)
            held.append((stream.head.get(":path"), (server, stream)))

        upstream = await t.upstream(script) if kind == "h1" else await t.listening(H2Upstream(answer))
        client = await connect(t, await behind(t, upstream))
        streams = [client.begin(path=f"/{n}") for n in range(100)]
        check(await gathered(held, 100), f"{len(held)} came")
        for path, where in reversed(held):
            body = path.encode()
            if kind == "h1":
                where.send(response_bytes(body))
            else:
                await where[0].respond(where[1], body=body)
        for n, stream in enumerate(streams):
            await client.done(stream)
            check(stream.body == b"/%d" % n, f"{kind}: {stream}")


async def gathered(held, count):
    for _ in range(400):
        if len(held) == count:
            return True
        await asyncio.sleep(0.05)
    return False


@case(seconds=120)
async def uploads_go_through_whole_many_at_a_time(t):
    for kind in KINDS:
        if kind == "h1":
            upstream = await t.answering(lambda r: response_bytes(b"%d" % len(r.body)))
        else:
            async def answer(server, stream):
                stream.keep = False
                await server.done(stream, 60)
                await server.respond(stream, body=b"%d" % stream.received)

            upstream = await t.listening(H2Upstream(answer))
        client = await connect(t, await behind(t, upstream))
        sizes = [0, 1, 16_384, 65_535, 65_536, 65_537, 1 << 20, 5 << 20]
        done = await asyncio.gather(*(client.ask("PUT", f"/{size}", body=b"u" * size, seconds=60) for size in sizes))
        for size, stream in zip(sizes, done):
            check(stream.status == 200 and stream.body == b"%d" % size, f"{kind} {size}: {stream}")
