"""CONTRACT section 8: `check` warns of what is allowed and seldom meant; --probe asks the upstreams."""

import contextlib
import re

from support import Fault, case, check, configuration, free_port, now, response_bytes

from test_command import run, written

QUIET = {"idleTimeoutMs": 75000}
UP = "http://127.0.0.1:9"


async def checked(t, config, *arguments, code=0):
    """What `check` says on standard error, line by line."""
    ended, out, err = await run(t, "check", "-c", written(t, config), *arguments, seconds=60)
    check(ended == code, f"exit code {ended}: {err}")
    check("upstreamTimeoutMs" in out, f"no settings: {out}")
    return err.splitlines()


def about(lines, word):
    found = [line for line in lines if word in line]
    check(found, f"nothing about {word}: {lines}")
    return found[0]


@case
async def what_is_seldom_meant_is_told_and_is_no_fault(t):
    config = configuration(
        UP, listen=["127.0.0.1:8787"], limits={"maxConnections": 2000000000},
        upstreams={"u": {"url": UP, "idleTimeoutMs": 5000}, "me": "http://localhost:8787"},
        routes=[{"path": "/", "upstream": "u"}, {"path": "/me/*", "upstream": "me"}])
    said = await checked(t, config)
    check("the load balancer that closes first" in about(said, "limits.idleTimeoutMs is 60000"), f"{said}")
    check("LimitNOFILE" in about(said, "limits.maxConnections is 2000000000"), f"{said}")
    check("Node (5 s)" in about(said, "upstreams.u.idleTimeoutMs is 5000"), f"{said}")
    check("508" in about(said, "upstreams.me is"), f"{said}")
    check('Write "/me/"' in about(said, 'routes[1].path is "/me/*"'), f"{said}")


@case
async def nothing_is_told_where_nothing_is_amiss(t):
    check(await checked(t, configuration(UP, limits=QUIET)) == [], "something was told")


async def serving(t, keeps=60):
    """An upstream that answers one request, and closes its connection so many seconds later."""
    async def script(peer):
        upstream.note(peer, await peer.request())
        peer.send(response_bytes(b""))
        with contextlib.suppress(Fault):
            await peer.ended(keeps)

    upstream = await t.upstream(script)
    return upstream


@case
async def the_probe_measures_how_long_idle_connections_are_kept_and_says_what_to_set(t):
    racing, patient = await serving(t, keeps=1.2), await serving(t)
    begin = now()
    said = await checked(t, configuration(
        racing, limits=QUIET, upstreams={"racing": racing.url, "patient": patient.url},
        routes=[{"path": "/", "upstream": "racing"}, {"path": "/p", "upstream": "patient"}]),
        "--probe", "--probe-wait-ms", "5000")
    check(now() - begin < 5 + 5, "not at the same time")
    measured = float(re.search(r"closed the idle connection after ([\d.]+) s", about(said, "racing: answered")).group(1))
    check(1.15 <= measured <= 3, f"{measured} s")
    setting = int(re.search(r"Set its idleTimeoutMs to (\d+)", about(said, "racing: idleTimeoutMs is 4000")).group(1))
    check(setting <= measured * 900, f"{setting} for {measured}")
    check("still had the idle connection open after 5000 ms" in about(said, "patient: answered"), f"{said}")
    check("it fits" in about(said, "patient: idleTimeoutMs is 4000"), f"{said}")
    check(racing.requests[0][0].method == "HEAD", f"{racing.requests}")


@case
async def the_probe_fails_where_nobody_is(t):
    port = free_port()
    said = await checked(t, configuration(
        UP, limits=QUIET,
        upstreams={"gone": f"http://127.0.0.1:{port}", "absent": "http://absent.invalid", "unix": "unix:/absent/x.sock"},
        routes=[{"path": f"/{name}", "upstream": name} for name in ("gone", "absent", "unix")]), "--probe", code=1)
    check(f"127.0.0.1:{port}: Connection refused" in about(said, "upstreams.gone: nobody accepts"), f"{said}")
    check("dns_" in about(said, 'upstreams.absent: "absent.invalid" does not resolve'), f"{said}")
    check("No such file" in about(said, "upstreams.unix: nobody accepts"), f"{said}")
    check(said[-1] == "hushgate: 3 of 3 upstreams cannot serve requests now", f"{said}")


@case
async def the_probe_fails_where_no_http_is_spoken(t):
    async def greet(peer):
        peer.send(b"220 mail.example.com ESMTP\r\n\r\n")
        await peer.ended()

    greeting = await t.upstream(greet)
    said = await checked(t, configuration(greeting, limits=QUIET), "--probe", code=1)
    check("no HTTP/1 response" in about(said, "u: what it answered"), f"{said}")


@case
async def a_probe_of_hushgate_itself_is_told(t):
    gateway = await t.gateway(await t.answering())
    mine = f"127.0.0.1:{gateway.port}"
    said = await checked(t, configuration(f"http://{mine}", listen=[mine], limits=QUIET), "--probe",
                         "--probe-wait-ms", "300")
    check("508" in about(said, "where hushgate itself listens"), f"{said}")


@case
async def wrong_words_for_a_probe_are_wrong_usage(t):
    path = written(t, configuration(UP))
    for arguments, word in ((["--probe-wait-ms", "5"], "goes with --probe"), (["--probe", "--probe-wait-ms", "0"], "from 1 to"),
                            (["--probe", "--probe-wait-ms", "1s"], "from 1 to"), (["--watch"], "--watch")):
        code, _, err = await run(t, "check", "-c", path, *arguments)
        check(code == 2 and word in err, f"{arguments}: {code} {err}")
