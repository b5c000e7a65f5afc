"""Upstreams whose nth request is answered by the nth of the given functions, and such functions."""

from support.message import check, request_bytes, response_bytes

from . import frames as f
from .upstream import H2Upstream

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


async def front(t, upstream, **settings):
    """A gateway in front of an upstream of whichever kind."""
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
