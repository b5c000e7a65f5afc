"""CONTRACT section 1, under shortage: who goes first, what a new connection is told, and no spinning."""

import asyncio

from support import PATIENT_POOL, case, check, error_of, now, request_bytes, response_bytes

GET = request_bytes(target="/now")


async def kept(t, gateway):
    wire = await t.client(gateway)
    wire.send(GET)
    await wire.response()
    return wire


async def serves(t, gateway):
    return (await t.ask(gateway, GET)).status == 200


@case
async def connections_that_never_sent_anything_go_first_and_the_oldest_of_them_first(t):
    gateway = await t.gateway(await t.answering(), limits={"maxConnections": 4})
    old_kept = await kept(t, gateway)
    old_fresh = await t.client(gateway)
    await asyncio.sleep(0.1)
    new_fresh = await t.client(gateway)
    await asyncio.sleep(0.1)
    new_kept = await kept(t, gateway)
    fifth = await kept(t, gateway)
    await old_fresh.ended()
    check(not (new_fresh.end or old_kept.end or new_kept.end), "another one went too")
    sixth = await kept(t, gateway)
    await new_fresh.ended()
    check(not (old_kept.end or new_kept.end), "a kept one went before a fresh one")
    seventh = await kept(t, gateway)
    await old_kept.ended()
    check(not (new_kept.end or fifth.end or sixth.end), "the oldest was not the first")
    seventh.send(GET)
    check((await seventh.response()).status == 200, "not served")


@case
async def when_all_are_busy_a_new_one_gets_503_and_nobody_is_hurt(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"maxConnections": 3})
    wires, peers = [], []
    for n in range(3):
        wire = await t.client(gateway)
        wire.send(request_bytes("POST", f"/{n}", body=b"x"))
        wires.append(wire)
        peers.append(await upstream.connection())
        await peers[-1].request()
    late = await t.client(gateway)
    late.send(GET)
    response = await late.response()
    error_of(response, 503, "connection_limit_reached", of_request=False)
    check("connection_limit_reached" in response.get("Proxy-Status"), f"{response}")
    check(response.get("Retry-After"), f"{response}")
    await late.ended()
    for wire, peer in zip(wires, peers):
        check(not wire.end, "a served client was closed")
        peer.send(response_bytes(b"served"))
        check((await wire.response()).body == b"served", "not served")


@case
async def after_the_shortage_all_is_well(t):
    upstream = await t.answering()
    gateway = await t.gateway(upstream, limits={"maxConnections": 2})
    half = []
    for _ in range(2):
        wire = await t.client(gateway)
        wire.send(b"GET / HTTP/1.1\r\n")  # in `head`: neither fresh nor kept
        half.append(wire)
    await asyncio.sleep(0.5)
    late = await t.client(gateway)
    late.send(GET)
    error_of(await late.response(), 503, of_request=False)
    for wire in half:
        wire.close()
    limit = now() + 15
    while now() < limit:
        if await serves(t, gateway):
            return
        await asyncio.sleep(0.1)
    check(False, "still 503 after the others had gone")


@case(seconds=90, threads=True)
async def few_descriptors_and_many_silent_clients_do_not_stop_a_normal_one(t):
    gateway = await t.gateway(await t.answering(), limits={"maxConnections": 100000}, start={"descriptors": 96})
    crowd = [await t.client(gateway) for _ in range(300)]
    for _ in range(10):
        check(await serves(t, gateway), "not served")
    check(sum(1 for wire in crowd if wire.end) >= 200, "the crowd was not shed")


@case(seconds=90)
async def when_descriptors_run_short_idle_pooled_connections_go_first(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"maxConnections": 100000}, upstream=PATIENT_POOL,
                              start={"descriptors": 90})
    wires = [await t.client(gateway) for _ in range(20)]
    for wire in wires:
        wire.send(GET)
    peers = [await upstream.connection() for _ in wires]
    for peer in peers:
        await peer.request()
        peer.send(response_bytes())
    for wire in wires:
        await wire.response()
        wire.close()
    crowd = []
    while not all(peer.end for peer in peers):
        check(len(crowd) < 90, "clients were shed before pooled connections")
        crowd.append(await t.client(gateway))
        await asyncio.sleep(0.05)
        pooled = sum(1 for peer in peers if not peer.end)
        check(not (pooled > 1 and any(wire.end for wire in crowd)), f"a client went before {pooled} pooled connections")


@case(seconds=90)
async def accept_does_not_spin_when_every_descriptor_serves(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"maxConnections": 100000}, start={"descriptors": 80})
    wires = []
    for n in range(60):
        wire = await t.client(gateway)
        wire.send(request_bytes("POST", f"/{n}", body=b"x"))
        wires.append(wire)
    await asyncio.sleep(1.0)
    used, begin = gateway.cpu_seconds(), now()
    await asyncio.sleep(2.0)
    share = (gateway.cpu_seconds() - used) / (now() - begin)
    check(share < 0.4, f"{share:.0%} of a core while nothing can be done")
    served = list(upstream.connections)
    check(len(served) >= 10, f"only {len(served)} exchanges with 80 descriptors")
    for peer in served:
        await peer.request()
        peer.send(response_bytes())
        peer.close()
    await asyncio.gather(*(wire.until(lambda wire=wire: b"\r\n\r\n" in wire.buffer, 5) for wire in wires))
    answers = sum(1 for wire in wires if wire.buffer.startswith(b"HTTP/1.1 200 "))
    check(answers >= len(served), f"{answers} answers of {len(served)} exchanges")


@case(seconds=120, threads=True, alone=True)
async def two_thousand_connections_at_once_are_all_served(t):
    gateway = await t.gateway(await t.answering())

    async def one(n):
        wire = await t.client(gateway)
        for _ in range(2):
            wire.send(GET)
            check((await wire.response(seconds=60)).status == 200, "not served")

    for begin in range(0, 2000, 500):
        await asyncio.gather(*(one(n) for n in range(begin, begin + 500)))


@case(seconds=90, alone=True)
async def squatters_go_by_their_budget_and_do_not_stop_others(t):
    gateway = await t.gateway(await t.answering(), limits={"idleTimeoutMs": 1500, "requestTimeoutMs": 1500,
                                                           "maxConnections": 5000})
    silent = [await t.client(gateway) for _ in range(500)]
    drippers = [await t.client(gateway) for _ in range(200)]
    begin = now()

    async def drip(wire):
        while not wire.end:
            wire.send(b"G")
            await asyncio.sleep(0.3)

    for wire in drippers:
        t.later(drip(wire))
    while now() - begin < 2.5:
        check(await serves(t, gateway), "a normal request failed")
        await asyncio.sleep(0.05)
    for wire in silent + drippers:
        await wire.ended(10)
