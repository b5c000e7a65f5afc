"""CONTRACT sections 2 and 4: Host, hop-by-hop fields, X-Forwarded-*, Via, X-Request-Id, prefixes."""

import re

from support import PATIENT_POOL, case, check, request_bytes, response_bytes


async def seen(t, request, answer=None, **settings):
    """(the request as an upstream saw it, the response as its client saw it)"""
    upstream = await t.answering(answer)
    gateway = await t.gateway(upstream, **settings)
    response = await t.ask(gateway, request)
    check(upstream.requests, f"not forwarded: {response}")
    return upstream.requests[-1][0], response, upstream, gateway


@case
async def the_upstreams_authority_is_the_host_by_default(t):
    request, _, upstream, _ = await seen(t, request_bytes(host="shop.example:8080"))
    check(request.get("Host") == f"127.0.0.1:{upstream.port}", f"{request}")
    check(request.get("X-Forwarded-Host") == "shop.example:8080", f"{request}")


@case
async def the_clients_host_is_sent_if_that_is_wanted(t):
    request, _, _, _ = await seen(t, request_bytes(host="shop.example:8080"), upstream={"host": "client"})
    check(request.get("Host") == "shop.example:8080", f"{request}")


@case
async def the_authority_of_an_absolute_target_replaces_host(t):
    request, _, _, _ = await seen(t, request_bytes(target="http://real.example/p?q=1", host="other.example"),
                                  upstream={"host": "client"})
    check(request.get("Host") == "real.example" and request.target == "/p?q=1", f"{request}")
    request, _, _, _ = await seen(t, request_bytes(target="http://real.example", host="other.example"))
    check(request.target == "/" and request.get("X-Forwarded-Host") == "real.example", f"{request}")


@case
async def a_path_in_the_upstreams_url_is_a_prefix(t):
    upstream = await t.answering()
    gateway = await t.gateway(f"{upstream.url}/base/v2")
    for target, wanted in (("/", "/base/v2/"), ("/a/b?c=/d", "/base/v2/a/b?c=/d"), ("/?x", "/base/v2/?x")):
        await t.ask(gateway, request_bytes(target=target))
        check(upstream.requests[-1][0].target == wanted, f"{target}: {upstream.requests[-1][0].target}")


@case
async def an_untrusted_clients_claims_are_replaced(t):
    fields = [("X-Forwarded-For", "1.2.3.4"), ("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "evil.example"),
              ("X-Request-Id", "mine")]
    request, _, _, _ = await seen(t, request_bytes(fields=fields, host="shop.example"))
    check(request.get("X-Forwarded-For") == "127.0.0.1", f"{request}")
    check(request.get("X-Forwarded-Proto") == "http", f"{request}")
    check(request.get("X-Forwarded-Host") == "shop.example", f"{request}")
    check(request.get("X-Request-Id") not in (None, "mine"), f"{request}")


@case
async def a_trusted_proxys_claims_are_kept_and_appended_to(t):
    fields = [("X-Forwarded-For", "1.2.3.4"), ("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "shop.example"),
              ("X-Request-Id", "theirs")]
    request, response, _, gateway = await seen(t, request_bytes(fields=fields, host="inner.example"),
                                               client={"trustedProxies": ["127.0.0.0/8"]})
    check(request.listed("X-Forwarded-For") == ["1.2.3.4", "127.0.0.1"], f"{request}")
    check(request.listed("X-Forwarded-Proto")[0] == "https", f"{request}")
    check(request.listed("X-Forwarded-Host")[0] == "shop.example", f"{request}")
    check(request.get("X-Request-Id") == "theirs", f"{request}")
    check((await gateway.exchange("/"))["request_id"] == "theirs", "another id in the log")


@case
async def every_request_has_an_id_of_its_own_which_the_log_names(t):
    upstream = await t.answering()
    gateway = await t.gateway(upstream)
    for n in range(20):
        await t.ask(gateway, request_bytes(target=f"/{n}"))
    ids = [request.get("X-Request-Id") for request, _, _ in upstream.requests]
    check(len(set(ids)) == 20 and all(ids), f"{ids}")
    for n in range(20):
        check((await gateway.exchange(f"/{n}"))["request_id"] == ids[n], "another id in the log")


@case
async def via_is_added_both_ways_and_what_stood_there_stays(t):
    request, response, _, _ = await seen(t, request_bytes(fields=[("Via", "1.0 fred")]),
                                         lambda r: response_bytes(fields=[("Via", "1.1 inner")]))
    check(request.listed("Via")[0] == "1.0 fred" and len(request.listed("Via")) == 2, f"{request}")
    check(re.fullmatch(r"1\.1 \S+", request.listed("Via")[1]), f"{request}")
    check("1.1 inner" in response.listed("Via") and len(response.listed("Via")) == 2, f"{response}")


@case
async def hop_by_hop_fields_end_here(t):
    fields = [("Connection", "X-Mine, keep-alive"), ("X-Mine", "1"), ("Keep-Alive", "timeout=5"), ("TE", "gzip"),
              ("Proxy-Connection", "keep-alive"), ("Upgrade", "h2c"), ("HTTP2-Settings", "AAMAAABk"), ("X-Kept", "1")]
    answer = [("Connection", "X-Theirs"), ("X-Theirs", "1"), ("Keep-Alive", "timeout=9"), ("Proxy-Connection", "close"),
              ("X-Kept", "2")]
    request, response, _, _ = await seen(t, request_bytes(fields=fields), lambda r: response_bytes(fields=answer))
    for name in ("X-Mine", "Keep-Alive", "Proxy-Connection", "Upgrade", "HTTP2-Settings"):
        check(not request.all(name), f"{name} was forwarded: {request}")
    check("gzip" not in request.listed("TE"), f"{request}")
    check(request.get("X-Kept") == "1", f"{request}")
    for name in ("X-Theirs", "Keep-Alive", "Proxy-Connection"):
        check(not response.all(name), f"{name} was forwarded: {response}")
    check(response.get("X-Kept") == "2", f"{response}")


@case
async def connection_can_not_remove_framing_or_what_is_added(t):
    named = "Content-Length, Transfer-Encoding, Host, X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host, Via, X-Request-Id"
    for chunked in (False, True):
        request, response, _, _ = await seen(
            t, request_bytes("POST", "/", [("Connection", named)], b"body", chunked=chunked),
            lambda r: response_bytes(b"answer", fields=[("Connection", "Content-Length, Transfer-Encoding, Via")]))
        check(request.body == b"body", f"{request}")
        for name in ("Host", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "Via", "X-Request-Id"):
            check(request.get(name), f"{name} was removed: {request}")
        check(response.body == b"answer" and response.all("Via"), f"{response}")


@case
async def a_closing_client_does_not_close_the_upstream_connection(t):
    upstream = await t.answering()
    gateway = await t.gateway(upstream, upstream=PATIENT_POOL)
    for _ in range(3):
        await t.ask(gateway, request_bytes(fields=[("Connection", "close")]))
    check([entry[1:] for entry in upstream.requests] == [(0, 1), (0, 2), (0, 3)], f"{upstream.requests}")


@case
async def a_closing_upstream_does_not_close_the_client(t):
    upstream = await t.answering(lambda r: response_bytes(fields=[("Connection", "close")]))
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    for _ in range(3):
        wire.send(request_bytes())
        response = await wire.response()
        check("close" not in response.listed("Connection"), f"{response}")
    check(len(upstream.connections) == 3, "a closing connection was used again")


@case
async def te_trailers_is_forwarded(t):
    request, _, _, _ = await seen(t, request_bytes(fields=[("TE", "trailers"), ("Connection", "TE")]))
    check(request.listed("TE") == ["trailers"], f"{request}")
