"""CONTRACT section 4: framing both ways, interim responses, HTTP/1.0, and what stays visibly cut."""

import asyncio

from support import CHUNKED_HEAD, LAST_CHUNK, case, check, chunk_bytes, error_of, has_last_chunk, \
    request_bytes, response_bytes


async def pair(t, request, **settings):
    """A request under way: (client, upstream's end, the request as it came there, gateway)."""
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, **settings)
    wire = await t.client(gateway)
    wire.send(request)
    peer = await upstream.connection()
    return wire, peer, await peer.request(), gateway


@case
async def chunks_and_trailers_go_through_both_ways(t):
    wire, peer, request, _ = await pair(t, b"POST /t HTTP/1.1\r\nHost: localhost\r\nTE: trailers\r\nTrailer: X-Sum\r\n"
                                        b"Transfer-Encoding: chunked\r\n\r\n3;ext=1\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n")
    check(request.body == b"abc" and request.trailers == [("X-Sum", "1")], f"{request} {request.trailers}")
    peer.send(b"HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n"
              b"5\r\nhello\r\n0\r\nX-Sum: 2\r\nX-More: 3\r\n\r\n")
    response = await wire.response()
    check(response.body == b"hello", f"{response}")
    check(response.trailers == [("X-Sum", "2"), ("X-More", "3")], f"{response.trailers}")


@case
async def trailers_never_frame_or_route(t):
    bad = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\nHost: evil\r\nAuthorization: x\r\nX-Fine: 1\r\n"
    wire, peer, request, _ = await pair(t, b"POST /t HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                                        b"3\r\nabc\r\n0\r\n" + bad.encode() + b"\r\n")
    names = [name.lower() for name, _ in request.trailers]
    check(not {"content-length", "transfer-encoding", "host"} & set(names), f"{request.trailers}")
    check("x-fine" in names, f"{request.trailers}")
    peer.send(CHUNKED_HEAD + b"0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nX-Fine: 1\r\n\r\n")
    response = await wire.response()
    check([name.lower() for name, _ in response.trailers] == ["x-fine"], f"{response.trailers}")


@case
async def a_length_stays_a_length(t):
    wire, peer, request, _ = await pair(t, request_bytes("POST", "/l", body=b"12345"))
    check(request.get("Content-Length") == "5" and not request.all("Transfer-Encoding"), f"{request}")
    peer.send(response_bytes(b"123"))
    response = await wire.response()
    check(response.get("Content-Length") == "3" and not response.all("Transfer-Encoding"), f"{response}")


@case
async def a_response_that_ends_with_its_connection_is_chunked_and_the_client_is_kept(t):
    wire, peer, _, _ = await pair(t, request_bytes(target="/eof"))
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nfirst ")
    head = await wire.response_head()
    check(head.listed("Transfer-Encoding") == ["chunked"], f"{head}")
    check(await wire.chunk() == b"first ", "not forwarded as it comes")
    peer.send(b"second")
    check(await wire.chunk() == b"second", "not forwarded as it comes")
    peer.close()
    check(await wire.chunk() == b"", "no end")
    await wire.trailers()
    await wire.quiet(0.3)


@case
async def an_http_1_0_client_gets_no_chunks(t):
    answers = (CHUNKED_HEAD + chunk_bytes(b"hello") + LAST_CHUNK, b"HTTP/1.1 200 OK\r\n\r\nhello", response_bytes(b"hello"))
    for answer in answers:
        for host in ("localhost", None):
            wire, peer, request, _ = await pair(t, request_bytes(target="/10", version="1.0", host=host))
            check(request.version == "HTTP/1.1" and request.get("Host"), f"{request}")
            peer.send(b"HTTP/1.1 103 Early Hints\r\n\r\n" + answer)
            peer.fin()
            response = await wire.response()
            check(not response.all("Transfer-Encoding") and response.body == b"hello", f"{response}")
            check(not response.interim, "an interim response to an HTTP/1.0 client")
            check(await wire.ended() == "fin", "not closed in order")


@case
async def an_http_1_0_client_is_kept_only_if_it_asks_and_the_length_is_known(t):
    gateway = await t.gateway(await t.answering())
    wire = await t.client(gateway)
    for _ in range(2):
        wire.send(request_bytes(version="1.0", fields=[("Connection", "keep-alive")]))
        response = await wire.response()
        check("keep-alive" in response.listed("Connection"), f"{response}")
    wire.send(request_bytes(version="1.0"))
    await wire.response()
    await wire.ended()


@case
async def an_http_1_0_upstream_is_understood(t):
    wire, peer, _, _ = await pair(t, request_bytes(target="/10"))
    peer.send(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nold words")
    peer.close()
    response = await wire.response()
    check(response.body == b"old words" and response.version == "HTTP/1.1", f"{response}")


@case
async def responses_without_a_body_have_none(t):
    head = b"HTTP/1.1 %s\r\n%s\r\n"
    rows = [("HEAD", b"200 OK", b"Content-Length: 1234\r\n"), ("HEAD", b"200 OK", b"Transfer-Encoding: chunked\r\n"),
            ("HEAD", b"200 OK", b""), ("GET", b"204 No Content", b""), ("GET", b"304 Not Modified", b"ETag: \"a\"\r\n"),
            ("GET", b"304 Not Modified", b"Content-Length: 77\r\n"), ("POST", b"204 No Content", b"")]
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    for method, status, fields in rows:
        wire.send(request_bytes(method, "/none", body=b"x" if method == "POST" else None))
        for _ in range(1000):
            waiting = [peer for peer in upstream.connections if peer.buffer]
            if waiting:
                break
            await asyncio.sleep(0.01)
        await waiting[0].request()
        waiting[0].send(head % (status, fields))
        response = await wire.response(method)
        check(response.status == int(status[:3]), f"{method} {status}: {response}")
        if b"1234" in fields:
            check(response.get("Content-Length") == "1234", f"HEAD without its length: {response}")
        if status.startswith(b"204"):
            check(not response.all("Content-Length") and not response.all("Transfer-Encoding"), f"{response}")
    check(not wire.end, "the connection was not kept")


@case
async def interim_responses_are_forwarded_whole_and_bounded(t):
    wire, peer, _, _ = await pair(t, request_bytes(target="/i"))
    peer.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n" * 32 + response_bytes(b"done"))
    response = await wire.response()
    check(response.body == b"done" and len(response.interim) == 32, f"{len(response.interim)} {response}")
    check(response.interim[0].get("Link") == "</a.css>; rel=preload", f"{response.interim[0]}")
    wire, peer, _, _ = await pair(t, request_bytes(target="/i"))
    peer.send(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 33 + response_bytes(b"done"))
    error_of(await wire.response(), 502, "http_protocol_error")


@case
async def a_client_that_does_not_wait_for_its_100_is_served(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    wire.send(request_bytes("POST", "/x", [("Expect", "100-continue")], b"body"))
    peer = await upstream.connection()
    request = await peer.request()  # the upstream never says 100
    check(request.body == b"body", f"{request}")
    peer.send(response_bytes())
    check((await wire.response()).status == 200, "not served")
    wire.send(request_bytes("POST", "/y", [("Expect", "100-continue")], b"body"))
    peer = await upstream.connection()
    await peer.request_head()
    peer.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    check(await peer.take(4) == b"body", "another body")
    peer.send(response_bytes())
    check((await wire.response()).status == 200, "not served")


@case
async def content_encoding_and_odd_fields_are_not_touched(t):
    fields = [("X-Twice", "1"), ("X-Twice", "2"), ("X-Empty", ""), ("Accept-Encoding", "gzip;q=0.5, br"),
              ("X-Latin", "caf\u00e9"), ("cOOkie", "a=b; c=d")]
    wire, peer, request, _ = await pair(t, request_bytes(target="/f", fields=fields))
    for name, value in fields:
        check(value in request.all(name) and name in [n for n, _ in request.fields], f"{name}: {request}")
    answer = [("Content-Encoding", "gzip"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("X-Case", "Kept")]
    peer.send(response_bytes(b"\x1f\x8b\x00", fields=answer))
    response = await wire.response()
    check([f for f in response.fields if f in answer] == answer, f"{response}")
    check(response.body == b"\x1f\x8b\x00", f"{response}")


@case
async def statuses_and_reasons_pass(t):
    wire, peer, _, _ = await pair(t, request_bytes(target="/s"))
    for status in ("200 Fine By Me", "299 ", "404 Not Here", "418 I'm a teapot", "599 Odd"):
        peer.send(response_bytes(b"b", status))
        response = await wire.response()
        check(f"HTTP/1.1 {status}\r\n".encode() in response.raw, f"{status}: {response.raw}")
        wire.send(request_bytes(target="/s"))
        await peer.request()


@case
async def a_cut_response_stays_visibly_cut(t):
    rows = [(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345", False), (CHUNKED_HEAD + chunk_bytes(b"12345"), False),
            (CHUNKED_HEAD + b"a\r\n12345", False), (CHUNKED_HEAD + chunk_bytes(b"12345") + b"0\r\n", False),
            (b"HTTP/1.1 200 OK\r\n\r\n12345", True)]
    for answer, only_reset in rows:
        for how in ("fin", "reset"):
            if only_reset and how == "fin":
                continue
            wire, peer, _, gateway = await pair(t, request_bytes(target="/cut"))
            peer.send(answer)
            await wire.take_until(b"12345")
            getattr(peer, how)()
            await wire.ended(10)
            check(not has_last_chunk(wire.buffer), f"{answer} {how}: it looks complete")
            line = await gateway.exchange("/cut")
            check((line["end"], line["side"]) == ("connection_terminated", "upstream"), f"{line}")


@case
async def a_cut_towards_an_http_1_0_client_is_a_reset(t):
    wire, peer, _, _ = await pair(t, request_bytes(target="/cut", version="1.0"))
    peer.send(CHUNKED_HEAD + chunk_bytes(b"12345"))
    await wire.take_until(b"12345")
    peer.fin()
    check("rst" in await wire.ended(10), "a FIN: it looks complete")


@case
async def a_response_in_single_bytes_is_understood(t):
    wire, peer, _, _ = await pair(t, request_bytes(target="/drip"))
    for byte in CHUNKED_HEAD + chunk_bytes(b"drop by drop") + b"0\r\nX-T: 1\r\n\r\n":
        peer.send(bytes([byte]))
        await asyncio.sleep(0)
    response = await wire.response()
    check(response.body == b"drop by drop" and response.trailers == [("X-T", "1")], f"{response}")


@case
async def faulty_responses_are_502_and_never_forwarded(t):
    rows = [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok",
            b"HTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 2\r\n\r\nok", b"SMTP ready\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nX: a\x00b\r\nContent-Length: 2\r\n\r\nok", b"HTTP/1.1 99 Low\r\n\r\n",
            b"HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok", b"HTTP/1.1 101 Switching Protocols\r\n\r\n"]
    for answer in rows:
        wire, peer, _, _ = await pair(t, request_bytes("POST", "/bad", body=b"x"))
        peer.send(answer)
        response = await wire.response("POST")
        error_of(response, 502, "http_protocol_error")
        check(response.get("x-should-retry") == "false", f"{answer}: {response}")
        await peer.ended(5)


@case
async def an_upstream_head_that_is_too_large_is_502(t):
    for fields in ([(f"X-{n}", "v" * 1000) for n in range(80)], [(f"X-{n}", "v") for n in range(140)]):
        wire, peer, _, _ = await pair(t, request_bytes(target="/bad"))
        peer.send(response_bytes(fields=fields))
        check((await wire.response()).status == 502, "delivered")
