"""CONTRACT section 4: requests that could be read in two ways, and the fields that the answers carry (section 5)."""

import asyncio

from support import case, check, error_of, has_last_chunk, now, request_bytes, response_bytes

OK = b"Host: localhost\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
FAULTY = {
    "two framings": (400, b"POST / HTTP/1.1\r\n" + OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "two lengths": (400, b"POST / HTTP/1.1\r\n" + OK + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
    "a list of lengths": (400, b"POST / HTTP/1.1\r\n" + OK + b"Content-Length: 3, 3\r\n\r\nabc"),
    "a signed length": (400, b"POST / HTTP/1.1\r\n" + OK + b"Content-Length: +3\r\n\r\nabc"),
    "an endless length": (400, b"POST / HTTP/1.1\r\n" + OK + b"Content-Length: 99999999999999999999\r\n\r\n"),
    "a bare LF": (400, b"GET / HTTP/1.1\nHost: localhost\n\n"),
    "one bare LF": (400, b"GET / HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n"),
    "a bare CR": (400, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n"),
    "obs-fold": (400, b"GET / HTTP/1.1\r\n" + OK + b"X: a\r\n b\r\n\r\n"),
    "NUL": (400, b"GET / HTTP/1.1\r\n" + OK + b"X: a\x00b\r\n\r\n"),
    "a space before the colon": (400, b"GET / HTTP/1.1\r\n" + OK + b"X : a\r\n\r\n"),
    "no colon": (400, b"GET / HTTP/1.1\r\n" + OK + b"nonsense\r\n\r\n"),
    "an empty name": (400, b"GET / HTTP/1.1\r\n" + OK + b": a\r\n\r\n"),
    "no Host": (400, b"GET / HTTP/1.1\r\n\r\n"),
    "two Hosts": (400, b"GET / HTTP/1.1\r\n" + OK + OK + b"\r\n"),
    "HTTP/1.0 with Transfer-Encoding": (400, b"POST / HTTP/1.0\r\n" + CHUNKED + b"0\r\n\r\n"),
    "chunked twice": (400, b"POST / HTTP/1.1\r\n" + OK + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
    "chunked with a parameter": (400, b"POST / HTTP/1.1\r\n" + OK + b"Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n"),
    "chunked not last": (400, b"POST / HTTP/1.1\r\n" + OK + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"),
    "an unknown coding": (501, b"POST / HTTP/1.1\r\n" + OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    "another unknown coding": (501, b"POST / HTTP/1.1\r\n" + OK + b"Transfer-Encoding: bogus\r\n\r\n"),
    "* with GET": (400, b"GET * HTTP/1.1\r\n" + OK + b"\r\n"),
    "no path": (400, b"GET path HTTP/1.1\r\n" + OK + b"\r\n"),
    "two blanks": (400, b"GET  / HTTP/1.1\r\n" + OK + b"\r\n"),
    "another protocol": (400, b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
    "HTTP/2": (505, b"GET / HTTP/2.0\r\n" + OK + b"\r\n"),
    "HTTP/3": (505, b"GET / HTTP/3.0\r\n" + OK + b"\r\n"),
}
FAULTY_BODIES = {
    "a bad size": b"zz\r\nabc\r\n0\r\n\r\n", "a signed size": b"+3\r\nabc\r\n0\r\n\r\n",
    "a size with 0x": b"0x3\r\nabc\r\n0\r\n\r\n", "a bare LF": b"3\nabc\n0\n\n", "no CRLF behind data": b"3\r\nabcX0\r\n\r\n",
    "an endless size": b"ffffffffffffffffff\r\n", "a long chunk line": b"3;" + b"e" * 300 + b"\r\nabc\r\n0\r\n\r\n",
    "a faulty trailer": b"0\r\nX : y\r\n\r\n",
}


@case
async def requests_that_can_be_read_in_two_ways_are_refused_in_order(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    for name, (status, data) in FAULTY.items():
        wire = await t.client(gateway)
        wire.send(data)
        response = await wire.response()
        check(response.status == status, f"{name}: {response}")
        error_of(response, status)
        check("close" in response.listed("Connection"), f"{name}: {response}")
        check(await wire.ended() == "fin", f"{name}: the answer ended in a reset")
        wire.close()
    check(not upstream.connections, "one reached an upstream")


@case
async def a_faulty_chunk_is_400_and_the_upstream_sees_a_cut_request(t):
    for name, body in FAULTY_BODIES.items():
        upstream = await t.upstream()
        gateway = await t.gateway(upstream)
        wire = await t.client(gateway)
        wire.send(b"POST / HTTP/1.1\r\n" + CHUNKED + body)
        response = await wire.response()
        check(response.status in (400, 431), f"{name}: {response}")
        for peer in upstream.connections:
            await peer.ended(10)
            check(not has_last_chunk(peer.buffer), f"{name}: completed towards the upstream")


@case
async def lengths_are_refused_just_above_their_bound(t):
    gateway = await t.gateway(await t.answering(), limits={"maxRequestLineBytes": 1000, "maxHeaderBytes": 4000,
                                                           "maxHeaders": 20})
    line = len(request_bytes(target="/").split(b"\r\n")[0])
    for target, status in (("/" + "a" * (900 - line), 200), ("/" + "a" * 1000, 414)):
        check((await t.ask(gateway, request_bytes(target=target))).status == status, f"{len(target)}: not {status}")
    for count, status in ((19, 200), (20, 431)):  # and Host
        fields = [(f"X-{n}", "v") for n in range(count)]
        check((await t.ask(gateway, request_bytes(fields=fields))).status == status, f"{count} fields: not {status}")
    for size, status in ((3000, 200), (4000, 431)):
        response = await t.ask(gateway, request_bytes(fields=[("X", "v" * size)]))
        check(response.status == status, f"{size} bytes of a field: {response}")
    body = b"POST / HTTP/1.1\r\n" + CHUNKED + b"0\r\n"
    check((await t.ask(gateway, body + b"T: v\r\n\r\n")).status == 200, "a trailer is refused")
    check((await t.ask(gateway, body + b"T: " + b"v" * 4000 + b"\r\n\r\n")).status == 431, "large trailers are not refused")


@case
async def what_is_allowed_is_understood(t):
    upstream = await t.answering()
    gateway = await t.gateway(upstream)
    rows = [b"GET / HTTP/1.1\r\nhost:localhost\r\n\r\n", b"GET / HTTP/1.1\r\nHost:  \t localhost \t\r\n\r\n",
            b"POST / HTTP/1.1\r\n" + OK + b"Transfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n",
            b"POST / HTTP/1.1\r\n" + OK + b"Content-Length: 0\r\n\r\n",
            b"POST / HTTP/1.1\r\n" + CHUNKED + b"00003;a=b;c=\"d\"\r\nabc\r\n000\r\n\r\n",
            b"X-METHOD /?a=/../b HTTP/1.1\r\n" + OK + b"\r\n", b"OPTIONS * HTTP/1.1\r\n" + OK + b"\r\n"]
    for data in rows:
        response = await t.ask(gateway, data)
        check(response.status in (200, 204), f"{data}: {response}")


@case
async def an_error_answer_says_what_it_is(t):
    gateway = await t.gateway(await t.upstream())
    response = await t.ask(gateway, b"GET /secret?token=hunter2 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
    error = error_of(response, 400, "bad_request")
    check("error=http_request_error" in response.get("Proxy-Status"), f"{response}")
    check("hunter2" not in response.body.decode() and "secret" not in response.body.decode(), "it quotes the request")
    check(response.get("X-Request-Id") == error["request_id"], f"{response}")
    check(response.get("Content-Length") == str(len(response.body)), f"{response}")
    check(await gateway.until(lambda: [x for x in gateway.exchanges() if x["request_id"] == error["request_id"]], 10),
          f"the log does not know its id: {gateway.log[-3:]}")


@case
async def an_error_answer_to_head_has_no_body(t):
    gateway = await t.gateway("http://127.0.0.1:9", limits={"upstreamRetries": 0})
    wire = await t.client(gateway)
    for _ in range(2):
        wire.send(request_bytes("HEAD", "/"))
        check((await wire.response("HEAD")).status == 502, "another status")
    await wire.quiet(0.2)


@case
async def an_error_of_the_upstreams_keeps_the_clients_connection(t):
    gateway = await t.gateway("http://127.0.0.1:9", limits={"upstreamRetries": 0})
    wire = await t.client(gateway)
    for method, body in (("GET", None), ("POST", b"body"), ("GET", None)):
        wire.send(request_bytes(method, "/", body=body))
        response = await wire.response(method)
        error_of(response, 502, "connection_refused")
        check("close" not in response.listed("Connection"), f"{response}")


@case
async def many_large_heads_in_small_pieces_are_understood(t):
    upstream = await t.answering(lambda r: response_bytes(str(len(r.raw)).encode()))
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    data = request_bytes("POST", "/p", [(f"X-{n}", "v" * 50) for n in range(60)], b"abc" * 50, chunked=True)
    for size in (1, 7, 113):
        begin = now()
        for at in range(0, len(data), size):
            wire.send(data[at:at + size])
            await asyncio.sleep(0)
            check(now() - begin < 40, "too slow")
        check((await wire.response()).status == 200, "not served")
