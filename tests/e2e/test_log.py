"""The access log: a line per exchange, and what the operational lines say."""

import asyncio
import re
import signal

from support import CHUNKED_HEAD, case, check, chunk_bytes, now, request_bytes, response_bytes


@case(threads=True)
async def an_exchange_is_told_in_full(t):
    upstream = await t.answering(lambda r: response_bytes(b"seven b"))
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    wire.send(request_bytes("POST", "/told?secret=1", body=b"four"))
    response = await wire.response()
    line = await gateway.exchange("/told")
    check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"]), f"{line}")
    check(line["level"] == "info" and line["request_id"], f"{line}")
    check(line["client"] == "%s:%d" % wire.transport.get_extra_info("sockname")[:2], f"{line}")
    check((line["method"], line["path"], line["status"]) == ("POST", "/told", 200), f"{line}")
    check((line["request_bytes"], line["response_bytes"]) == (4, 7), f"{line}")
    for name in ("receiving_ms", "serving_ms", "sending_ms", "total_ms"):
        check(isinstance(line[name], (int, float)) and line[name] >= 0, f"{name}: {line}")
    check(line["upstream"] == "u" and line["endpoint"] == f"127.0.0.1:{upstream.port}", f"{line}")
    check((line["connection"], line["ordinal"], line["attempts"]) == ("new", 1, 1), f"{line}")
    check(line["end"] == "complete" and "side" not in line, f"{line}")
    check("secret" not in str(line), f"the query is in the log: {line}")
    check(response.status == 200, f"{response}")


@case
async def the_turns_add_up_to_who_was_slow(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    wire = await t.client(gateway)
    wire.send(b"POST /turns HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\na")
    peer = await upstream.connection()
    await peer.request_head()
    await asyncio.sleep(0.5)
    wire.send(b"b")
    await peer.take(2)
    await asyncio.sleep(1.0)
    peer.send(response_bytes())
    await wire.response()
    line = await gateway.exchange("/turns")
    check(450 <= line["receiving_ms"] <= 900 + line["total_ms"] - 1500, f"{line}")
    check(950 <= line["serving_ms"] <= 1400 + line["total_ms"] - 1500, f"{line}")
    check(line["receiving_ms"] + line["serving_ms"] + line["sending_ms"] <= line["total_ms"] + 5, f"{line}")


@case
async def ends_and_sides_are_told(t):
    upstream = await t.upstream()
    gateway = await t.gateway(upstream, limits={"requestTimeoutMs": 800, "upstreamTimeoutMs": 1500})
    wire = await t.client(gateway)
    wire.send(request_bytes(target="/client-gone"))
    await (await upstream.connection()).request()
    wire.reset()
    line = await gateway.exchange("/client-gone")
    check((line["status"], line["end"], line["side"]) == (0, "client_gone", "client"), f"{line}")

    wire = await t.client(gateway)
    wire.send(request_bytes(target="/lost"))
    peer = await upstream.connection()
    await peer.request()
    peer.send(CHUNKED_HEAD + chunk_bytes(b"a"))
    await wire.take_until(b"a")
    peer.reset()
    line = await gateway.exchange("/lost")
    check((line["status"], line["end"], line["side"]) == (200, "connection_terminated", "upstream"), f"{line}")
    check(line["response_bytes"] == 1, f"{line}")

    wire = await t.client(gateway)
    wire.send(b"POST /late HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\na")
    await wire.response()
    line = await gateway.exchange("/late")
    check((line["status"], line["end"], line["side"]) == (408, "request_timeout", "client"), f"{line}")
    check(line["request_bytes"] == 1, f"{line}")

    wire = await t.client(gateway)
    wire.send(request_bytes(target="/silent"))
    await wire.response()
    line = await gateway.exchange("/silent")
    check((line["status"], line["end"], line["side"]) == (504, "http_response_timeout", "upstream"), f"{line}")


@case
async def each_exchange_has_one_line(t):
    gateway = await t.gateway(await t.answering())
    wire = await t.client(gateway)
    wire.send(b"".join(request_bytes(target=f"/{n}") for n in range(50)) + b"nonsense\r\n\r\n")
    for _ in range(51):
        await wire.response()
    wire.close()
    await t.ask(gateway, request_bytes(target="/last"))
    await gateway.exchange("/last")
    for n in range(50):
        check(len(gateway.exchanges(f"/{n}")) == 1, f"{len(gateway.exchanges(f'/{n}'))} lines for /{n}")
    check(len([x for x in gateway.exchanges() if x["status"] == 400]) == 1, "no line for the refused request")


@case
async def what_a_client_sends_can_not_forge_a_line(t):
    gateway = await t.gateway(await t.answering(), client={"trustedProxies": ["127.0.0.1"]})
    for fields in ([("X-Request-Id", 'a","status":1,"x":"')], [("X-Request-Id", "caf\u00e9")]):
        check((await t.ask(gateway, request_bytes("GET", "/%22%0d%0a{}", fields))).status == 200, "not served")
    check(await gateway.until(lambda: len(gateway.exchanges("/%22%0d%0a{}")) == 2, 10), f"{gateway.log} {gateway.strange}")


@case
async def what_is_swept_is_told(t):
    gateway = await t.gateway(await t.answering(), limits={"idleTimeoutMs": 500, "requestTimeoutMs": 500})
    silent, dripping = await t.client(gateway), await t.client(gateway)
    dripping.send(b"GET")
    await dripping.response()
    await silent.ended()
    swept = lambda: [line for line in gateway.log if line["event"] == "swept"]  # noqa: E731
    check(await gateway.until(lambda: len(swept()) >= 2, 10), f"{gateway.log}")
    for line in swept()[:2]:
        check(line["client"] and line["phase"] and line["clock"], f"{line}")


@case(threads=True, seconds=120)
async def a_log_that_nobody_reads_holds_nobody_up(t):
    gateway = await t.gateway(await t.answering(), start={"read_log": False})

    async def one():
        wire = await t.client(gateway)
        for _ in range(150):
            wire.send(request_bytes(target="/" + "p" * 1000))
            check((await wire.response()).status == 200, "not served")
        wire.close()

    begin = now()
    await asyncio.gather(*(one() for _ in range(20)))
    check(now() - begin < 60, "held up")
    gateway.read_log()
    gateway.signal(signal.SIGTERM)
    check(await gateway.ended() == 0, f"exit code {gateway.exit_code}")


@case(threads=True)
async def lines_of_many_workers_do_not_mix(t):
    gateway = await t.gateway(await t.answering(), workers=4)

    async def one(lane):
        wire = await t.client(gateway)
        for n in range(40):
            wire.send(request_bytes(target=f"/{lane}/{n}"))
            await wire.response()
        wire.close()

    await asyncio.gather(*(one(lane) for lane in range(25)))
    check(await gateway.until(lambda: len(gateway.exchanges()) == 1000, 20), f"{len(gateway.exchanges())} lines")
    check(not gateway.strange, f"{gateway.strange[:3]}")
    check(len({line["request_id"] for line in gateway.exchanges()}) == 1000, "an id twice")
