"""Flow control: a stream that is slow on one side is slow on the other, and nobody else is."""

import asyncio

from h2 import frames as f
from h2.answers import front, large_answers
from h2.client import connect
from h2.upstream import H2Upstream
from support import CHUNKED_HEAD, LAST_CHUNK, case, check, chunk_bytes, now, response_bytes

MIB = 1 << 20
KINDS = ("h1", "h2")
HELD = 24 * MIB  # what the kernel's buffers of one connection may hold, and then some


@case(seconds=180)
async def a_stream_whose_window_is_shut_stops_nobody_else(t):
    for kind in KINDS:
        upstream, body = await large_answers(t, kind, MIB // 4)
        client = await connect(t, await front(t, upstream))
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
    client = await connect(t, await front(t, upstream))
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
    client = await connect(t, await front(t, upstream))
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
        client = await connect(t, await front(t, upstream))
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
        client = await connect(t, await front(t, upstream))
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
        client = await connect(t, await front(t, upstream))
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
        client = await connect(t, await front(t, upstream))
        sizes = [0, 1, 16_384, 65_535, 65_536, 65_537, 1 << 20, 5 << 20]
        done = await asyncio.gather(*(client.ask("PUT", f"/{size}", body=b"u" * size, seconds=60) for size in sizes))
        for size, stream in zip(sizes, done):
            check(stream.status == 200 and stream.body == b"%d" % size, f"{kind} {size}: {stream}")
