"""CONTRACT sections 4 and 8: routes by path, and paths that are one thing as written and another when decoded."""

from support import case, check, error_of, request_bytes, response_bytes


async def three(t, **settings):
    """A gateway with /, /v1/ and /v1/admin on three upstreams that answer with their names."""
    upstreams = {}
    for name in ("web", "api", "admin"):
        upstreams[name] = (await t.answering(lambda r, name=name: response_bytes(f"{name} {r.target}".encode()))).url
    routes = [{"path": "/v1/admin", "upstream": "admin"}, {"path": "/", "upstream": "web"},
              {"path": "/v1/", "upstream": "api"}]
    return await t.gateway("", upstreams=upstreams, routes=routes, **settings)


@case
async def the_longest_path_wins_on_segment_borders(t):
    gateway = await three(t)
    rows = {"/": "web", "/v1/": "api", "/v1/x": "api", "/v1/?x=1": "api", "/v1x": "web", "/v1/admin": "admin",
            "/v1/admin/": "admin", "/v1/admin/x?y": "admin", "/v1/administrator": "api", "/V1/": "web", "/v": "web"}
    for target, name in rows.items():
        response = await t.ask(gateway, request_bytes(target=target))
        check(response.body == f"{name} {target}".encode(), f"{target}: {response}")


@case
async def a_path_that_no_route_covers_is_404(t):
    upstream = await t.answering()
    gateway = await t.gateway(upstream, routes=[{"path": "/v1/", "upstream": "u"}])
    response = await t.ask(gateway, request_bytes(target="/v2/x"))
    error_of(response, 404, "no_route")
    check((await t.ask(gateway, request_bytes(target="/v1/x"))).status == 200, "not served")


@case
async def path_and_query_are_forwarded_byte_for_byte(t):
    gateway = await three(t)
    for target in ("/a%20b/%C3%A9?q=%2F&r=a+b&s=//x/../y", "/x;p=1,2/@:!$&'()*+=~-._", "/?", "/a/?", "/caf%e9", "/%41",
                   "/a//b", "/a/./b", "/a/../b", "/a%2Fb", "/a%2e%2e/b"):
        response = await t.ask(gateway, request_bytes(target=target))
        check(response.body == f"web {target}".encode(), f"{target}: {response}")


@case
async def a_path_that_leads_elsewhere_once_decoded_is_400(t):
    gateway = await three(t)
    rows = ("/x/../v1/admin", "/v1/../", "/v1/..", "/v1/%2e%2e/x", "/v1/%2E./x", "/v1%2Fadmin", "/v1/x%2F..%2Fadmin",
            "/v1/x/../admin/y", "//v1/admin", "/v1//admin", "/v1/./admin", "/x/..%2fv1/y", "/v1/a/%2e%2e/admin")
    for target in rows:
        response = await t.ask(gateway, request_bytes(target=target))
        check(response.status == 400, f"{target}: {response}")


@case
async def max_forwards_counts_down_and_zero_is_answered_here(t):
    upstream = await t.answering()
    gateway = await t.gateway(upstream)
    for method in ("OPTIONS", "TRACE"):
        response = await t.ask(gateway, request_bytes(method, "/", [("Max-Forwards", "0")]))
        check(response.status in (200, 204, 405, 501), f"{method}: {response}")
        check(not upstream.requests, f"{method} with 0 was forwarded")
    await t.ask(gateway, request_bytes("OPTIONS", "/", [("Max-Forwards", "7")]))
    check(upstream.requests[-1][0].get("Max-Forwards") == "6", f"{upstream.requests[-1]}")
    await t.ask(gateway, request_bytes("GET", "/", [("Max-Forwards", "0")]))
    check(upstream.requests[-1][0].method == "GET", "it counts for GET")


@case
async def options_of_the_whole_server_is_forwarded_as_such(t):
    upstream = await t.answering()
    gateway = await t.gateway(upstream)
    response = await t.ask(gateway, request_bytes("OPTIONS", "*"))
    check(response.status == 200, f"{response}")
    check(upstream.requests[0][0].target == "*", f"{upstream.requests[0]}")
