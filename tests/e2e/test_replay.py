"""CONTRACT sections 2 and 7: what is sent again, and what never."""

import asyncio

from support import PATIENT_POOL, case, check, error_of, request_bytes, response_bytes
from support.upstream import Upstream

SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
UNSAFE = (("POST", b"x"), ("PUT", b"x"), ("PATCH", b"x"), ("DELETE", None), ("PURGE", None), ("GET", b"x"), ("POST", None))


class Scripted(Upstream):
    """Answers /warm; for anything else does what `deed(wire, request, ordinal)` does, then closes unless it says stay."""

    def __init__(self, deed):
        super().__init__(self.play)
        self.deed = deed

    async def play(self, wire):
        while await wire.until(lambda: wire.buffer or wire.end, 3600) and wire.buffer:
            request = await wire.request()
            ordinal = self.note(wire, request)
            if request.target == "/warm":
                wire.send(response_bytes(b"warm"))
            elif not self.deed(wire, request, ordinal):
                return


async def behind(t, deed, **settings):
    upstream = await t.listening(Scripted(deed))
    gateway = await t.gateway(upstream, upstream=PATIENT_POOL, **settings)
    await t.ask(gateway, request_bytes(target="/warm"))
    return gateway, upstream


def dies_on_used(wire, request, ordinal):
    if ordinal > 1:
        return False
    wire.send(response_bytes(b"" if request.method == "HEAD" else b"alive"))
    return True


def dies(wire, request, ordinal):
    return False


@case
async def a_safe_request_on_a_stale_connection_is_sent_again_once_on_a_new_one(t):
    for method in SAFE:
        gateway, upstream = await behind(t, dies_on_used)
        response = await t.ask(gateway, request_bytes(method, "/x"))
        check(response.status == 200, f"{method}: {response}")
        check([entry[1:] for entry in upstream.requests[1:]] == [(0, 2), (1, 1)], f"{method}: {upstream.requests}")
        line = await gateway.exchange("/x")
        check((line["attempts"], line["connection"], line["ordinal"]) == (2, "new", 1), f"{line}")


@case
async def a_safe_request_is_sent_twice_at_most(t):
    gateway, upstream = await behind(t, dies)
    response = await t.ask(gateway, request_bytes(target="/x"))
    error_of(response, 502, "connection_terminated")
    check(upstream.deliveries("/x") == 2, f"{upstream.deliveries('/x')} deliveries")
    check(response.get("x-should-retry") is None, f"said of a safe request: {response}")


@case
async def an_unsafe_request_whose_fate_is_unknown_is_sent_once_and_said_to_be_so(t):
    for method, body in UNSAFE:
        for fields in ([], [("Idempotency-Key", "7d3c")]):
            gateway, upstream = await behind(t, dies)
            response = await t.ask(gateway, request_bytes(method, "/x", fields, body))
            error_of(response, 502, "connection_terminated")
            check(response.get("x-should-retry") == "false", f"{method}: {response}")
            await asyncio.sleep(0.2)
            check(upstream.deliveries("/x") == 1, f"{method}: {upstream.deliveries('/x')} deliveries")


@case
async def an_unsafe_request_never_meets_a_stale_connection(t):
    for method, body in UNSAFE:
        gateway, upstream = await behind(t, dies_on_used)
        response = await t.ask(gateway, request_bytes(method, "/x", body=body))
        check(response.status == 200, f"{method}: {response}")
        check(upstream.deliveries("/x") == 1, f"{method}: {upstream.requests}")


@case
async def nothing_is_sent_again_after_a_byte_of_the_response(t):
    for piece in (b"H", b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 103 Early Hints\r\n\r\n",
                  b"HTTP/1.1 100 Continue\r\n\r\n"):
        def deed(wire, request, ordinal, piece=piece):
            wire.send(piece)
            return False

        gateway, upstream = await behind(t, deed)
        error_of(await t.ask(gateway, request_bytes(target="/x")), 502)
        check(upstream.deliveries("/x") == 1, f"{piece}: {upstream.deliveries('/x')} deliveries")


@case
async def a_reset_on_a_used_connection_is_replayed_too(t):
    def deed(wire, request, ordinal):
        if ordinal > 1:
            wire.reset()
            return False
        wire.send(response_bytes(b"alive"))
        return True

    gateway, upstream = await behind(t, deed)
    check((await t.ask(gateway, request_bytes(target="/x"))).body == b"alive", "not served")
    check(upstream.deliveries("/x") == 2, f"{upstream.requests}")


@case
async def a_408_that_closes_a_used_connection_is_a_stale_connection(t):
    def deed(wire, request, ordinal):
        if ordinal == 1:
            wire.send(response_bytes(b"alive"))
            return True
        wire.send(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        return False

    gateway, upstream = await behind(t, deed)
    check((await t.ask(gateway, request_bytes(target="/x"))).body == b"alive", "not replayed")
    check(upstream.deliveries("/x") == 2, f"{upstream.requests}")


@case
async def any_other_408_is_a_response(t):
    closes = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    stays = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"
    late = b"HTTP/1.1 103 Early Hints\r\n\r\n" + closes
    for name, answer, request in (("new", closes, request_bytes("POST", "/x", body=b"x")), ("stays", stays, None),
                                  ("late", late, None)):
        def deed(wire, request, ordinal, answer=answer):
            wire.send(answer)
            return False

        gateway, upstream = await behind(t, deed)
        response = await t.ask(gateway, request or request_bytes(target="/x"))
        check(response.status == 408 and not response.body, f"{name}: {response}")
        check(upstream.deliveries("/x") == 1, f"{name}: {upstream.requests}")


@case
async def a_408_on_a_new_connection_is_a_response_to_a_safe_request_too(t):
    def deed(wire, request, ordinal):
        wire.send(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        return False

    upstream = await t.listening(Scripted(deed))
    gateway = await t.gateway(upstream)
    check((await t.ask(gateway, request_bytes(target="/x"))).status == 408, "not forwarded")
    check(upstream.deliveries("/x") == 1, f"{upstream.requests}")


@case
async def a_response_is_never_retried_whatever_its_status(t):
    for status in (429, 500, 502, 503, 504):
        def deed(wire, request, ordinal, status=status):
            wire.send(response_bytes(b"mine", f"{status} So", [("Retry-After", "7")]))
            return True

        gateway, upstream = await behind(t, deed)
        response = await t.ask(gateway, request_bytes(target="/x"))
        check((response.status, response.body, response.get("Retry-After")) == (status, b"mine", "7"), f"{response}")
        check(upstream.deliveries("/x") == 1, f"{upstream.requests}")


@case
async def a_silence_is_never_retried(t):
    def deed(wire, request, ordinal):
        return True

    gateway, upstream = await behind(t, deed, limits={"upstreamTimeoutMs": 700})
    response = await t.ask(gateway, request_bytes(target="/x"))
    error_of(response, 504, "http_response_timeout")
    check(upstream.deliveries("/x") == 1, f"{upstream.requests}")
    response = await t.ask(gateway, request_bytes("POST", "/y", body=b"x"))
    error_of(response, 504, "http_response_timeout")
    check(response.get("x-should-retry") == "false", f"{response}")
    check(upstream.deliveries("/y") == 1, f"{upstream.requests}")


@case(seconds=120)
async def safe_requests_never_fail_by_an_upstream_that_closes_when_it_likes(t):
    """I13: the upstream closes its idle connections at the very time at which they are used again."""
    upstream = None

    async def play(wire):
        while True:
            alive = await wire.until(lambda: wire.buffer or wire.end, 0.12)
            if not alive or not wire.buffer:
                return
            request = await wire.request()
            upstream.note(wire, request)
            wire.send(response_bytes(request.target.encode()))

    upstream = await t.upstream(play)
    gateway = await t.gateway(upstream)

    async def one(lane):
        wire = await t.client(gateway)
        for n in range(40):
            wire.send(request_bytes(target=f"/{lane}/{n}"))
            response = await wire.response()
            check(response.body == f"/{lane}/{n}".encode(), f"{response}")
            await asyncio.sleep(0.11 + 0.001 * (n % 20))

    await asyncio.gather(*(one(lane) for lane in range(16)))
    for target in {request.target for request, _, _ in upstream.requests}:
        check(upstream.deliveries(target) <= 2, f"{target}: {upstream.deliveries(target)}")


@case(seconds=120)
async def unsafe_requests_are_delivered_exactly_once_to_an_upstream_that_closes_when_it_likes(t):
    upstream = None

    async def play(wire):
        request = await wire.request()
        upstream.note(wire, request)
        wire.send(response_bytes(request.target.encode()))
        if hash(request.target) % 2:
            await wire.until(lambda: wire.end, 0.02)

    upstream = await t.upstream(play)
    gateway = await t.gateway(upstream)

    async def one(lane):
        wire = await t.client(gateway)
        for n in range(60):
            wire.send(request_bytes("POST", f"/{lane}/{n}", body=b"x"))
            response = await wire.response()
            check(response.body == f"/{lane}/{n}".encode(), f"{response}")

    await asyncio.gather(*(one(lane) for lane in range(16)))
    targets = [request.target for request, _, _ in upstream.requests]
    check(len(targets) == len(set(targets)) == 960, f"{len(targets)} deliveries of {len(set(targets))} requests")
