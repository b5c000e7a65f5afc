"""CONTRACT section 2: which request goes out on which connection, and when a pooled one is given up."""

import asyncio

from support import LAST_CHUNK, PATIENT_POOL, case, check, chunk_bytes, not_before, now, request_bytes, \
    response_bytes

SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
UNSAFE = ("POST", "PUT", "PATCH", "DELETE", "PURGE", "QUERY")


async def warm(t, gateway, upstream, **fields):
    """A pooled connection that has carried one request: the upstream's end of it."""
    have = len(upstream.connections)
    client = await t.client(gateway)
    client.send(request_bytes(target="/warm"))
    peer = await upstream.connection() if len(upstream.connections) == have else upstream.connections[-1]
    await peer.request()
    peer.send(response_bytes(b"warm", fields=[(name.replace("_", "-"), value) for name, value in fields.items()]))
    check((await client.response()).body == b"warm", "not served")
    client.close()
    return peer


async def used_again(t, gateway, upstream, peer, target="/again"):
    """Whether the next safe request goes out on `peer`. It is answered either way."""
    client = await t.client(gateway)
    client.send(request_bytes(target=target))
    have = len(upstream.connections)
    await upstream.until(lambda: len(upstream.connections) > have or peer.buffer, 0.01)
    await peer.until(lambda: peer.buffer or len(upstream.connections) > have, 10)
    again = bool(peer.buffer)
    other = peer if again else await upstream.connection()
    await other.request()
    other.send(response_bytes(b"again"))
    check((await client.response()).body == b"again", "not served")
    client.close()
    return again


@case
async def safe_bodyless_requests_share_a_connection(t):
    upstream = await t.answering()
    gateway = await t.gateway(upstream, upstream=PATIENT_POOL)
    for number, method in enumerate(SAFE):
        response = await t.ask(gateway, request_bytes(method, f"/{method}"))
        check(response.status == 200, f"{method}: {response}")
        line = await gateway.exchange(f"/{method}")
        check(line["ordinal"] == number + 1, f"{line}")
        check(line["connection"] == ("pooled" if number else "new"), f"{line}")
    check(len(upstream.connections) == 1, "another connection was made")
    for request, _, _ in upstream.requests:
        check("close" not in request.listed("Connection"), f"{request}")


@case
async def unsafe_requests_always_take_a_new_connection_and_close_it(t):
    upstream = await t.answering()
    gateway = await t.gateway(upstream, upstream=PATIENT_POOL)
    await t.ask(gateway, request_bytes(target="/warm"))
    for method in UNSAFE:
        for fields in ([], [("Idempotency-Key", "7d3c"), ("X-Idempotency-Key", "7d3c")]):
            for body in (b"body", None):
                before = len(upstream.connections)
                response = await t.ask(gateway, request_bytes(method, "/w", fields, body))
                check(response.status == 200, f"{method}: {response}")
                request, number, ordinal = upstream.requests[-1]
                check((number, ordinal) == (before, 1), f"{method} went out on a used connection")
                check(request.listed("Connection") == ["close"], f"{request}")
    await t.ask(gateway, request_bytes(target="/last"))
    check(upstream.requests[-1][1:] == (0, 2), "the pool holds another connection")


@case
async def a_safe_method_with_a_body_is_unsafe(t):
    upstream = await t.answering()
    gateway = await t.gateway(upstream, upstream=PATIENT_POOL)
    await t.ask(gateway, request_bytes(target="/warm"))
    for method in ("GET", "HEAD", "OPTIONS"):
        for chunked in (False, True):
            await t.ask(gateway, request_bytes(method, "/b", body=b"body", chunked=chunked))
            request, number, ordinal = upstream.requests[-1]
            check(number > 0 and ordinal == 1, f"{method} with a body went out on a used connection")
            check(request.body == b"body", f"{request}")
    await t.ask(gateway, request_bytes(target="/zero", body=b""))
    check(upstream.requests[-1][1:] == (0, 2), "Content-Length: 0 makes a request unsafe")


@case
async def the_most_recently_used_connection_is_taken_first(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, upstream=PATIENT_POOL)
    clients, peers = [], []
    for n in range(3):
        clients.append(await t.client(gateway))
        clients[n].send(request_bytes(target=f"/{n}"))
        peers.append(await upstream.connection())
        await peers[n].request()
    for n in (2, 0, 1):
        peers[n].send(response_bytes())
        await clients[n].response()
    check(await used_again(t, gateway, upstream, peers[1]), "another one was taken")
    check(await used_again(t, gateway, upstream, peers[1]), "another one was taken")


@case
async def a_pooled_connection_is_reset_at_its_idle_timeout(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, upstream={"idleTimeoutMs": 1200})
    peer = await warm(t, gateway, upstream)
    begin = now()
    check(await peer.reset_by_peer(), "closed with a FIN: the port is ours in TIME_WAIT")
    not_before(begin, peer.end_at, 1.15, "the close")


@case
async def the_upstreams_hint_less_a_second_shortens_the_idle_timeout(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    peer = await warm(t, gateway, upstream, Keep_Alive="timeout=2, max=100")
    begin = now()
    await peer.ended()
    not_before(begin, peer.end_at, 0.95, "the close")
    check(peer.end_at - begin < 3.5, "the hint was not taken")


@case
async def a_hint_of_one_second_or_less_is_not_pooled(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    for hint in ("timeout=1", "timeout=0"):
        peer = await warm(t, gateway, upstream, Keep_Alive=hint)
        check(not await used_again(t, gateway, upstream, peer), f"{hint}: pooled")
        await asyncio.sleep(0)
        await upstream.connections[-1].ended(15)


@case
async def an_idle_connection_that_ends_is_thrown_away(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    for how in ("fin", "reset"):
        peer = await warm(t, gateway, upstream)
        getattr(peer, how)()
        if how == "fin":
            await peer.ended(5)
        client = await t.client(gateway)
        client.send(request_bytes(target="/next"))
        other = await upstream.connection()
        await other.request()
        other.send(response_bytes())
        check((await client.response()).status == 200, "not served")
        other.reset()


@case
async def a_stray_byte_on_an_idle_connection_throws_it_away(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    peer = await warm(t, gateway, upstream)
    peer.send(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
    await peer.ended(5)
    check(not await used_again(t, gateway, upstream, peer), "used all the same")
    check(await gateway.until(lambda: [x for x in gateway.log if x["event"] == "upstream_stray_bytes"], 5), "not logged")


@case
async def bytes_behind_a_response_throw_the_connection_away(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    client = await t.client(gateway)
    client.send(request_bytes(target="/1"))
    peer = await upstream.connection()
    await peer.request()
    peer.send(response_bytes(b"one") + response_bytes(b"poison"))
    check((await client.response()).body == b"one", "not served")
    client.send(request_bytes(target="/2"))
    other = await upstream.connection()
    await other.request()
    other.send(response_bytes(b"two"))
    check((await client.response()).body == b"two", "a stray response was taken")
    await peer.ended(5)


@case
async def an_upstream_that_says_close_is_not_used_again(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    peer = await warm(t, gateway, upstream, Connection="close")
    check(not await used_again(t, gateway, upstream, peer), "used all the same")
    await peer.ended(5)


@case
async def an_http_1_0_upstream_is_not_used_again_without_keep_alive(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    client = await t.client(gateway)
    client.send(request_bytes())
    peer = await upstream.connection()
    await peer.request()
    peer.send(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok")
    check((await client.response()).body == b"ok", "not served")
    check(not await used_again(t, gateway, upstream, peer), "used all the same")


@case
async def max_idle_bounds_the_pool(t):
    for bound in (0, 1):
        upstream = await t.upstream()
        gateway = await t.gateway(upstream, upstream={"maxIdle": bound})
        clients = [await t.client(gateway) for _ in range(3)]
        for client in clients:
            client.send(request_bytes())
        peers = [await upstream.connection() for _ in clients]
        for peer in peers:
            await peer.request()
            peer.send(response_bytes())
        for client in clients:
            await client.response()
        for _ in range(200):
            if sum(1 for peer in peers if peer.end) >= 3 - bound:
                break
            await asyncio.sleep(0.01)
        check(sum(1 for peer in peers if peer.end) == 3 - bound, f"maxIdle {bound}: {[p.end for p in peers]}")
        await asyncio.sleep(0.3)
        check(sum(1 for peer in peers if peer.end) == 3 - bound, f"maxIdle {bound}: {[p.end for p in peers]}")


@case
async def a_connection_is_taken_only_after_the_whole_response(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    client, second = await t.client(gateway), await t.client(gateway)
    client.send(request_bytes(target="/long"))
    peer = await upstream.connection()
    await peer.request()
    peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk_bytes(b"a"))
    await client.response_head()
    second.send(request_bytes(target="/other"))
    other = await upstream.connection()
    await other.request()
    other.send(response_bytes(b"other"))
    check((await second.response()).body == b"other", "a long stream made another request wait")
    peer.send(LAST_CHUNK)


@case
async def an_upstream_seen_to_close_early_is_let_go_of_earlier(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    for _ in range(3):
        peer = await warm(t, gateway, upstream)
        await asyncio.sleep(1.2)
        peer.close()
        await asyncio.sleep(0.3)
    peer = await warm(t, gateway, upstream)
    begin = now()
    await peer.ended(10)
    check(peer.end_at - begin < 3.0, f"let go of after {peer.end_at - begin:.2f} s only")
    check(await gateway.until(lambda: [x for x in gateway.log if x["event"] == "upstream_closes_early"], 5), "not logged")


# --- close wait: who holds the port

@case
async def after_an_unsafe_exchange_the_upstreams_fin_is_awaited(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    client = await t.client(gateway)
    client.send(request_bytes("POST", "/w", body=b"x"))
    peer = await upstream.connection()
    await peer.request()
    peer.send(response_bytes())
    check((await client.response()).status == 200, "the answer waits for the upstream's FIN")
    await peer.quiet(0.5)
    peer.fin()
    check(await peer.ended(5) == "fin", "reset although the upstream closed first")
    peer.close()


@case
async def an_upstream_that_ignores_connection_close_is_reset_after_close_wait(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, upstream={"closeWaitMs": 700})
    client = await t.client(gateway)
    client.send(request_bytes("POST", "/w", body=b"x"))
    peer = await upstream.connection()
    await peer.request()
    begin = now()
    peer.send(response_bytes())
    await client.response()
    check(await peer.reset_by_peer(), "closed with a FIN: the port is ours in TIME_WAIT")
    not_before(begin, peer.end_at, 0.7, "the reset")


@case
async def an_abandoned_attempt_is_reset(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    client = await t.client(gateway)
    client.send(request_bytes("POST", "/w", body=b"x"))
    peer = await upstream.connection()
    await peer.request()
    client.reset()
    check(await peer.reset_by_peer(5), "closed with a FIN: the port is ours in TIME_WAIT")
