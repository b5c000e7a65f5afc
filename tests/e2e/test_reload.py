"""CONTRACT section 5: reload. A faulty file changes nothing and says why; a good one serves new exchanges; running ones
finish undisturbed; listeners stay."""

import asyncio
import json
import os
import signal

from support import CHUNKED_HEAD, LAST_CHUNK, PATIENT_POOL, case, check, chunk_bytes, configuration, \
    error_of, now, request_bytes, response_bytes

GET = request_bytes(target="/now")
UPGRADE = request_bytes(target="/ws", fields=[("Connection", "Upgrade"), ("Upgrade", "websocket")])
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
ENDS = ("reloaded", "reload_failed", "reload_ignored")


def events(gateway, *names):
    return [line for line in gateway.log if line.get("event") in names]


async def reload(gateway, config=None):
    """Has the gateway read its file again, with other words in it if they are given; the log's line that tells how it
    went."""
    if config is not None:
        with open(gateway.path, "w", encoding="utf-8") as file:
            file.write(config if isinstance(config, str) else json.dumps(config, indent=1))
    before = len(events(gateway, *ENDS))
    gateway.signal(signal.SIGHUP)
    check(await gateway.until(lambda: len(events(gateway, *ENDS)) > before), f"no word of it: {gateway.log[-3:]}")
    return events(gateway, *ENDS)[before]


async def reloaded(gateway, config=None):
    line = await reload(gateway, config)
    check(line["event"] == "reloaded", f"{line} {gateway.log[-3:]}")
    return line


async def two(t, **settings):
    """(gateway in front of the first, first upstream, second upstream, settings with the second)"""
    first, second = await t.upstream(), await t.answering()
    gateway = await t.gateway(first, **settings)
    return gateway, first, second, configuration(second, **settings)


@case(threads=True)
async def a_good_file_serves_new_exchanges_also_of_connections_that_were_open(t):
    first, second = await t.answering(), await t.answering(lambda _: response_bytes(b"second"))
    gateway = await t.gateway(first, workers=2)
    wire = await t.client(gateway)
    wire.send(GET)
    check((await wire.response()).body == b"ok", "not the first upstream")
    line = await reloaded(gateway, configuration(second, workers=2))
    check(line["changes"] == 1 and first.url in line["changed"] and second.url in line["changed"], f"{line}")
    wire.send(GET)
    check((await wire.response()).body == b"second", "not the second upstream")
    for _ in range(8):  # whichever worker takes it
        check((await t.ask(gateway, GET)).body == b"second", "not the second upstream")
    check(first.deliveries("/now") == 1, "the first was asked again")


@case(threads=True)
async def a_faulty_file_changes_nothing_and_every_fault_is_told_with_its_place(t):
    first = await t.answering()
    gateway = await t.gateway(first)
    line = await reload(gateway, '{\n "listen": "127.0.0.1:0",\n "upstreams": {"u": "http://127.0.0.1:9"},\n'
                                 ' "limits": {"idleTimeoutMs": 0,\n  "graceMS": 1}\n}')
    check(line["event"] == "reload_failed" and line["faults"] == 2, f"{line}")
    faults = [line["detail"] for line in events(gateway, "reload_fault")]
    name = gateway.path
    check(len(faults) == 2 and faults[0].startswith(f"{name}:4:30: ") and faults[1].startswith(f"{name}:5:3: "),
          f"{faults}")
    check("graceMs" in faults[1], f"{faults}")
    check((await t.ask(gateway, GET)).status == 200, "not served")
    for text in ("", "{", "[]"):
        check((await reload(gateway, text))["event"] == "reload_failed", "taken")
    os.unlink(gateway.path)
    line = await reload(gateway)
    check(line["event"] == "reload_failed", f"{line}")
    check("No such file" in events(gateway, "reload_fault")[-1]["detail"], f"{events(gateway, 'reload_fault')}")
    check((await t.ask(gateway, GET)).status == 200, "not served")
    line = await reloaded(gateway, configuration(first, limits={"graceMs": 29000}))
    check(line["changed"] == "limits.graceMs: 30000 -> 29000", f"{line}")


@case(threads=True)
async def a_running_stream_goes_on_while_its_upstream_changes(t):
    gateway, first, second, other = await two(t)
    wire = await t.client(gateway)
    wire.send(GET)
    peer = await first.connection()
    await peer.request()
    peer.send(CHUNKED_HEAD)
    await wire.response_head()
    await reloaded(gateway, other)
    first.stop_listening()
    for n in range(5):
        await asyncio.sleep(0.2)
        peer.send(chunk_bytes(b"%d" % n))
        check(await wire.chunk() == b"%d" % n, "cut")
    check(not peer.end, "its upstream connection was ended")
    peer.send(LAST_CHUNK)
    check(await wire.chunk() == b"", "cut")
    await wire.trailers()
    await peer.ended(2)  # long before its time in the pool would be over
    wire.send(GET)
    check((await wire.response()).status == 200, "not served on")
    check(second.deliveries("/now") == 1, "not by the second upstream")


@case(threads=True)
async def an_upload_goes_on_while_its_upstream_and_its_bound_change(t):
    gateway, first, second, other = await two(t)
    wire = await t.client(gateway)
    wire.send(request_bytes("POST", "/up", fields=[("Content-Length", "100000")]) + b"a" * 50000)
    peer = await first.connection()
    head = await peer.request_head()
    check(await peer.take(50000) == b"a" * 50000, "not forwarded")
    await reloaded(gateway, {**other, "limits": {"maxBodyBytes": 10, "requestTimeoutMs": 100}})
    await asyncio.sleep(0.5)
    wire.send(b"b" * 50000)
    check(await peer.take(50000) == b"b" * 50000, "not forwarded")
    check("close" in head.listed("Connection"), f"{head}")
    peer.send(response_bytes(b"stored"))
    check((await wire.response("POST")).body == b"stored", "not answered")
    check(len(second.connections) == 0, "the second upstream was connected to")
    check((await t.ask(gateway, request_bytes("POST", "/up", body=b"x" * 11))).status == 413, "the new bound")


@case(threads=True)
async def a_tunnel_goes_on_while_its_upstream_changes(t):
    gateway, first, _, other = await two(t)
    wire = await t.client(gateway)
    wire.send(UPGRADE)
    peer = await first.connection()
    await peer.request()
    peer.send(SWITCH)
    check((await wire.response()).status == 101, "no tunnel")
    await reloaded(gateway, {**other, "limits": {"tunnelIdleTimeoutMs": 100}})
    await asyncio.sleep(1.5)
    for n in range(10):
        wire.send(b"ping %d;" % n)
        await peer.take_until(b"ping %d;" % n)
        peer.send(b"pong %d;" % n)
        await wire.take_until(b"pong %d;" % n)
    wire.fin()
    check(await peer.ended() == "fin", "half-close is not passed on")
    peer.fin()
    check(await wire.ended() == "fin", "half-close is not passed on")


@case
async def pooled_connections_stay_where_nothing_changed_and_go_where_something_did(t):
    a, b = await t.answering(), await t.answering()
    config = configuration(a, upstream=PATIENT_POOL, upstreams={"a": a.url, "b": b.url},
                           routes=[{"path": "/a", "upstream": "a"}, {"path": "/b", "upstream": "b"}])
    gateway = await t.gateway(config)
    for target in ("/a", "/b"):
        check((await t.ask(gateway, request_bytes(target=target))).status == 200, "not served")
    pooled_a, pooled_b = await a.connection(), await b.connection()
    config["upstreams"] = {"b": {"url": b.url, "maxIdle": 3}, "a": a.url + "/v2"}
    await reloaded(gateway, config)
    await pooled_b.ended(2)
    for target in ("/a", "/b"):
        check((await t.ask(gateway, request_bytes(target=target))).status == 200, "not served")
    check(len(a.connections) == 1 and not pooled_a.end, "the pool of an upstream that stayed was emptied")
    check(a.deliveries("/v2/a") == 1, f"the new prefix: {a.requests}")
    check(len(b.connections) == 2, "a pooled connection of other settings was used")


@case
async def what_needs_a_restart_is_told_and_the_rest_takes_effect(t):
    first = await t.answering()
    gateway = await t.gateway(first, workers=2, admin="127.0.0.1:0")
    config = configuration(first, workers=1, listen=["127.0.0.1:0", "127.0.0.1:9"],
                           limits={"idleTimeoutMs": 200, "backlog": 7})
    wire = await t.client(gateway)
    line = await reloaded(gateway, config)
    check(line["changed"] == "limits.idleTimeoutMs: 60000 -> 200", f"{line}")
    told = {line["key"]: line for line in events(gateway, "needs_restart")}
    check(set(told) == {"listen", "admin", "workers", "limits.backlog"}, f"{told}")
    check(told["workers"]["old"] == "2" and told["workers"]["new"] == "1", f"{told}")
    check(all(line["level"] == "warning" and "needs a restart" in line["detail"] for line in told.values()), f"{told}")
    check(await wire.ended(5) == "fin", "the new idle timeout")
    admin = await gateway.admin()
    admin.send(request_bytes(target="/healthz"))
    check((await admin.response()).status == 200, "the admin listener is gone")
    admin.close()
    check((await t.ask(gateway, GET)).status == 200, "not served")
    await reloaded(gateway)
    check(len(events(gateway, "needs_restart")) == 8, "not told again")


@case
async def environment_and_command_line_win_again(t):
    first = await t.answering()
    path = os.path.join(t.directory, "given.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(configuration(first), file)
    gateway = await t.run(None, environment={"HUSHGATE_MAX_BODY_BYTES": "5"},
                          arguments=["serve", "-c", path, "--set", "limits.graceMs=123"])
    gateway.path = path
    line = await reloaded(gateway, configuration(first, limits={"maxBodyBytes": 50, "graceMs": 7, "lingerBytes": 8}))
    check(line["changed"] == "limits.lingerBytes: 262144 -> 8", f"{line}")
    check((await t.ask(gateway, request_bytes("POST", body=b"123456"))).status == 413, "the environment's bound")


@case
async def without_a_file_there_is_nothing_to_reload(t):
    first = await t.answering()
    gateway = await t.run(None, arguments=["serve", "--listen", "127.0.0.1:0", "--upstream", first.url])
    line = await reload(gateway)
    check(line["event"] == "reload_ignored" and "no file to reload" in line["detail"], f"{line}")
    check((await t.ask(gateway, GET)).status == 200, "not served")


@case(threads=True)
async def more_connections_are_let_in_once_a_reload_allows_them(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"maxConnections": 1})
    busy = await t.client(gateway)
    busy.send(request_bytes("POST", "/long", body=b"x"))
    peer = await upstream.connection()
    await peer.request()
    error_of(await t.ask(gateway, GET), 503, "connection_limit_reached", of_request=False)
    await reloaded(gateway, configuration(upstream, limits={"maxConnections": 2}))
    second = await t.client(gateway)
    second.send(GET)
    other = await upstream.connection()
    await other.request()
    for wire in (peer, other):
        wire.send(response_bytes(b"served"))
    check((await busy.response("POST")).body == b"served" and (await second.response()).body == b"served", "not served")


@case(threads=True)
async def while_stopping_a_reload_is_ignored(t):
    gateway, first, _, other = await two(t)
    wire = await t.client(gateway)
    wire.send(request_bytes("POST", "/long", body=b"x"))
    peer = await first.connection()
    await peer.request()
    gateway.signal(signal.SIGTERM)
    check(await gateway.until(lambda: events(gateway, "stopping")), "it does not stop")
    line = await reload(gateway, other)
    check(line["event"] == "reload_ignored" and "stopping" in line["detail"], f"{line}")
    peer.send(response_bytes(b"finished"))
    check((await wire.response("POST")).body == b"finished", "not served")
    wire.close()
    check(await gateway.ended() == 0, f"exit code {gateway.exit_code}")


@case(seconds=120, threads=True)
async def reloads_one_behind_the_other_harm_nobody_and_leave_nothing(t):
    first, second = await t.answering(), await t.answering()
    settings = {"workers": 2, "limits": {"graceMs": 5000}}
    gateway = await t.gateway(first, **settings)
    configs = [configuration(second, **settings), configuration(first, **settings)]
    done, failed = [], []
    descriptors = gateway.descriptors()

    async def client(method, body):
        wire = await t.client(gateway)
        while not over.is_set():
            wire.send(request_bytes(method, f"/{method}", body=body))
            response = await wire.response(method)
            (done if response.status == 200 else failed).append(response)
        wire.close()

    over = asyncio.Event()
    clients = [asyncio.ensure_future(client(*one)) for one in [("GET", None), ("POST", b"x")] * 4]
    for n in range(100):
        await reloaded(gateway, configs[n % 2])
    over.set()
    results = await asyncio.gather(*clients, return_exceptions=True)
    faults = [result for result in results if isinstance(result, BaseException)]
    check(not faults and not failed, f"{faults[:3]} {failed[:3]}")
    check(len(done) > 100, f"only {len(done)} exchanges")
    limit = now() + 20  # closeWaitMs of the last POSTs, and the pool's timeout
    while gateway.descriptors() > descriptors and now() < limit:
        await asyncio.sleep(0.1)
    check(gateway.descriptors() == descriptors, f"{descriptors} descriptors became {gateway.descriptors()}")
