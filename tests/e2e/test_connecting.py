"""CONTRACT section 2: while nothing was submitted, connecting goes on; addresses, names, sockets, sources."""

import asyncio
import os
import socket

from support import PATIENT_POOL, Skip, case, check, error_of, not_before, now, request_bytes, response_bytes
from support.upstream import free_port

QUICK = {"upstreamRetries": 0}


@case
async def an_upstream_that_refuses_is_502_and_the_log_names_address_and_errno(t):
    upstream = await t.upstream()
    upstream.stop_listening()
    gateway = await t.gateway(upstream, limits=QUICK)
    response = await t.ask(gateway, request_bytes("POST", "/x", body=b"x"))
    error_of(response, 502, "connection_refused")
    check("error=connection_refused" in response.get("Proxy-Status"), f"{response}")
    check(response.get("x-should-retry") == "true", f"nothing was submitted: {response}")
    line = await gateway.exchange("/x")
    check(str(upstream.port) in line["endpoint"] and line["errno"] == 111, f"{line}")
    check(line["attempts"] == 0 and line["side"] == "upstream", f"{line}")


@case
async def connecting_is_tried_again_with_backoff_for_unsafe_requests_too(t):
    port = free_port()
    gateway = await t.gateway(f"http://127.0.0.1:{port}", limits={"upstreamRetries": 60, "retryBackoffMs": 20})
    tasks = [t.later(t.ask(gateway, request_bytes(method, "/x", body=body)))
             for method, body in (("GET", None), ("POST", b"x"))]
    await asyncio.sleep(0.6)
    check(not any(task.done() for task in tasks), "given up")
    upstream = await t.answering(port=port)
    for task in tasks:
        check((await task).status == 200, f"{task.result()}")
    check(len(upstream.requests) == 2, f"{upstream.requests}")


@case
async def after_the_last_retry_it_is_502(t):
    upstream = await t.upstream()
    upstream.stop_listening()
    gateway = await t.gateway(upstream, limits={"upstreamRetries": 2, "retryBackoffMs": 50})
    error_of(await t.ask(gateway, request_bytes(target="/x")), 502, "connection_refused")
    line = await gateway.exchange("/x")
    check(line["connect_rounds_failed"] == 3, f"{line}")
    retries = [x for x in gateway.log if x["event"] == "connect_retry"]
    check(len(retries) == 2, f"{retries}")


@case
async def an_upstream_that_comes_back_is_used_at_once(t):
    port = free_port()
    gateway = await t.gateway(f"http://127.0.0.1:{port}", limits=QUICK)
    error_of(await t.ask(gateway, request_bytes()), 502)
    await t.answering(port=port)
    check((await t.ask(gateway, request_bytes())).status == 200, "not served")


class Full:
    """A listener whose queue is full: connects to it are neither accepted nor refused."""

    def __init__(self):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(0)
        self.port = self.listener.getsockname()[1]
        self.fillers = []

    async def fill(self):
        loop = asyncio.get_running_loop()
        for _ in range(8):
            sock = socket.socket()
            sock.setblocking(False)
            try:
                await asyncio.wait_for(loop.sock_connect(sock, ("127.0.0.1", self.port)), 0.3)
            except asyncio.TimeoutError:
                sock.close()
                return self
            self.fillers.append(sock)
        self.close()
        raise Skip("this kernel lets connects into a full queue")

    async def accept(self):
        """The first connection that is not one of those that filled the queue."""
        loop = asyncio.get_running_loop()
        ours = {sock.getsockname() for sock in self.fillers}
        self.listener.setblocking(False)
        while True:
            peer, address = await asyncio.wait_for(loop.sock_accept(self.listener), 12)
            self.fillers.append(peer)
            if address not in ours:
                return peer

    def close(self):
        for sock in [self.listener, *self.fillers]:
            sock.close()


@case
async def a_connect_that_hangs_is_504_and_not_retried(t):
    full = await Full().fill()
    try:
        gateway = await t.gateway(f"http://127.0.0.1:{full.port}", limits={"connectTimeoutMs": 800})
        begin = now()
        response = await t.ask(gateway, request_bytes("POST", "/x", body=b"x"))
        error_of(response, 504, "connection_timeout")
        not_before(begin, now(), 0.8, "the 504")
        check(response.get("x-should-retry") == "true", f"{response}")
        check("error=connection_timeout" in response.get("Proxy-Status"), f"{response}")
        check(not [x for x in gateway.log if x["event"] == "connect_retry"], "retried")
    finally:
        full.close()


@case
async def while_there_is_no_connection_the_upload_has_no_clock(t):
    full = await Full().fill()
    try:
        gateway = await t.gateway(f"http://127.0.0.1:{full.port}",
                                  limits={"connectTimeoutMs": 14000, "requestTimeoutMs": 1000,
                                          "minUploadBytesPerSecond": 0})
        wire = await t.client(gateway)
        wire.send(b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\na")
        await wire.quiet(2.0)
        loop = asyncio.get_running_loop()
        peer = await full.accept()
        wire.send(b"b")
        data = b""
        while not data.endswith(b"ab"):
            data += await asyncio.wait_for(loop.sock_recv(peer, 4096), 10)
        await loop.sock_sendall(peer, response_bytes())
        check((await wire.response()).status == 200, "not served")
    finally:
        full.close()


@case
async def localhost_is_found_whether_it_listens_on_one_family_or_the_other(t):
    for host in ("127.0.0.1", "::1"):
        try:
            upstream = await t.answering(host=host)
        except OSError as error:
            raise Skip(f"no {host} here: {error}") from error
        gateway = await t.gateway(f"http://localhost:{upstream.port}", limits=QUICK)
        for method, body in (("GET", None), ("POST", b"x")):
            response = await t.ask(gateway, request_bytes(method, "/x", body=body))
            check(response.status == 200, f"{host}: {response}")


@case
async def an_ipv6_literal_is_reached(t):
    try:
        upstream = await t.answering(host="::1")
    except OSError as error:
        raise Skip(f"no ::1 here: {error}") from error
    gateway = await t.gateway(upstream, limits=QUICK)
    check((await t.ask(gateway, request_bytes(target="/x"))).status == 200, "not served")
    check(upstream.requests[0][0].get("Host") == f"[::1]:{upstream.port}", f"{upstream.requests}")
    check((await gateway.exchange("/x"))["endpoint"] == f"[::1]:{upstream.port}", "another endpoint in the log")


@case
async def a_unix_socket_is_reached(t):
    upstream = await t.answering(path=os.path.join(t.directory, "up.sock"))
    gateway = await t.gateway(upstream, upstream=PATIENT_POOL)
    for method, body in (("GET", None), ("POST", b"x"), ("GET", None)):
        response = await t.ask(gateway, request_bytes(method, "/x?y=1", body=body))
        check(response.status == 200, f"{response}")
    check([entry[2] for entry in upstream.requests] == [1, 1, 2], "not pooled as TCP is")
    check(upstream.requests[0][0].get("Host") == "localhost", f"{upstream.requests}")
    check(upstream.path in (await gateway.exchange("/x"))["endpoint"], "another endpoint in the log")


@case
async def a_unix_socket_that_is_not_there_is_502(t):
    gateway = await t.gateway(f"unix:{t.directory}/absent.sock", limits=QUICK)
    response = await t.ask(gateway, request_bytes(target="/x"))
    check(response.status == 502, f"{response}")
    check((await gateway.exchange("/x"))["errno"] == 2, "another errno in the log")


@case
async def a_name_that_does_not_resolve_is_502(t):
    gateway = await t.gateway("http://no-such-name.invalid:80", limits=QUICK)
    response = await t.ask(gateway, request_bytes("POST", "/x", body=b"x"))
    if response.status == 504:
        raise Skip("the resolver of this machine does not answer")
    error_of(response, 502, "dns_error")
    check(response.get("x-should-retry") == "true", f"{response}")


@case
async def connections_are_spread_over_source_addresses(t):
    upstream = await t.answering()
    gateway = await t.gateway(upstream, upstream={"sourceAddresses": ["127.0.0.2", "127.0.0.3"]})
    for _ in range(4):
        check((await t.ask(gateway, request_bytes("POST", "/x", body=b"x"))).status == 200, "not served")
    sources = {peer.transport.get_extra_info("peername") for peer in upstream.connections}
    check({host for host, _ in sources} == {"127.0.0.2", "127.0.0.3"}, f"{sources}")


@case
async def a_request_that_comes_round_again_is_508(t):
    port = free_port()
    gateway = await t.gateway(f"http://127.0.0.1:{port}", listen=[f"127.0.0.1:{port}"])
    response = await t.ask(gateway, request_bytes(target="/round"))
    error_of(response, 508, "proxy_loop_detected")
    check(len(gateway.exchanges("/round")) <= 2, "it went round more than once")


@case
async def two_gateways_in_a_row_are_no_loop(t):
    upstream = await t.answering()
    inner = await t.gateway(upstream)
    outer = await t.gateway(f"http://127.0.0.1:{inner.port}")
    check((await t.ask(outer, request_bytes(target="/row"))).status == 200, "taken for a loop")
    via = upstream.requests[0][0].listed("Via")
    check(len(via) == 2 and via[0] != via[1], f"Via: {via}")


@case
async def the_pool_is_released_with_the_gateway(t):
    upstream = await t.answering()
    gateway = await t.gateway(upstream, upstream={"idleTimeoutMs": 60000})
    clients = [await t.client(gateway) for _ in range(5)]
    for client in clients:
        client.send(request_bytes())
    for client in clients:
        await client.response()
        client.close()
    await gateway.stop()
    for peer in upstream.connections:
        await peer.ended(5)
