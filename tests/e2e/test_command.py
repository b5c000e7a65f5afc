"""CONTRACT sections 3 and 8: the command, its words and exit codes; settings and where they come from."""

import asyncio
import json
import os

from support import case, check, configuration, error_of, request_bytes

UP = "http://127.0.0.1:9"


async def run(t, *arguments, environment=None, seconds=30):
    """(exit code, standard output, standard error)"""
    process = await asyncio.create_subprocess_exec(
        t.binary, *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, env={**os.environ, **(environment or {})})
    try:
        out, err = await asyncio.wait_for(process.communicate(), seconds)
    except asyncio.TimeoutError:
        process.kill()
        await process.wait()
        raise
    return process.returncode, out.decode(), err.decode()


def written(t, config, name="given.json"):
    path = os.path.join(t.directory, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(config if isinstance(config, str) else json.dumps(config, indent=2))
    return path


@case
async def version_and_help_are_done(t):
    code, out, err = await run(t, "version")
    check(code == 0 and out.startswith("hushgate ") and not err, f"{code} {out!r} {err!r}")
    for arguments in (["help"], ["--help"], ["serve", "--help"]):
        code, out, _ = await run(t, *arguments)
        check(code == 0 and "serve" in out, f"{arguments}: {code} {out!r}")


@case
async def wrong_usage_is_exit_code_2(t):
    for arguments in ([], ["fly"], ["serve"], ["serve", "--wings"], ["check"], ["serve", "-c"], ["version", "extra"],
                      ["serve", "-c", "a", "-c", "b"]):
        code, out, err = await run(t, *arguments)
        check(code == 2, f"{arguments}: exit code {code} {out!r}")
        check(err and not out, f"{arguments}: {out!r} {err!r}")


@case
async def check_prints_the_effective_settings_as_a_file_that_holds_them(t):
    path = written(t, configuration(UP, limits={"idleTimeoutMs": 61000}))
    code, out, _ = await run(t, "check", "-c", path)
    check(code == 0, f"exit code {code}: {out}")
    check("61000" in out and "upstreamTimeoutMs" in out and "600000" in out, out)
    start = out.index("{")
    again = written(t, out[start:out.rindex("}") + 1], "again.json")
    code, second, err = await run(t, "check", "-c", again)
    check(code == 0, f"its own output is refused: {err}")
    check(second[second.index("{"):second.rindex("}")] == out[start:out.rindex("}")], "not the same settings")


@case
async def check_warns_of_a_load_balancers_timeout(t):
    path = written(t, configuration(UP))
    code, out, err = await run(t, "check", "-c", path)
    check(code == 0 and "load balancer" in out + err, f"{code} {out} {err}")


FAULTS = [
    ({"limits": {"idleTimeoutMs": 0}}, "idleTimeoutMs"), ({"limits": {"idleTimeoutMs": -5}}, "idleTimeoutMs"),
    ({"limits": {"idleTimeoutMs": 1.5}}, "idleTimeoutMs"), ({"limits": {"idleTimeoutMs": "abc"}}, "idleTimeoutMs"),
    ({"limits": {"idleTimeoutMs": 2**31}}, "idleTimeoutMs"), ({"limits": {"idleTimoutMs": 5}}, "idleTimeoutMs"),
    ({"limits": {"upstreamTimeoutMs": None}}, "upstreamTimeoutMs"), ({"limts": {}}, "limits"),
    ({"listen": ["127.0.0.1"]}, "listen"), ({"listen": []}, "listen"), ({"workers": 0}, "workers"),
    ({"upstreams": {}}, "upstreams"), ({"upstreams": {"u": "ftp://x"}}, "upstreams.u"),
    ({"routes": [{"path": "x", "upstream": "u"}]}, "routes[0].path"),
    ({"routes": [{"path": "/", "upstream": "v"}]}, "routes[0].upstream"),
    ({"client": {"halfClose": "maybe"}}, "halfClose"), ({"client": {"trustedProxies": ["10.0.0.0/40"]}}, "trustedProxies"),
]


@case
async def an_invalid_file_stops_check_and_serve_with_place_and_key(t):
    for settings, word in FAULTS:
        path = written(t, configuration(UP, **settings))
        for verb in ("check", "serve"):
            code, out, err = await run(t, verb, "-c", path)
            check(code == 1, f"{verb} {settings}: exit code {code}")
            check(word in out + err, f"{verb} {settings}: {out} {err}")
            check("given.json:" in out + err, f"{verb} {settings}: no place: {out} {err}")


@case
async def every_fault_is_listed_at_once(t):
    path = written(t, configuration(UP, limits={"idleTimeoutMs": 0, "requestTimeoutMs": "x", "maxHeders": 5}, workers=-1))
    code, out, err = await run(t, "check", "-c", path, environment={"HUSHGATE_SEND_TIMEOUT_MS": "soon"})
    check(code == 1, f"exit code {code}")
    for word in ("idleTimeoutMs", "requestTimeoutMs", "maxHeaders", "workers", "HUSHGATE_SEND_TIMEOUT_MS"):
        check(word in out + err, f"{word} is missing: {out} {err}")


@case
async def comments_are_allowed_and_duplicate_keys_are_not(t):
    good = '// a\n{ /* b */ "listen": ["127.0.0.1:0"], // c\n "upstreams": {"u": "%s"}, ' \
           '"routes": [{"path": "/", "upstream": "u"}] }' % UP
    code, out, err = await run(t, "check", "-c", written(t, good))
    check(code == 0, f"{out} {err}")
    code, out, err = await run(t, "check", "-c", written(t, good.replace('"routes"', '"upstreams": {"u": "http://a"}, "routes"')))
    check(code == 1 and "upstreams" in out + err, f"{code} {out} {err}")


@case
async def a_file_that_is_not_there_or_no_json_is_exit_code_1(t):
    for path in (os.path.join(t.directory, "absent.json"), t.directory, written(t, "{", "half.json")):
        for verb in ("check", "serve"):
            code, out, err = await run(t, verb, "-c", path)
            check(code == 1 and (out or err), f"{verb} {path}: {code} {out} {err}")


@case
async def the_environment_beats_the_file_and_the_command_line_beats_both(t):
    path = written(t, configuration(UP, limits={"idleTimeoutMs": 11111, "requestTimeoutMs": 22222}))
    environment = {"HUSHGATE_IDLE_TIMEOUT_MS": "33333", "HUSHGATE_UPSTREAM_IDLE_TIMEOUT_MS": "3210",
                   "HUSHGATE_CLIENT_HALF_CLOSE": "cancel"}
    code, out, err = await run(t, "check", "-c", path, environment=environment)
    check(code == 0, f"{out} {err}")
    for word in ("33333", "22222", "3210", "cancel"):
        check(word in out, f"{word} is missing: {out}")
    check("11111" not in out, f"the file beats the environment: {out}")
    code, out, err = await run(t, "check", "-c", path, "--set", "limits.idleTimeoutMs=44444", environment=environment)
    check(code == 0 and "44444" in out and "33333" not in out, f"{code} {out} {err}")


@case
async def an_invalid_value_in_the_environment_is_fatal_and_an_unknown_name_is_warned_about(t):
    path = written(t, configuration(UP))
    for value in ("0", "-1", "abc", "1e3", "60000 ", ""):
        code, out, err = await run(t, "serve", "-c", path, environment={"HUSHGATE_IDLE_TIMEOUT_MS": value})
        check(code == 1 and "HUSHGATE_IDLE_TIMEOUT_MS" in out + err, f"{value!r}: {code} {out} {err}")
    code, out, err = await run(t, "check", "-c", path, environment={"HUSHGATE_SERVICE_HOST": "10.0.0.1"})
    check(code == 0 and "HUSHGATE_SERVICE_HOST" in out + err, f"{code} {out} {err}")


@case
async def serve_needs_no_file(t):
    upstream = await t.answering()
    gateway = await t.run(None, arguments=["serve", "--listen", "127.0.0.1:0", "--upstream", upstream.url])
    check((await t.ask(gateway, request_bytes(target="/x"))).status == 200, "not served")
    check(upstream.requests[0][0].target == "/x", f"{upstream.requests}")


@case
async def every_listener_is_announced_and_serves(t):
    upstream = await t.answering()
    gateway = await t.gateway(upstream, listen=["127.0.0.1:0", {"address": "127.0.0.1:0"}, "127.0.0.1:0"])
    check(len({port for _, port in gateway.addresses}) == 3, f"{gateway.addresses}")
    for address in gateway.addresses:
        gateway.addresses[0] = address
        check((await t.ask(gateway, request_bytes())).status == 200, "not served")


@case
async def health_is_told_on_the_admin_listener_only(t):
    upstream = await t.answering()
    gateway = await t.gateway(upstream, admin="127.0.0.1:0")
    wire = await gateway.admin()
    wire.send(request_bytes(target="/healthz"))
    check((await wire.response()).status == 200, "not healthy")
    wire.send(request_bytes("HEAD", "/healthz"))
    check((await wire.response("HEAD")).status == 200, "not healthy")
    wire.send(request_bytes(target="/absent"))
    check((await wire.response()).status == 404, "something else is there")
    wire.close()
    check(not upstream.requests, "the admin listener asked an upstream")
    await t.ask(gateway, request_bytes(target="/healthz"))
    check(upstream.requests[0][0].target == "/healthz", "a client's /healthz was answered here")


@case
async def faulty_requests_to_the_admin_listener_are_refused_in_order(t):
    gateway = await t.gateway(await t.answering(), admin="127.0.0.1:0", limits={"idleTimeoutMs": 800})
    wire = await gateway.admin()
    wire.send(b"nonsense\r\n\r\n")
    error_of(await wire.response(), 400)
    await wire.ended()
    wire.close()
    wire = await gateway.admin()
    check(await wire.ended() == "fin", "a squatter stays")
    wire.close()


@case(seconds=90)
async def the_demo_needs_nothing_else(t):
    gateway = await t.run(None, arguments=["demo", "--listen", "127.0.0.1:0"])
    mine = f"127.0.0.1:{gateway.port}"
    curls = lambda: [line for line in gateway.said if "curl" in line and mine in line]  # noqa: E731
    check(await gateway.until(lambda: len(curls()) >= 2, 10), f"no curl lines to try: {gateway.said}")
    response = await t.ask(gateway, request_bytes("POST", "/echo", body=b"hello"))
    check(response.status == 200 and b"hello" in response.body, f"{response}")
    body = json.dumps({"model": "demo", "stream": True, "messages": [{"role": "user", "content": "hi"}]}).encode()
    response = await t.ask(gateway, request_bytes("POST", "/v1/chat/completions", [("Content-Type", "application/json")], body))
    check(response.status == 200 and b"data: [DONE]" in response.body, f"{response}")
    check(response.get("Content-Type").startswith("text/event-stream"), f"{response}")
