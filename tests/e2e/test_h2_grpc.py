"""gRPC, frame by frame: what its clients need of a gateway in between, and how errors are told to them."""

import asyncio
import struct

from h2 import frames as f
from h2.client import connect
from h2.upstream import H2Upstream
from support import case, check

CALL = [("content-type", "application/grpc"), ("te", "trailers"), ("grpc-timeout", "5S"), ("x-meta-bin", "AAEC")]
UNKNOWN, UNIMPLEMENTED, UNAVAILABLE, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED = "2", "12", "14", "4", "8"


def message(payload):
    return struct.pack(">BI", 0, len(payload)) + payload


async def front(t, answer=None, **settings):
    upstream = await t.listening(H2Upstream(answer))
    gateway = await t.gateway("http://unused", upstreams={"u": upstream.setting()}, **settings)
    return upstream, await connect(t, gateway), gateway


def status_of(stream):
    """(grpc-status, where it stood)"""
    if stream.trailers is not None:
        return dict(stream.trailers).get("grpc-status"), "trailers"
    return stream.head.get("grpc-status"), "head"


@case
async def a_unary_call_with_its_metadata_and_trailers(t):
    async def answer(server, stream):
        await server.done(stream)
        head = stream.head
        check(head.get("te") == "trailers" and head.get("content-type") == "application/grpc", f"{head}")
        check(head.get("grpc-timeout") == "5S" and head.get("x-meta-bin") == "AAEC", f"{head}")
        server.head(stream, 200, [("content-type", "application/grpc"), ("x-initial", "1")])
        await server.send_data(stream, bytes(stream.body), end=False)
        server.send(f.headers(stream.number, [("grpc-status", "0"), ("grpc-message", "fine%20so"), ("x-end-bin", "AA")]))

    _, client, _ = await front(t, answer)
    stream = await client.good("POST", "/pkg.Service/Unary", CALL, message(b"hello"))
    check(stream.body == message(b"hello") and stream.head.get("x-initial") == "1", f"{stream}")
    check(stream.trailers == [("grpc-status", "0"), ("grpc-message", "fine%20so"), ("x-end-bin", "AA")], f"{stream.trailers}")


@case
async def an_answer_of_trailers_only_stays_one_head(t):
    async def answer(server, stream):
        await server.done(stream)
        server.head(stream, 200, [("content-type", "application/grpc"), ("grpc-status", "5"), ("grpc-message", "none")], end=True)

    _, client, _ = await front(t, answer)
    stream = await client.good("POST", "/pkg.Service/Unary", CALL, message(b"x"))
    check(status_of(stream) == ("5", "head") and stream.trailers is None and not stream.body, f"{stream}")
    check(stream.head.get("content-length") in (None, "0"), f"{stream}")


@case
async def messages_go_both_ways_one_by_one(t):
    async def answer(server, stream):
        server.head(stream, 200, [("content-type", "application/grpc")])
        sent = 0
        while not stream.finished:
            await server.until(lambda: stream.received > sent or stream.finished)
            server.send(f.data(stream.number, bytes(stream.body[sent:])))
            sent = stream.received
        server.send(f.headers(stream.number, [("grpc-status", "0")]))

    _, client, _ = await front(t, answer)
    stream = client.begin("POST", "/pkg.Service/Bidi", CALL, end=False)
    await client.want(lambda: stream.head, "a head before any message")
    sent = b""
    for n in range(20):
        sent += message(b"%d" % n)
        client.send(f.data(stream.number, message(b"%d" % n)))
        await client.want(lambda: bytes(stream.body) == sent, f"message {n}")
    client.send(f.data(stream.number, end=True))
    await client.done(stream)
    check(status_of(stream) == ("0", "trailers"), f"{stream}")


@case
async def a_call_that_is_cancelled_is_cancelled_there(t):
    upstream, client, _ = await front(t)
    stream = client.begin("POST", "/pkg.Service/Slow", CALL, end=False)
    client.send(f.data(stream.number, message(b"x")))
    server = await upstream.server()
    there = await server.request()
    client.reset(stream)
    await server.want(lambda: there.code is not None, "RST_STREAM", 5)
    check(there.error == "CANCEL", f"{there}")


async def error(client, wanted, **options):
    """The answer is an error of hushgate's own as gRPC tells one: 200, and what it is in the head."""
    stream = await client.ask("POST", "/pkg.Service/Unary", options.pop("fields", CALL), options.pop("body", message(b"x")))
    check(stream.status == 200 and stream.ended and not stream.body, f"{stream}")
    check(stream.head.get("content-type") == "application/grpc", f"{stream}")
    code, _ = status_of(stream)
    check(code in wanted, f"grpc-status {code}, not {wanted}: {stream}")
    check(stream.head.get("grpc-message") or dict(stream.trailers or []).get("grpc-message"), f"{stream}")
    return stream


@case
async def errors_of_its_own_are_told_as_grpc_tells_them(t):
    gateway = await t.gateway("http://unused", upstreams={"u": {"url": "http://127.0.0.1:1", "protocol": "h2c"}},
                              routes=[{"path": "/pkg.Service", "upstream": "u"}],
                              limits={"upstreamRetries": 0, "maxBodyBytes": 1000})
    client = await connect(t, gateway)
    await error(client, [UNAVAILABLE])
    await error(client, [UNAVAILABLE], fields=[("content-type", "application/grpc+proto"), ("te", "trailers")])
    await error(client, [RESOURCE_EXHAUSTED, UNKNOWN], fields=[*CALL, ("content-length", "2005")], body=message(b"x" * 2000))
    stream = await client.ask("POST", "/other", CALL, message(b"x"))
    check(stream.status == 200 and status_of(stream)[0] == UNIMPLEMENTED, f"{stream}")
    stream = await client.ask("POST", "/pkg.Service/Unary", [("content-type", "application/json")], b"{}")
    check(stream.status == 502 and stream.head.get("grpc-status") is None, f"not of gRPC: {stream}")


@case
async def a_call_that_takes_too_long_or_whose_upstream_dies_is_told(t):
    async def silent(server, stream):
        await server.over()

    _, client, _ = await front(t, silent, limits={"upstreamTimeoutMs": 700})
    await error(client, [DEADLINE_EXCEEDED, UNAVAILABLE])

    async def dies(server, stream):
        await server.done(stream)
        server.wire.reset()

    _, client, gateway = await front(t, dies)
    await error(client, [UNAVAILABLE])
    await asyncio.wait_for(gateway.exchange("/pkg.Service/Unary"), 10)


@case
async def a_stream_that_is_cut_is_reset(t):
    async def answer(server, stream):
        await server.done(stream)
        server.head(stream, 200, [("content-type", "application/grpc")])
        server.send(f.data(stream.number, message(b"one")))
        await asyncio.sleep(0.2)
        server.wire.reset()

    _, client, _ = await front(t, answer)
    stream = await client.ask("POST", "/pkg.Service/Stream", CALL, message(b"x"))
    check(stream.body == message(b"one") and not stream.ended and stream.code is not None, f"{stream}")
