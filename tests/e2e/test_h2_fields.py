"""Fields and messages between HTTP/1.1 and HTTP/2, in every pair of the two (RFC 9113 section 8)."""

import re

from h2 import frames as f
from h2.client import connect
from h2.pairs import PAIRS, Message, Reply, between
from h2.upstream import H2Upstream
from support import authority, case, check, client_context, request_bytes, tls_listen


def of_pairs(function):
    """A case that calls `function(t, client, upstream)` for each pair, and says for which one it failed."""

    async def every_pair(t):
        for client, upstream in PAIRS:
            try:
                await function(t, client, upstream)
            except AssertionError as fault:
                raise type(fault)(f"{client} to {upstream}: {fault}") from fault

    every_pair.__name__, every_pair.__module__ = function.__name__, function.__module__
    return case(every_pair, seconds=120)


@of_pairs
async def method_target_and_authority_arrive_as_they_were(t, client, upstream):
    peer, ask, _ = await between(t, client, upstream)
    for method, path, name in (("GET", "/a/b?c=d&e=%2f", "shop.example"), ("DELETE", "/", "shop.example:8080"),
                               ("PROPFIND", "/x%20y?", "127.0.0.1:1")):
        response = await ask(method, path, authority=name)
        request = peer.seen[-1]
        check(response.status == 200 and response.body == b"ok", f"{response}")
        check((request.method, request.path, request.authority) == (method, path, name), f"{request}")
        if upstream == "h2":
            check(request.scheme == "http", f"{request}")
    await ask("OPTIONS", "*")
    check(peer.seen[-1].path == "*", f"{peer.seen[-1]}")


@of_pairs
async def fields_arrive_in_order_and_none_is_lost(t, client, upstream):
    peer, ask, _ = await between(t, client, upstream, lambda r: Reply(fields=[("X-One", "1"), ("set-cookie", "a=1"),
                                                                              ("Set-Cookie", "b=2"), ("x-one", "2")]))
    given = [("x-one", "1"), ("accept", "*/*"), ("x-one", "2"), ("x-empty", ""), ("x-long", "v" * 9000), ("x-bytes", "caf\xe9")]
    response = await ask(fields=given)
    request = peer.seen[-1]
    names = {name for name, _ in given}
    check([pair for pair in request.fields if pair[0] in names] == given, f"{request}")
    check(response.all("x-one") == ["1", "2"] and response.all("set-cookie") == ["a=1", "b=2"], f"{response}")


@of_pairs
async def crumbs_of_cookies_become_one(t, client, upstream):
    peer, ask, _ = await between(t, client, upstream)
    crumbs = [("cookie", "a=1"), ("cookie", "b=2"), ("cookie", "c=3")]
    await ask(fields=crumbs if client == "h2" else [("cookie", "a=1; b=2; c=3")])
    check("; ".join(peer.seen[-1].all("cookie")) == "a=1; b=2; c=3", f"{peer.seen[-1]}")
    if upstream == "h1":
        check(peer.seen[-1].all("cookie") == ["a=1; b=2; c=3"], f"{peer.seen[-1]}")


@of_pairs
async def the_fields_of_a_connection_end_here(t, client, upstream):
    answer = [("Keep-Alive", "timeout=9"), ("Proxy-Connection", "close"), ("Connection", "X-Theirs"), ("X-Theirs", "1"),
              ("Upgrade", "h2c")]
    reply = Reply(fields=[("x-kept", "2")])
    if upstream == "h1":
        reply.fields += answer
    peer, ask, _ = await between(t, client, upstream, lambda r: reply)
    fields = [("x-kept", "1")]
    if client == "h1":
        fields += [("Connection", "X-Mine, keep-alive, TE"), ("X-Mine", "1"), ("Keep-Alive", "timeout=5"),
                   ("Proxy-Connection", "keep-alive"), ("Upgrade", "h2c"), ("HTTP2-Settings", "AAMAAABk"), ("TE", "gzip")]
    response = await ask(fields=fields)
    request = peer.seen[-1]
    for name in ("x-mine", "keep-alive", "proxy-connection", "upgrade", "http2-settings"):
        check(not request.all(name), f"{name} was forwarded: {request}")
    check("gzip" not in request.all("te"), f"{request}")
    for name in ("x-theirs", "keep-alive", "proxy-connection", "upgrade"):
        check(not response.all(name), f"{name} was forwarded: {response}")
    check(request.get("x-kept") == "1" and response.get("x-kept") == "2", f"{request} {response}")


@of_pairs
async def te_trailers_goes_on_and_nothing_else_of_te(t, client, upstream):
    peer, ask, _ = await between(t, client, upstream)
    await ask(fields=[("te", "trailers"), *([("Connection", "TE")] if client == "h1" else [])])
    check(peer.seen[-1].all("te") in ([], ["trailers"]), f"{peer.seen[-1]}")
    if (client, upstream) == ("h2", "h2"):
        check(peer.seen[-1].get("te") == "trailers", f"gRPC needs it: {peer.seen[-1]}")


@of_pairs
async def via_and_forwarded_fields_are_added(t, client, upstream):
    peer, ask, _ = await between(t, client, upstream)
    response = await ask(authority="shop.example")
    request = peer.seen[-1]
    check(re.fullmatch(r"1\.1 \S+" if client == "h1" else r"2(\.0)? \S+", request.get("via")), f"{request}")
    check(re.fullmatch(r"1\.1 \S+" if upstream == "h1" else r"2(\.0)? \S+", response.get("via")), f"{response}")
    check(request.get("x-forwarded-for") == "127.0.0.1" and request.get("x-forwarded-proto") == "http", f"{request}")
    check(request.get("x-request-id"), f"{request}")


@of_pairs
async def bodies_and_trailers_arrive_whole_both_ways(t, client, upstream):
    body, back = bytes(range(256)) * 1000, bytes(range(256))[::-1] * 2000
    reply = Reply(body=back, trailers=[("x-sum", "7"), ("grpc-status", "0")])
    peer, ask, _ = await between(t, client, upstream, lambda r: reply)
    response = await ask("POST", "/t", [("trailer", "x-check")], body, [("x-check", "1"), ("x-more", "2")])
    request = peer.seen[-1]
    check(request.body == body and response.body == back, f"{len(request.body)} {len(response.body)}")
    check(request.trailers == [("x-check", "1"), ("x-more", "2")], f"{request.trailers}")
    check(response.trailers == reply.trailers, f"{response.trailers}")
    response = await ask("PUT", "/l", body=body)
    check(peer.seen[-1].body == body and peer.seen[-1].get("content-length") == str(len(body)), "content-length was lost")


@of_pairs
async def trailers_never_bring_framing_or_routing_fields(t, client, upstream):
    framing = [("content-length", "3"), ("transfer-encoding", "chunked")]  # in HTTP/2 they make a message malformed
    bad = [("host", "evil.example"), *(framing if client == "h1" else []), ("x-good", "1")]
    reply = Reply(trailers=[("host", "evil.example"), *(framing if upstream == "h1" else []), ("x-good", "2")])
    peer, ask, _ = await between(t, client, upstream, lambda r: reply)
    response = await ask("POST", "/", body=b"body", trailers=bad)
    check(peer.seen, f"not forwarded: {response}")
    check(peer.seen[-1].trailers == [("x-good", "1")] and response.trailers == [("x-good", "2")],
          f"{peer.seen[-1].trailers} {response.trailers}")


@of_pairs
async def interim_responses_are_forwarded(t, client, upstream):
    hints = [("link", "</style.css>; rel=preload"), ("x-n", "1")]
    peer, ask, _ = await between(t, client, upstream, lambda r: Reply(interim=[(103, hints), (103, [])]))
    response = await ask()
    check([status for status, _ in response.interim] == [103, 103], f"{response.interim}")
    first = Message(response.interim[0][1])
    check(first.get("link") == hints[0][1] and first.get("x-n") == "1", f"{response.interim}")
    check(response.status == 200, f"{response}")


@of_pairs
async def expect_100_continue_is_asked_and_answered(t, client, upstream):
    peer, ask, _ = await between(t, client, upstream)
    response = await ask("POST", "/", [("expect", "100-continue")], b"body")
    check([status for status, _ in response.interim] == [100], f"{response.interim}")
    check(peer.seen[-1].body == b"body" and peer.seen[-1].get("expect") == "100-continue", f"{peer.seen[-1]}")


@of_pairs
async def responses_without_a_body_have_none_and_tell_its_length(t, client, upstream):
    replies = {"/head": Reply(fields=[("content-length", "1234")], body=None),
               "/204": Reply(204, body=None), "/304": Reply(304, [("etag", '"e"'), ("content-length", "99")], body=None),
               "/empty": Reply(body=b"")}
    peer, ask, _ = await between(t, client, upstream, lambda r: replies[r.path])
    response = await ask("HEAD", "/head")
    check(response.status == 200 and response.get("content-length") == "1234" and not response.body, f"{response}")
    response = await ask("GET", "/204")
    check(response.status == 204 and not response.body and response.get("content-length") is None, f"{response}")
    response = await ask("GET", "/304")
    check(response.status == 304 and response.get("etag") == '"e"' and not response.body, f"{response}")
    response = await ask("GET", "/empty")
    check(response.status == 200 and response.body == b"" and response.get("content-length") in ("0", None), f"{response}")


@of_pairs
async def a_body_of_unknown_length_ends_where_it_ends(t, client, upstream):
    peer, ask, _ = await between(t, client, upstream, lambda r: Reply(body=b"unknown" * 1000, length=False))
    response = await ask()
    check(response.body == b"unknown" * 1000 and response.whole and response.get("content-length") is None, f"{response}")


@case
async def a_get_with_content_length_0_and_a_bodyless_post_stay_what_they_are(t):
    for client, upstream in PAIRS:
        peer, ask, _ = await between(t, client, upstream)
        await ask("POST", "/p", [("content-length", "0")])
        check(peer.seen[-1].body == b"" and peer.seen[-1].get("content-length") == "0", f"{peer.seen[-1]}")
        await ask("GET", "/g")
        check(peer.seen[-1].get("content-length") is None, f"{peer.seen[-1]}")


@case
async def the_names_of_an_http1_upstream_become_small(t):
    _, ask, _ = await between(t, "h2", "h1", lambda r: Reply(fields=[("X-Some-NAME", "Value")]))
    check((await ask()).get("x-some-name") == "Value", "another value")  # Head has checked the rest


@case
async def an_http1_response_that_is_cut_is_a_reset_stream_and_nothing_else_ends(t):
    async def script(wire):
        request = await wire.request_head()
        head = {"/length": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegin",
                "/chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegin\r\n"}.get(request.target)
        wire.send(head or b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        if request.target == "/chunked":
            wire.fin()

    gateway = await t.gateway(await t.upstream(script))
    client = await connect(t, gateway)
    for path in ("/length", "/chunked"):
        stream = await client.ask(path=path)
        check(stream.status == 200 and stream.body == b"begin", f"{stream}")
        check(not stream.ended and stream.error == "INTERNAL_ERROR", f"{path}: {stream}")
    await client.good()
    check(not client.goaways and len(t.gateways) == 1, f"{client}")


@case
async def an_http1_response_that_ends_with_its_connection_is_whole(t):
    async def script(wire):
        await wire.request_head()
        wire.send(b"HTTP/1.0 200 OK\r\n\r\nall of it")

    client = await connect(t, await t.gateway(await t.upstream(script)))
    stream = await client.good()
    check(stream.body == b"all of it", f"{stream}")


async def odd_upstream(t, writes):
    """(path of each, gateway) of an upstream that answers /n with what `writes[n](server, stream)` sends."""

    async def answer(server, stream):
        await server.done(stream)
        writes[int(stream.head.get(":path")[1:])](server, stream)

    upstream = await t.listening(H2Upstream(answer))
    gateway = await t.gateway("http://unused", upstreams={"u": upstream.setting()}, limits={"upstreamRetries": 0})
    return [f"/{n}" for n in range(len(writes))], gateway


@case
async def a_malformed_response_of_an_http2_upstream_is_502(t):
    status = (":status", "200")
    rows = [[], [(":status", "")], [(":status", "99")], [(":status", "2000")], [(":status", "abc")], [status, status],
            [status, ("X-Capital", "1")], [status, ("connection", "close")], [status, ("transfer-encoding", "chunked")],
            [status, ("keep-alive", "1")], [status, ("x", "a\r\nb: c")], [status, ("x", "a\0b")], [status, (":path", "/")],
            [("x", "1"), status], [status, ("", "1")], [status, ("a b", "1")], [status, ("content-length", "x")],
            [status, ("content-length", "1"), ("content-length", "1")], [(":status", "101")]]
    paths, gateway = await odd_upstream(t, [lambda server, s, fields=fields: server.send(
        f.headers(s.number, fields, end=False), f.data(s.number, b"o", end=True)) for fields in rows])
    client = await connect(t, gateway)
    for path, fields in zip(paths, rows):
        response = await t.ask(gateway, request_bytes("POST", path, body=b"x"))
        check(response.status == 502, f"{fields}: {response}")
        stream = await client.ask("POST", path, body=b"x")
        check(stream.status == 502 and stream.ended, f"{fields}: {stream}")


@case
async def lengths_that_an_http2_upstream_does_not_keep_to_are_seen_as_a_cut(t):
    rows = [("10", [b"less"]), ("2", [b"more"]), ("3", [b""]), ("6", [b"more", b"than"])]

    def writing(declared, pieces):
        def write(server, stream):
            server.head(stream, 200, [("content-length", declared)])
            for at, piece in enumerate(pieces):
                server.send(f.data(stream.number, piece, end=at == len(pieces) - 1))

        return write

    paths, gateway = await odd_upstream(t, [writing(*row) for row in rows])
    client = await connect(t, gateway)
    for path, (declared, pieces) in zip(paths, rows):
        wire = await t.client(gateway)
        wire.send(request_bytes("POST", path, [("Connection", "close")], b"x"))
        await wire.ended()
        head, _, body = bytes(wire.buffer).partition(b"\r\n\r\n")
        check(b" 502 " in head[:20] or len(body) < int(declared), f"{declared} {pieces}: {wire.buffer}")
        stream = await client.ask("POST", path, body=b"x")
        check(not stream.ended or stream.status == 502, f"{declared} {pieces}: {stream}")


@case
async def data_in_answer_to_head_and_behind_204_is_not_forwarded(t):
    async def answer(server, stream):
        await server.done(stream)
        status = 204 if stream.head.get(":path") == "/204" else 200
        server.head(stream, status)
        server.send(f.data(stream.number, b"not wanted", end=True))

    upstream = await t.listening(H2Upstream(answer))
    gateway = await t.gateway("http://unused", upstreams={"u": upstream.setting()})
    for method, path in (("HEAD", "/"), ("GET", "/204")):
        client = await connect(t, gateway)
        stream = await client.ask(method, path)
        check(stream.received == 0, f"{stream}")
        wire = await t.client(gateway)
        wire.send(request_bytes(method, path, [("Connection", "close")]))
        check(b"not wanted" not in await wire.rest(), f"{method} {path}: {wire.buffer}")


@case
async def an_http10_client_gets_no_chunks_of_an_http2_upstream(t):
    async def answer(server, stream):
        await server.respond(stream, body=b"to an old one", trailers=[("x-lost", "1")])

    upstream = await t.listening(H2Upstream(answer))
    gateway = await t.gateway("http://unused", upstreams={"u": upstream.setting()})
    wire = await t.client(gateway)
    wire.send(request_bytes(version="1.0"))
    response = await wire.response()
    check(response.body == b"to an old one" and not response.all("Transfer-Encoding"), f"{response}")


@case
async def errors_of_its_own_are_the_same_in_http2(t):
    gateway = await t.gateway("http://127.0.0.1:1", limits={"upstreamRetries": 0, "maxBodyBytes": 10, "maxHeaders": 40})
    client = await connect(t, gateway)
    stream = await client.ask("POST", "/", body=b"x")
    check(stream.status == 502 and stream.head.get("content-type") == "application/json", f"{stream}")
    check(stream.head.get("x-should-retry") == "true" and stream.head.get("proxy-status"), f"{stream}")
    check(b'"connection_refused"' in stream.body and stream.ended, f"{stream}")
    stream = await client.ask("POST", "/", [("content-length", "11")], b"x" * 11)
    check(stream.status == 413, f"{stream}")
    stream = await client.ask(fields=[(f"x-{n}", "1") for n in range(60)])
    check(stream.status == 431, f"{stream}")
    stream = await client.ask(path="/a/../b" + "%2f..")
    check(stream.status in (400, 502), f"{stream}")
    check(not client.goaways, f"{client}")


@case
async def a_head_that_is_too_large_is_431_and_the_connection_lives(t):
    gateway = await t.gateway(await t.answering(), limits={"maxHeaderBytes": 4096, "maxRequestLineBytes": 2048})
    client = await connect(t, gateway)
    stream = await client.ask(fields=[("x", "v" * 5000)])
    check(stream.status == 431, f"{stream}")
    stream = await client.ask(path="/" + "p" * 3000)
    check(stream.status == 414, f"{stream}")
    await client.good(fields=[("x", "v" * 3000)])


@case
async def an_answer_before_the_upload_is_whole_ends_the_upload_only(t):
    upstream = await t.upstream()
    client = await connect(t, await t.gateway(upstream))
    stream = client.begin("POST", "/early", end=False)
    client.send(f.data(stream.number, b"b" * 1000))
    peer = await upstream.connection()
    await peer.request_head()
    peer.send(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\ngone")
    await client.want(lambda: stream.ended, "answer")
    check(stream.status == 401 and stream.body == b"gone", f"{stream}")
    await client.want(lambda: stream.code is not None, "word that no more is read")
    check(stream.error == "NO_ERROR", f"section 8.1: {stream}")
    check(not client.goaways, f"{client}")


@case
async def tls_is_seen_in_the_forwarded_proto(t):
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    upstream = await t.answering()
    gateway = await t.gateway(upstream, listen=tls_listen(own))
    client = await connect(t, gateway, context=client_context(trusted, alpn=["h2"]))
    await client.good()
    check(upstream.requests[-1][0].get("X-Forwarded-Proto") == "https", f"{upstream.requests[-1][0]}")


@case
async def a_request_that_comes_round_again_is_508_in_http2_too(t):
    gateway = await t.gateway("http://127.0.0.1:1")
    port = gateway.port
    await gateway.stop()
    config = {"listen": [f"127.0.0.1:{port}"], "workers": 1, "routes": [{"path": "/", "upstream": "u"}],
              "upstreams": {"u": {"url": f"http://127.0.0.1:{port}", "protocol": "h2c"}}}
    again = await t.run(config)
    client = await connect(t, again)
    stream = await client.ask()
    check(stream.status == 508, f"{stream}")
