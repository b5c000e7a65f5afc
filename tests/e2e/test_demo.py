"""`hushgate demo`: every command of its tour works as printed and shows what it says."""

import asyncio
import json
import os
import re
import signal
import socket

from programs import HERE, need, output_of
from support import Skip, case, check, request_bytes

COMMAND = re.compile(r"^   ((?:bash|curl) .*\n(?:     .*\n)*)", re.MULTILINE)  # with its further lines
FEWER_POSTS = 2000  # than the tour's, which are more than there are ports


async def demo(t, *arguments):
    return await t.run(None, arguments=["demo", *(arguments or ("--listen", "127.0.0.1:0"))])


async def tour_of(t):
    """(gateway, the tour's commands)"""
    for program in ("bash", "curl", "awk"):
        need(program)
    gateway = await demo(t)
    text = (await t.ask(gateway, request_bytes(target="/tour"))).body.decode()
    commands = COMMAND.findall(text)
    check(len(commands) == 8, f"five commands and three more: {commands}")
    check(all(line in gateway.said for line in text.splitlines() if line), "printed otherwise than shown")
    return gateway, commands


async def shell(command, seconds=60):
    code, out = await output_of("bash", "-c", command, seconds=seconds)
    return code, out.decode("utf-8", "replace")


async def counts(t, gateway):
    return json.loads((await t.ask(gateway, request_bytes(target="/count"))).body)


@case(seconds=90)
async def the_squatter_goes(t):
    _, commands = await tour_of(t)
    _, out = await shell(commands[0])
    check("408 Request Timeout" in out and "request_timeout" in out, out)
    took = re.search(r"real\s+0m([\d.]+)s", out)
    check(took and 1.95 <= float(took.group(1)) < 8, out)


@case(seconds=90)
async def the_silence_survives(t):
    _, commands = await tour_of(t)
    # Behind each other: curl and grep write to the same place at once, and would cut each other's words in two.
    aside = f'words=$(mktemp); {{ {commands[1]}\n}} 2>"$words"; code=$?; cat "$words"; rm "$words"; exit $code'
    code, out = await shell(aside)
    check(code == 0 and out.count('"content":"') == 12, out)
    first = re.search(r"200, first byte after ([\d.]+) s", out)
    check(first and 5.95 <= float(first.group(1)) < 15, out)


@case(seconds=90)
async def what_could_have_acted_arrives_once(t):
    gateway, commands = await tour_of(t)
    _, out = await shell(commands[2])
    lines = out.splitlines()
    before, after = json.loads(lines[0]), json.loads(lines[-1])
    check(sorted(lines[1:-1]) == sorted(f"{m} 200" for m in ("GET", "PUT", "POST") for _ in range(5)), out)
    grown = {method: after[method] - before.get(method, 0) for method in ("GET", "PUT", "POST")}
    check(grown["PUT"] == grown["POST"] == 5 and 5 <= grown["GET"] <= 10, f"{grown}")
    replays = sum(line.get("event") == "replay" for line in gateway.log)
    check(grown["GET"] == 5 + replays, f"{grown}, {replays} replays")


@case(seconds=90)
async def the_abort_stops_the_model(t):
    gateway, commands = await tour_of(t)
    _, out = await shell(commands[3])
    heard, ledger = out.splitlines()
    event = json.loads(ledger.strip().strip("[],"))
    check(event["outcome"] == "cancelled" and event["of_tokens"] == 1000, out)
    check(1 <= int(heard) <= event["tokens"] <= int(heard) + 2, out)
    check(3900 <= event["ms"] < 8000, out)
    told = [line for line in gateway.said if line.startswith("the upstream:")]
    check(len(told) == 1 and f"{event['tokens']} of 1000 tokens spoken" in told[0], f"{told}")


@case(seconds=200)
async def the_ports_do_not_run_out(t):
    gateway, commands = await tour_of(t)
    posts = re.search(r"\[1-(\d+)\]", commands[4]).group(1)
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        first, last = map(int, file.read().split())
    check(int(posts) > last - first, f"{posts} POSTs are not more than the ports")
    _, out = await shell(commands[4].replace(posts, str(FEWER_POSTS)), 180)
    check(out.split() == [str(FEWER_POSTS), "200", "0"], out)
    check((await counts(t, gateway))["POST"] == FEWER_POSTS, f"{await counts(t, gateway)}")


@case(seconds=200)
async def the_rest_of_the_tour_works_too(t):
    _, commands = await tour_of(t)
    _, out = await shell(commands[5], 150)
    sums = re.findall(r"\b[0-9a-f]{40}\b", out)
    check('"bytes":100000000' in out and len(sums) == 2 and sums[0] == sums[1], out)
    _, out = await shell(commands[6])
    check("connection_terminated" in out and "connection_refused" in out, out)
    _, out = await shell(commands[7])
    check("/v1/chat/completions" in out and "/mortal/die" in out, out)


@case(seconds=90)
async def a_stream_of_an_upstream_that_dies_is_cut_visibly(t):
    gateway, _ = await tour_of(t)
    url = f"http://127.0.0.1:{gateway.port}/mortal"
    stream = asyncio.ensure_future(shell(
        f"curl -sN '{url}/v1/messages?think=0&tokens=1000' -d '{{\"stream\":true,\"messages\":[]}}'; echo \" exit $?\""))
    t.later(stream)
    while b'"tokens":3,' not in (await t.ask(gateway, request_bytes(target="/events"))).body:
        await asyncio.sleep(0.05)
    await t.ask(gateway, request_bytes("POST", "/mortal/die?for=0", body=b"x"))
    _, out = await stream
    check(out.endswith(" exit 18\n") and "message_stop" not in out, out[-300:])


@case(seconds=60)
async def another_port_is_taken_where_the_usual_one_is_taken(t):
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            holder.bind(("127.0.0.1", 8787))
            holder.listen()
        except OSError:
            pass  # somebody else holds it, which is as good
        gateway = await demo(t, "--workers", "1")
        check(gateway.port != 8787, "the port is taken twice")
        check(any("127.0.0.1:8787 is taken" in line for line in gateway.said), f"{gateway.said[:3]}")
        check(any(f"http://127.0.0.1:{gateway.port}/tour" in line for line in gateway.said), f"{gateway.said}")
        check((await t.ask(gateway, request_bytes(target="/echo"))).status == 200, "not served")


@case(seconds=60)
async def with_tls_the_printed_command_fetches(t):
    need("curl")
    gateway = await t.run(None, arguments=["demo", "--tls"])
    printed = [line for line in gateway.said if "curl --cacert" in line]
    check(len(printed) == 1, f"{gateway.said}")
    command = printed[0].partition(": ")[2]
    code, out = await shell(command, 20)
    check(code == 0 and "/v1/chat/completions" in out, f"{command}: {code} {out}")
    code, out = await shell(f"{command}echo", 20)
    check(code == 0 and '["X-Forwarded-Proto","https"]' in out, f"{command}: {code} {out}")
    file = command.split()[2]
    check(os.stat(file).st_mode & 0o077 == 0, "the key is readable by others")
    gateway.signal(signal.SIGINT)
    check(await gateway.ended(30) == 0 and not os.path.exists(file), "the file stays")


@case(seconds=60)
async def the_admin_listener_can_be_had(t):
    gateway = await demo(t, "--listen", "127.0.0.1:0", "--set", "admin=127.0.0.1:0")
    check(await gateway.until(lambda: any("(admin)" in line for line in gateway.said)), f"{gateway.said}")


@case(seconds=60)
async def one_interrupt_ends_it_though_a_model_thinks(t):
    gateway = await demo(t)
    wire = await t.client(gateway)
    wire.send(request_bytes("POST", "/v1/chat/completions?think=600", body=b'{"messages":[]}'))
    while b"serving" not in (await t.ask(gateway, request_bytes(target="/events"))).body:
        await asyncio.sleep(0.05)
    gateway.signal(signal.SIGINT)
    check(await gateway.ended(30) == 0, f"exit code {gateway.exit_code}")


@case(seconds=300)
async def the_sdks_and_the_package_ws_work(t):
    node, npm = need("node"), need("npm")
    code, out = await output_of(npm, "install", "--no-audit", "--no-fund", "--prefer-offline", "ws@8", "openai",
                                "@anthropic-ai/sdk", seconds=150, directory=t.directory)
    if code != 0:
        raise Skip(f"the packages can't be had here: {out.decode('utf-8', 'replace').strip()[-120:]!r}")
    gateway = await t.run(None, arguments=["demo", "--tls"])
    check(await gateway.until(lambda: any("curl --cacert" in line for line in gateway.said)), f"{gateway.said}")
    _, _, file, url = next(line for line in gateway.said if "curl --cacert" in line).partition(": ")[2].split()
    for base in (f"http://127.0.0.1:{gateway.port}", url.rstrip("/")):
        code, out = await output_of(node, str(HERE / "demo_clients.js"), base, t.directory, seconds=120,
                                    environment={"NODE_EXTRA_CA_CERTS": file})
        check(code == 0 and b"FAIL" not in out, f"{base}: " + out.decode("utf-8", "replace")[-800:])
