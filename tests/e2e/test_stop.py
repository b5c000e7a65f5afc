"""CONTRACT section 5: stop. Everything begun ends or is cut at the grace's end, and the process exits with 0."""

import asyncio
import os
import signal

from support import CHUNKED_HEAD, LAST_CHUNK, Fault, case, check, chunk_bytes, connect, has_last_chunk, \
    not_before, now, request_bytes, response_bytes
from support.upstream import free_port

GET = request_bytes(target="/now")


async def refused(gateway, seconds=10):
    """Waits until the listener is closed."""
    limit = now() + seconds
    while now() < limit:
        try:
            wire = await connect(*gateway.addresses[0])
        except OSError:
            return
        wire.close()
        await asyncio.sleep(0.02)
    raise Fault("the listener is still open")


async def under_way(t, **settings):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, **settings)
    wire = await t.client(gateway)
    wire.send(request_bytes("POST", "/long", body=b"x"))
    peer = await upstream.connection()
    await peer.request()
    return gateway, wire, peer


@case(threads=True)
async def an_idle_gateway_stops_at_once_on_both_signals(t):
    for number in (signal.SIGTERM, signal.SIGINT):
        gateway = await t.gateway(await t.answering())
        await t.ask(gateway, GET)
        begin = now()
        gateway.signal(number)
        check(await gateway.ended() == 0, f"exit code {gateway.exit_code}")
        check(now() - begin < 5, "it waited for nothing")


@case(threads=True)
async def a_running_exchange_is_finished_with_connection_close(t):
    gateway, wire, peer = await under_way(t)
    gateway.signal(signal.SIGTERM)
    await refused(gateway)
    peer.send(response_bytes(b"finished"))
    response = await wire.response()
    check(response.body == b"finished", f"{response}")
    check("close" in response.listed("Connection"), f"no Connection: close: {response}")
    check(await wire.ended() == "fin", "the answer ended in a reset")
    wire.close()
    check(await gateway.ended() == 0, f"exit code {gateway.exit_code}")


@case(threads=True)
async def a_running_stream_goes_on_until_its_end(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    wire.send(GET)
    peer = await upstream.connection()
    await peer.request()
    peer.send(CHUNKED_HEAD)
    await wire.response_head()
    gateway.signal(signal.SIGTERM)
    await refused(gateway)
    for n in range(5):
        await asyncio.sleep(0.4)
        peer.send(chunk_bytes(b"%d" % n))
        check(await wire.chunk() == b"%d" % n, "cut")
    peer.send(LAST_CHUNK)
    check(await wire.chunk() == b"", "cut")
    await wire.trailers()
    check(await wire.ended() == "fin", "the stream ended in a reset")
    wire.close()
    check(await gateway.ended() == 0, f"exit code {gateway.exit_code}")


@case
async def an_upload_under_way_is_finished(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    wire.send(b"PUT /up HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nab")
    peer = await upstream.connection()
    await peer.request_head()
    gateway.signal(signal.SIGTERM)
    await refused(gateway)
    wire.send(b"cd")
    check(await peer.take(4) == b"abcd", "another body")
    peer.send(response_bytes())
    check("close" in (await wire.response()).listed("Connection"), "no Connection: close")
    wire.close()
    check(await gateway.ended() == 0, f"exit code {gateway.exit_code}")


@case(threads=True)
async def a_kept_connection_stays_a_second_and_a_request_on_it_is_served(t):
    gateway = await t.gateway(await t.answering())
    silent, busy, fresh = await t.client(gateway), await t.client(gateway), await t.client(gateway)
    for wire in (silent, busy):
        wire.send(GET)
        check("close" not in (await wire.response()).listed("Connection"), "closed before the stop")
    begin = now()
    gateway.signal(signal.SIGTERM)
    await refused(gateway)
    busy.send(GET)
    response = await busy.response()
    check(response.status == 200 and "close" in response.listed("Connection"), f"{response}")
    check(await busy.ended() == "fin", "the answer ended in a reset")
    busy.close()
    check(await silent.ended() == "fin", "a kept connection was reset")
    not_before(begin, silent.end_at, 0.95, "the kept connection's end")
    await fresh.ended()
    silent.close()
    fresh.close()
    check(await gateway.ended() == 0, f"exit code {gateway.exit_code}")


@case(threads=True)
async def what_remains_at_the_graces_end_is_cut(t):
    gateway, wire, peer = await under_way(t, limits={"graceMs": 1500})
    begin = now()
    gateway.signal(signal.SIGTERM)
    await wire.ended()
    not_before(begin, wire.end_at, 1.45, "the cut")
    await peer.ended()
    check(await gateway.ended(10) == 0, f"exit code {gateway.exit_code}")


@case(threads=True)
async def a_second_signal_cuts_at_once(t):
    gateway, wire, peer = await under_way(t)
    gateway.signal(signal.SIGTERM)
    await refused(gateway)
    await wire.quiet(0.5)
    gateway.signal(signal.SIGINT)
    check(await gateway.ended(10) == 0, f"exit code {gateway.exit_code}")
    await wire.ended(5)
    await peer.ended(5)


@case
async def a_cut_stream_does_not_look_complete(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"graceMs": 500})
    for answer in (CHUNKED_HEAD + chunk_bytes(b"a"), b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na"):
        wire = await t.client(gateway)
        wire.send(GET)
        peer = await upstream.connection()
        await peer.request()
        peer.send(answer)
        await wire.take_until(b"a")
    ten = await t.client(gateway)
    ten.send(request_bytes(version="1.0"))
    peer = await upstream.connection()
    await peer.request()
    peer.send(CHUNKED_HEAD + chunk_bytes(b"a"))
    await ten.take_until(b"\r\n\r\na")
    gateway.signal(signal.SIGTERM)
    check("rst" in await ten.ended(), "a close-delimited response was cut with a FIN")
    await wire.ended()
    check(not has_last_chunk(wire.buffer), "it looks complete")
    check(await gateway.ended(10) == 0, f"exit code {gateway.exit_code}")


@case
async def a_tunnel_is_cut_at_the_graces_end(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"graceMs": 1000})
    wire = await t.client(gateway)
    wire.send(request_bytes(fields=[("Connection", "upgrade"), ("Upgrade", "websocket")]))
    peer = await upstream.connection()
    await peer.request()
    peer.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
    await wire.response()
    gateway.signal(signal.SIGTERM)
    await asyncio.sleep(0.3)
    wire.send(b"still")
    check(await peer.take(5) == b"still", "cut before the grace's end")
    await wire.ended()
    await peer.ended()
    check(await gateway.ended(10) == 0, f"exit code {gateway.exit_code}")


@case(threads=True, seconds=90)
async def connections_that_the_kernel_had_queued_are_served(t):
    """A client whose connect succeeded before the stop is not reset by it, whether a worker or the stop comes first."""
    upstream = await t.answering()
    gateway = await t.gateway(upstream)
    for _ in range(3):
        await t.ask(gateway, GET)
    os.kill(gateway.pid, signal.SIGSTOP)
    wires = [await t.client(gateway) for _ in range(30)]
    for wire in wires:
        wire.send(GET)
    os.kill(gateway.pid, signal.SIGTERM)
    os.kill(gateway.pid, signal.SIGCONT)
    for wire in wires:
        response = await wire.response()
        check(response.status == 200, f"{response}")
        wire.close()
    check(await gateway.ended() == 0, f"exit code {gateway.exit_code}")


@case(threads=True, seconds=120)
async def a_stop_under_load_loses_nothing_that_was_begun(t):
    upstream = await t.answering(lambda r: response_bytes(r.target.encode()))
    gateway = await t.gateway(upstream)
    served, begun = 0, []

    async def one(lane):
        nonlocal served
        wire = await t.client(gateway)
        for n in range(10_000):
            method = "POST" if n % 3 == 0 else "GET"
            wire.send(request_bytes(method, f"/{lane}/{n}", body=b"x" if n % 3 == 0 else None))
            if not await wire.until(lambda: wire.buffer or wire.end):
                raise Fault("neither served nor closed")
            if not wire.buffer:
                begun.append((wire.end, n))
                return
            response = await wire.response(method)
            check(response.body == f"/{lane}/{n}".encode(), f"{response}")
            served += 1
            if "close" in response.listed("Connection"):
                check(await wire.ended() == "fin", "the answer ended in a reset")
                wire.close()
                return

    lanes = [t.later(one(lane)) for lane in range(40)]
    await upstream.until(lambda: len(upstream.requests) > 2000, 60)
    gateway.signal(signal.SIGTERM)
    await asyncio.gather(*lanes)
    check(not begun, f"{len(begun)} requests on kept connections were not served: {begun[:3]}")
    check(await gateway.ended() == 0, f"exit code {gateway.exit_code}")
    check(served >= 1000, f"only {served} served")


@case(threads=True, seconds=90)
async def a_stop_with_many_idle_and_silent_connections_ends(t):
    gateway = await t.gateway(await t.answering(), limits={"graceMs": 5000})
    wires = [await t.client(gateway) for _ in range(300)]
    for n, wire in enumerate(wires):
        if n % 3 == 1:
            wire.send(GET)
            await wire.response()
        elif n % 3 == 2:
            wire.send(b"GET / HTTP/1.1\r\nHost")
    gateway.signal(signal.SIGTERM)
    check(await gateway.ended(30) == 0, f"exit code {gateway.exit_code}")
    for wire in wires:
        await wire.ended(5)


@case
async def a_start_is_refused_where_another_process_listens(t):
    upstream = await t.answering()
    port = free_port()
    first = await t.gateway(upstream, listen=[f"127.0.0.1:{port}"])
    try:
        await t.gateway(upstream, listen=[f"127.0.0.1:{port}"], start={"read_log": True})
    except Fault as fault:
        second = t.gateways.pop()
        check(second.exit_code == 1, f"exit code {second.exit_code}: {fault}")
        words = " ".join(second.said + second.strange + [str(line) for line in second.log])
        check(str(port) in words, f"it does not say where: {words}")
    else:
        check(False, "started all the same")
    check((await t.ask(first, GET)).status == 200, "the first one was hurt")


@case
async def the_port_is_free_again_behind_a_stop(t):
    upstream = await t.answering()
    port = free_port()
    for _ in range(3):
        gateway = await t.gateway(upstream, listen=[f"127.0.0.1:{port}"])
        check((await t.ask(gateway, GET)).status == 200, "not served")
        await gateway.stop()


@case
async def a_deaf_upstream_in_close_wait_does_not_hold_up_the_stop(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, upstream={"closeWaitMs": 30000})
    wire = await t.client(gateway)
    wire.send(request_bytes("POST", "/w", body=b"x"))
    peer = await upstream.connection()
    await peer.request()
    peer.send(response_bytes())
    await wire.response()
    wire.close()
    begin = now()
    gateway.signal(signal.SIGTERM)
    check(await gateway.ended() == 0, f"exit code {gateway.exit_code}")
    check(now() - begin < 5, "it waited for an upstream")
