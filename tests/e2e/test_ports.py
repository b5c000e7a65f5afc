"""CONTRACT section 2, ports: in a network namespace of its own with a handful of them. The outer case starts this program
again inside, with the name of the file's cases."""

import asyncio
import itertools
import os
import sys
from pathlib import Path

from support import Skip, case, check, error_of, not_before, now, request_bytes, response_bytes

INSIDE = "E2E_WITH_FEW_PORTS"
PORTS = 24
FIRST = 40000
SETUP = (f"ip link set lo up && echo '{FIRST} {FIRST + PORTS - 1}' > /proc/sys/net/ipv4/ip_local_port_range && "
         "echo 0 > /proc/sys/net/ipv4/tcp_tw_reuse && exec \"$@\"")


def inside(function):
    return case(function, seconds=90, alone=True) if INSIDE in os.environ else function


SOURCES = itertools.cycle(range(2, 250))


async def client(t, gateway):
    """From an address of its own, so that the gateway has the ports of 127.0.0.1."""
    return await t.client(gateway, source=f"127.0.0.{next(SOURCES)}")


async def post(t, gateway, target="/w"):
    wire = await client(t, gateway)
    wire.send(request_bytes("POST", target, body=b"x"))
    response = await wire.response("POST")
    wire.reset()
    return response


async def many_posts(t, gateway, count):
    async def lane():
        wire = await client(t, gateway)
        for _ in range(count // 8):
            wire.send(request_bytes("POST", "/w", body=b"x"))
            response = await wire.response("POST")
            check(response.status == 200, f"{response}")
        wire.reset()

    await asyncio.gather(*(lane() for _ in range(8)))


@inside
async def many_writes_to_an_upstream_that_closes_use_no_port_up(t):
    upstream = None

    async def once(wire):
        upstream.note(wire, await wire.request())
        wire.send(response_bytes())

    upstream = await t.upstream(once, port=39000)
    gateway = await t.gateway(upstream, listen=["127.0.0.1:39001"])
    await many_posts(t, gateway, 2000)
    check(len(upstream.requests) == 2000, f"{len(upstream.requests)} deliveries")


@inside
async def many_writes_to_an_upstream_that_ignores_close_use_no_port_up(t):
    upstream = await t.answering(port=39000)
    gateway = await t.gateway(upstream, listen=["127.0.0.1:39001"], upstream={"closeWaitMs": 20})
    await many_posts(t, gateway, 200)  # each waits for a port until the sweep has reset another connection
    check(len(upstream.requests) == 200, f"{len(upstream.requests)} deliveries")


@inside
async def idle_pooled_connections_give_their_ports_up(t):
    upstream = await t.upstream(port=39000)
    gateway = await t.gateway(upstream, listen=["127.0.0.1:39001"], upstream={"idleTimeoutMs": 60000})
    wires = [await client(t, gateway) for _ in range(PORTS)]
    for wire in wires:
        wire.send(request_bytes(target="/g"))
    peers = [await upstream.connection() for _ in wires]
    for peer in peers:
        await peer.request()
        peer.send(response_bytes())
    for wire in wires:
        await wire.response()
    task = t.later(post(t, gateway))
    peer = await upstream.connection()
    await peer.request()
    peer.send(response_bytes())
    check((await task).status == 200, f"{task.result()}")


async def all_taken(t, **limits):
    upstream = await t.upstream(port=39000)
    gateway = await t.gateway(upstream, listen=["127.0.0.1:39001"], limits=limits)
    wires = [await client(t, gateway) for _ in range(PORTS)]
    for wire in wires:
        wire.send(request_bytes("POST", "/held", body=b"x"))
    peers = [await upstream.connection() for _ in wires]
    for peer in peers:
        await peer.request()
    return upstream, gateway, peers


@inside
async def a_request_waits_for_a_port(t):
    upstream, gateway, peers = await all_taken(t, connectTimeoutMs=14000)
    tasks = [t.later(post(t, gateway)) for _ in range(5)]
    await asyncio.sleep(0.5)
    used = gateway.cpu_seconds()
    await asyncio.sleep(1.5)
    check(gateway.cpu_seconds() - used < 0.5, "it spins while it waits")
    check(not any(task.done() for task in tasks), f"{[task.result() for task in tasks if task.done()]}")
    for peer in peers[:8]:
        peer.send(response_bytes(fields=[("Connection", "close")]))
        peer.close()
    for _ in tasks:
        peer = await upstream.connection()
        await peer.request()
        peer.send(response_bytes())
        peer.close()
    for task in tasks:
        check((await task).status == 200, f"{task.result()}")


@inside
async def a_request_that_waits_in_vain_is_503(t):
    _, gateway, _ = await all_taken(t, connectTimeoutMs=1000)
    begin = now()
    response = await post(t, gateway)
    error_of(response, 503, "connection_limit_reached")
    not_before(begin, now(), 1.0, "the 503")
    check("error=connection_limit_reached" in response.get("Proxy-Status"), f"{response}")
    check("details=" in response.get("Proxy-Status") and response.get("Retry-After"), f"{response}")
    check(response.get("x-should-retry") == "true", f"{response}")


if INSIDE not in os.environ:
    @case(seconds=300)
    async def with_a_handful_of_ports_nothing_fails_that_need_not(t):
        process = await asyncio.create_subprocess_exec(
            "unshare", "-n", "sh", "-c", SETUP, "sh", sys.executable, str(Path(__file__).with_name("run.py")), t.binary,
            "--only", "^ports:", "--no-kit", env={**os.environ, INSIDE: "1"}, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
        try:
            out = (await process.communicate())[0].decode("utf-8", "replace")
        except asyncio.CancelledError:
            process.kill()
            raise
        if " passed, " not in out:
            raise Skip(f"no network namespace here: {out.strip()[-100:]!r}")
        check(process.returncode == 0, "\n" + "\n".join(line for line in out.splitlines() if not line.startswith("ok")))
        check("5 passed" in out, out)
