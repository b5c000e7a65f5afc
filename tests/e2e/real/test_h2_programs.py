"""Programs that people use, over HTTP/2: as clients of hushgate, and as its upstreams."""

import asyncio
import contextlib
import os
import re

from h2_programs import haproxy, nghttpx, npm, python_with, script
from programs import HERE, Nginx, Running, need, output_of
from support import authority, case, check, request_bytes, response_bytes, tls_listen
from support.upstream import free_port
from test_node import client as node_h1_client
from test_node import node_server
from test_tls_programs import behind, key_digest
from test_tools import echo


def h2c(port):
    """The setting `upstreams`: one, that speaks HTTP/2 in cleartext."""
    return {"u": {"url": f"http://127.0.0.1:{port}", "protocol": "h2c"}}


def node_h2_server(certificate=None):
    files = [certificate.certificate, certificate.key] if certificate else []
    return Running(need("node"), str(HERE / "h2_server.js"), *files)


async def node_h2_client(url, name, trusted=None):
    environment = {"NODE_EXTRA_CA_CERTS": trusted.certificate} if trusted else {}
    code, out = await output_of(need("node"), str(HERE / "h2_client.js"), url, name, seconds=100, environment=environment)
    check(code == 0, f"{name}: {out.decode('utf-8', 'replace')[-600:]}")


async def secured(t, upstreams=None, **settings):
    """(gateway, its address as a URL, the authority of its certificate)"""
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    if upstreams:
        settings["upstreams"] = upstreams
    gateway = await t.gateway("http://unused" if upstreams else await t.answering(echo), listen=tls_listen(own), **settings)
    return gateway, f"https://localhost:{gateway.port}", trusted


# --- curl, nghttp, h2load
@case
async def curl_gets_posts_and_uploads_over_http2(t):
    curl = need("curl")
    gateway = await t.gateway(await t.answering(echo))
    secure, url, trusted = await secured(t)
    path = os.path.join(t.directory, "upload")
    with open(path, "wb") as file:
        file.write(b"u" * 3_000_000)
    ways = [("--http2-prior-knowledge", f"http://127.0.0.1:{gateway.port}"), ("--http2", url)]
    for way, base in ways:
        rows = [(["/a"], b"GET /a HTTP/1.1 0\n"), (["/a", "-d", "x=1"], b"POST /a HTTP/1.1 3\n"),
                (["/a", "-T", path], b"PUT /a HTTP/1.1 3000000\n"), (["/a", "-X", "DELETE"], b"DELETE /a HTTP/1.1 0\n"),
                (["/a", "-H", "Expect: 100-continue", "--data-binary", f"@{path}"], b"POST /a HTTP/1.1 3000000\n")]
        for (target, *options), wanted in rows:
            code, out = await output_of(curl, way, "-sS", "--max-time", "30", "--cacert", trusted.certificate, "-w",
                                        "%{http_version}", base + target, *options)
            check(code == 0 and out == wanted + b"2", f"{way} {options}: {code} {out}")
        if way == "--http2":  # by prior knowledge it sends a second preface
            code, out = await output_of(curl, way, "-sSv", "--cacert", trusted.certificate, base + "/1", base + "/2")
            check(code == 0 and b"Re-using existing connection" in out, f"not kept alive: {out}")
        code, out = await output_of(curl, way, "-sSI", "--cacert", trusted.certificate, base + "/head")
        check(code == 0 and out.startswith(b"HTTP/2 200"), f"{code} {out}")
    code, out = await output_of(curl, "--http2", "-sS", "-w", "%{http_version}", f"http://127.0.0.1:{gateway.port}/up")
    check(code == 0 and out == b"GET /up HTTP/1.1 0\n1.1", f"an Upgrade to h2c: {code} {out}")


@case
async def curl_that_is_interrupted_cancels_its_stream(t):
    curl = need("curl")
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    process = await asyncio.create_subprocess_exec(curl, "--http2-prior-knowledge", "-sS", f"http://127.0.0.1:{gateway.port}/think",
                                                   stdout=asyncio.subprocess.DEVNULL)
    peer = await upstream.connection()
    await peer.request()
    await asyncio.sleep(0.3)
    process.terminate()
    await process.wait()
    await peer.ended(5)


@case
async def nghttp_asks_for_many_with_bodies_and_trailers(t):
    nghttp = need("nghttp")
    upstream = await t.answering(echo)
    gateway = await t.gateway(upstream)
    url = f"http://127.0.0.1:{gateway.port}"
    path = os.path.join(t.directory, "body")
    with open(path, "wb") as file:
        file.write(b"b" * 200_000)
    code, out = await output_of(nghttp, "--no-dep", f"{url}/1", f"{url}/2", f"{url}/3", f"{url}/4")
    check(code == 0 and sorted(out.split(b"\n")[:4]) == [b"GET /%d HTTP/1.1 0" % n for n in range(1, 5)], f"{code} {out}")
    code, out = await output_of(nghttp, "-d", path, "--no-content-length", "--trailer", "x-check: 1", f"{url}/t")
    check(code == 0 and out == b"POST /t HTTP/1.1 200000\n", f"{code} {out}")
    check(("x-check", "1") in [(n.lower(), v) for n, v in upstream.requests[-1][0].trailers], f"{upstream.requests[-1][0].trailers}")
    code, out = await output_of(nghttp, "-b", "2048", "-w", "14", f"{url}/padded")
    check(code == 0 and b"GET /padded" in out, f"{code} {out}")


async def h2load(url, *options):
    code, out = await output_of(need("h2load"), "-t", "1", *options, url, seconds=80)
    found = re.search(rb"requests: (\d+) total.* (\d+) succeeded, (\d+) failed", out)
    check(code == 0 and found and found.group(1) == found.group(2), f"{code} {out[-900:]}")


@case(seconds=180)
async def h2load_loses_nothing(t):
    async with node_server() as h1, node_h2_server() as h2:
        path = os.path.join(t.directory, "body")
        with open(path, "wb") as file:
            file.write(b"b" * 1000)
        for upstreams in ({"u": h1.url}, h2c(h2.port)):
            gateway = await t.gateway("http://unused", upstreams=upstreams)
            url = f"http://127.0.0.1:{gateway.port}/load"
            await h2load(url, "-n", "5000", "-c", "10", "-m", "50")
            await h2load(url, "-n", "2000", "-c", "10", "-m", "20", "-d", path)
            await h2load(url, "-n", "1000", "-c", "4", "--h1")
        _, url, _ = await secured(t, h2c(h2.port))
        await h2load(url + "/load", "-n", "3000", "-c", "4", "-m", "100")


# --- Node's http2 module, and SDKs
@case(seconds=180)
async def node_clients_over_http2(t):
    async with node_server() as server:  # its own WebSocket and counts are as those of h2_server.js
        gateway = await t.gateway(server.url)
        for name in ("mixed", "bodies", "abort", "websocket"):
            await node_h2_client(f"http://127.0.0.1:{gateway.port}", name)
    async with node_h2_server() as server:
        gateway = await t.gateway("http://unused", upstreams=h2c(server.port))
        for name in ("mixed", "bodies", "streams", "abort", "websocket"):
            await node_h2_client(f"http://127.0.0.1:{gateway.port}", name)


@case(seconds=180)
async def node_http1_clients_of_a_node_http2_upstream(t):
    async with node_h2_server() as server:
        gateway = await t.gateway("http://unused", upstreams=h2c(server.port))
        for name in ("mixed", "bodies", "websocket"):
            await node_h1_client(gateway, name)


@case(seconds=180)
async def node_on_both_sides_over_tls(t):
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    async with node_h2_server(own) as server:
        gateway = await t.gateway("http://unused", upstreams=behind(f"https://localhost:{server.port}", trusted), listen=tls_listen(own))
        for name in ("mixed", "bodies", "streams", "abort"):
            await node_h2_client(f"https://localhost:{gateway.port}", name, trusted)
        line = await gateway.exchange("/echo")
        check(line.get("upstream_http") and line.get("client_http"), f"not HTTP/2 on both sides: {line}")
        one = behind(f"https://localhost:{server.port}", trusted)
        one["u"]["protocol"] = "http2"  # auto asks for HTTP/1.1 where there is an Upgrade, which this server does not have
        gateway = await t.gateway("http://unused", upstreams=one, listen=tls_listen(own))
        await node_h2_client(f"https://localhost:{gateway.port}", "websocket", trusted)


@case(seconds=240)
async def sdks_stream_from_an_http2_upstream(t):
    await npm(t, "openai@6", "@anthropic-ai/sdk@1")
    program = script(t, "h2_sdks.mjs")
    async with node_h2_server() as server:
        gateway = await t.gateway("http://unused", upstreams=h2c(server.port))
        code, out = await output_of(need("node"), program, f"http://127.0.0.1:{gateway.port}", directory=t.directory)
        check(code == 0, f"{code} {out[-600:]}")


PAGE = b"""<!doctype html><script>
let open = 0;
for (let n = 0; n < 40; n += 1) {
  new EventSource('/events/' + n).onmessage = (event) => {
    if (event.data === '1') open += 1;
    if (event.data === '1' && open === 40) fetch('/report?all', {method: 'POST', body: 'b'.repeat(1000)});
  };
}
</script>"""


@case(seconds=120)
async def a_page_in_chromium_has_40_event_streams_of_one_origin(t):
    chromium = need("chromium")
    reported = asyncio.Event()
    open_streams = set()

    async def serve(wire):
        while await wire.until(lambda: wire.buffer or wire.end, 3600) and wire.buffer:
            request = await wire.request()
            if request.target.startswith("/events/"):
                open_streams.add(request.target)
                wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
                for n in range(200):
                    wire.send(b"9\r\ndata: %d\n\n\r\n" % (n % 10))
                    if await wire.until(lambda: wire.end, 0.3):
                        return
            if request.target == "/report?all":
                reported.set()
            wire.send(response_bytes(PAGE if request.target == "/" else b"ok", fields=[("Content-Type", "text/html")]))

    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    gateway = await t.gateway(await t.upstream(serve), listen=tls_listen(own))
    process = await asyncio.create_subprocess_exec(
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--remote-debugging-port=0",
        f"--user-data-dir={t.directory}/profile", f"--ignore-certificate-errors-spki-list={await key_digest(own)}",
        f"https://localhost:{gateway.port}/", stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL)
    try:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(reported.wait(), 80)
        check(reported.is_set(), f"{len(open_streams)} of 40 were open")
        line = await gateway.exchange("/report")
        check(line.get("client_http"), f"{line}")
    finally:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), 10)
        except asyncio.TimeoutError:
            process.kill()
            await process.wait()


# --- other gateways on either side
async def many(t, port, count=200):
    """So many POSTs are answered by what listens there, over both protocols."""
    path = os.path.join(t.directory, "small")
    with open(path, "wb") as file:
        file.write(b"x=1")
    url = f"http://127.0.0.1:{port}/p"
    await h2load(url, "-n", str(count), "-c", "2", "-m", "10", "-d", path)
    await many_h1(port, count)


async def many_h1(port, count=200):
    code, out = await output_of(need("curl"), "--http1.1", "-sS", "--max-time", "60", "-d", "x=1",
                                f"http://127.0.0.1:{port}/p/[1-{count}]", seconds=80)
    check(code == 0 and out == b"".join(b"POST /p/%d HTTP/1.1 3\n" % n for n in range(1, count + 1)), f"{port}: {code} {out[-300:]}")


@case(seconds=120)
async def nginx_as_an_http2_upstream_that_says_goaway_every_20_requests(t):
    need("nginx")
    port = free_port()
    root = os.path.join(t.directory, "www")
    os.makedirs(root)
    data = bytes(range(256)) * 40_000
    with open(os.path.join(root, "big.bin"), "wb") as file:
        file.write(data)
    http = f"""server {{ listen 127.0.0.1:{port} http2; root {root}; keepalive_requests 20;
      location /post {{ return 200 posted; }} }}"""
    async with Nginx(t.directory, port, http):
        gateway = await t.gateway("http://unused", upstreams=h2c(port))
        check((await t.ask(gateway, request_bytes(target="/big.bin"))).body == data, "another body")
        response = await t.ask(gateway, request_bytes(target="/big.bin", fields=[("Range", "bytes=100-199")]))
        check(response.status == 206 and response.body == data[100:200], f"{response}")
        path = os.path.join(t.directory, "body")
        with open(path, "wb") as file:
            file.write(b"b" * 1000)
        await h2load(f"http://127.0.0.1:{gateway.port}/post", "-n", "2000", "-c", "2", "-m", "5", "-d", path)
        await h2load(f"http://127.0.0.1:{gateway.port}/post", "-n", "2000", "-c", "2", "-m", "5")
        refused = sum(line.get("refusals", 0) for line in gateway.exchanges())
        check(refused > 0, "nothing was refused, so nothing was shown")


@case(seconds=120)
async def nginx_in_front_over_h2c_by_grpc_pass(t):
    need("nginx")
    python = await python_with("grpc")
    port = free_port()
    async with Running(python, str(HERE / "h2_grpc.py"), "serve") as server:
        gateway = await t.gateway("http://unused", upstreams=h2c(server.port))
        http = f"""server {{ listen 127.0.0.1:{port} http2; client_max_body_size 20m;
          location / {{ grpc_pass grpc://127.0.0.1:{gateway.port}; }} }}"""
        async with Nginx(t.directory, port, http):
            code, out = await output_of(python, str(HERE / "h2_grpc.py"), "call", f"127.0.0.1:{port}", seconds=80)
            check(code == 0, f"{code} {out[-600:]}")


@case(seconds=120)
async def nghttpx_on_either_side(t):
    upstream = await t.answering(echo)
    async with nghttpx(upstream.port) as inner:
        gateway = await t.gateway("http://unused", upstreams=h2c(inner.port))
        await many(t, gateway.port)
        async with nghttpx(gateway.port, to="h2") as outer:
            await many(t, outer.port)


@case(seconds=120)
async def haproxy_on_either_side(t):
    upstream = await t.answering(echo)
    async with haproxy(t.directory, upstream.port) as inner:
        gateway = await t.gateway("http://unused", upstreams=h2c(inner.port))
        await many(t, gateway.port)
        async with haproxy(t.directory, gateway.port, accepts="", speaks="proto h2") as outer:
            await many(t, outer.port)


# --- gRPC
async def grpc_calls(t, server, client):
    async with Running(*server, "serve", directory=t.directory) as running:
        gateway = await t.gateway("http://unused", upstreams=h2c(running.port))
        code, out = await output_of(*client, "call", f"127.0.0.1:{gateway.port}", seconds=100, directory=t.directory)
        check(code == 0, f"{code} {out.decode('utf-8', 'replace')[-900:]}")
    gateway = await t.gateway("http://unused", upstreams=h2c(free_port()), limits={"retryBackoffMs": 1})
    code, out = await output_of(*client, "unavailable", f"127.0.0.1:{gateway.port}", seconds=60, directory=t.directory)
    check(code == 0, f"{code} {out.decode('utf-8', 'replace')[-900:]}")


@case(seconds=180)
async def grpc_in_python_all_four_kinds(t):
    python = await python_with("grpc")
    peer = (python, str(HERE / "h2_grpc.py"))
    await grpc_calls(t, peer, peer)


@case(seconds=300)
async def grpc_in_node_all_four_kinds(t):
    await npm(t, "@grpc/grpc-js@1")
    peer = (need("node"), script(t, "h2_grpc.js"))
    await grpc_calls(t, peer, peer)


@case(seconds=300)
async def grpc_between_node_and_python(t):
    python = (await python_with("grpc"), str(HERE / "h2_grpc.py"))
    await npm(t, "@grpc/grpc-js@1")
    node = (need("node"), script(t, "h2_grpc.js"))
    await grpc_calls(t, node, python)
    await grpc_calls(t, python, node)
