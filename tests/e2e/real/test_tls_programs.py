"""Programs that people use, over TLS: as clients of hushgate, and as its upstreams."""

import asyncio
import base64
import hashlib
import os
import shutil
import sys

from programs import HERE, Nginx, need, output_of
from support import Skip, authority, case, check, request_bytes, tls_listen
from support.upstream import free_port
from test_node import client, node_server
from test_tools import echo


async def secured(t, upstream=None, **settings):
    """(gateway, its address as a URL, the authority of its certificate)"""
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    gateway = await t.gateway(upstream or await t.answering(echo), listen=tls_listen(own), **settings)
    return gateway, f"https://localhost:{gateway.port}", trusted


def behind(url, trusted):
    """The setting `upstreams`: one, over TLS."""
    return {"u": {"url": url, "tls": {"ca": trusted.certificate}}}


@case
async def curl_gets_posts_uploads_and_streams_over_tls(t):
    curl = need("curl")
    _, url, trusted = await secured(t)
    path = os.path.join(t.directory, "upload")
    with open(path, "wb") as file:
        file.write(b"u" * 3_000_000)
    rows = [(["/a"], b"GET /a HTTP/1.1 0\n"), (["/a", "-d", "x=1"], b"POST /a HTTP/1.1 3\n"),
            (["/a", "--tls-max", "1.2"], b"GET /a HTTP/1.1 0\n"), (["/a", "--tlsv1.3"], b"GET /a HTTP/1.1 0\n"),
            (["/a", "--http2"], b"GET /a HTTP/1.1 0\n"), (["/a", "-0"], b"GET /a HTTP/1.1 0\n"),
            (["/a", "--no-alpn"], b"GET /a HTTP/1.1 0\n"), (["/a", "-T", path], b"PUT /a HTTP/1.1 3000000\n"),
            (["/a", "-H", "Expect: 100-continue", "--data-binary", f"@{path}"], b"POST /a HTTP/1.1 3000000\n"),
            (["/a", "-H", "Transfer-Encoding: chunked", "--data-binary", f"@{path}"], b"POST /a HTTP/1.1 3000000\n")]
    for (target, *options), wanted in rows:
        code, out = await output_of(curl, "-sS", "--max-time", "30", "--cacert", trusted.certificate, url + target,
                                    *options)
        check(code == 0 and out == wanted, f"{options}: {code} {out}")
    code, out = await output_of(curl, "-sSv", "--cacert", trusted.certificate, url + "/1", url + "/2")
    check(code == 0 and b"Re-using existing connection" in out, f"not kept alive: {out}")
    code, out = await output_of(curl, "-sS", "--cacert", trusted.certificate, "--tls-max", "1.1", url)
    check(code == 35, f"TLS 1.1: {code} {out}")


async def python_client(t, which):
    async with node_server() as server:
        _, url, trusted = await secured(t, server.url)
        for interpreter in dict.fromkeys((sys.executable, "/usr/bin/python3")):  # Debian's packages are of its own
            if not shutil.which(interpreter):
                continue
            code, out = await output_of(interpreter, str(HERE / "tls_clients.py"), which, url, trusted.certificate)
            if code != 3:
                check(code == 0, f"{code} {out}")
                return
    raise Skip(f"the package {which} is not installed")


@case
async def pythons_urllib(t):
    await python_client(t, "urllib")


@case
async def pythons_requests(t):
    await python_client(t, "requests")


@case
async def pythons_httpx(t):
    await python_client(t, "httpx")


@case(seconds=120)
async def javas_http_client(t):
    java = need("java")
    need("javac")
    async with node_server() as server:
        _, url, trusted = await secured(t, server.url)
        code, out = await output_of(java, str(HERE / "TlsClient.java"), url, trusted.certificate, seconds=90)
        check(code == 0, f"{code} {out}")


async def key_digest(certificate):
    """What Chromium calls a public key by: the base64 of SHA-256 of its DER."""
    public, form = certificate.certificate + ".public", certificate.certificate + ".der"
    code, out = await output_of("openssl", "x509", "-in", certificate.certificate, "-noout", "-pubkey", "-out", public)
    check(code == 0, f"{out}")
    code, out = await output_of("openssl", "pkey", "-pubin", "-in", public, "-outform", "DER", "-out", form)
    check(code == 0, f"{out}")
    with open(form, "rb") as file:
        return base64.b64encode(hashlib.sha256(file.read()).digest()).decode()


PAGE = b"""<!doctype html><p id=p>waiting</p><script>
fetch('/post', {method: 'POST', body: 'b'.repeat(100000)}).then((r) => r.text())
  .then((text) => { document.getElementById('p').textContent = 'fetched ' + text; });
</script>"""


@case(seconds=120)
async def a_page_in_chromium_fetches(t):
    chromium = need("chromium")

    def answer(request):
        body = PAGE if request.target == "/" else b"%d bytes" % len(request.body)
        kind = b"text/html" if request.target == "/" else b"text/plain"
        return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind, len(body), body)

    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    gateway = await t.gateway(await t.answering(answer), listen=tls_listen(own))
    code, out = await output_of(
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
        f"--user-data-dir={t.directory}/profile", f"--ignore-certificate-errors-spki-list={await key_digest(own)}",
        "--virtual-time-budget=10000", "--dump-dom", f"https://localhost:{gateway.port}/", seconds=90)
    check(b"fetched 100000 bytes" in out, f"{code} {out[-600:]}")


@case(seconds=120)
async def node_clients_over_tls(t):
    async with node_server() as server:
        gateway, _, trusted = await secured(t, server.url)
        for name in ("mixed", "bodies", "websocket", "abort"):
            await client(gateway, name, trusted)


@case(seconds=120)
async def a_node_upstream_over_tls(t):
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    async with node_server(certificate=own) as server:
        gateway = await t.gateway("http://unused", upstreams=behind(f"https://localhost:{server.port}", trusted))
        for name in ("mixed", "bodies", "websocket", "abort"):
            await client(gateway, name)


@case(seconds=120)
async def a_node_upstream_over_tls_that_closes_idle_connections_just_then_fails_nobody(t):
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    async with node_server(1000, own) as server:
        gateway = await t.gateway("http://unused", listen=tls_listen(own),
                                  upstreams=behind(f"https://localhost:{server.port}", trusted))
        await client(gateway, "mixed:1000", trusted)


@case
async def an_nginx_upstream_over_tls(t):
    need("nginx")
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    port = free_port()
    root = os.path.join(t.directory, "www")
    os.makedirs(root)
    data = bytes(range(256)) * 40_000
    with open(os.path.join(root, "big.bin"), "wb") as file:
        file.write(data)
    http = f"""server {{ listen 127.0.0.1:{port} ssl; root {root}; keepalive_timeout 1s; ssl_certificate {own.certificate};
      ssl_certificate_key {own.key}; ssl_session_cache shared:s:1m; location /post {{ return 200 posted; }} }}"""
    async with Nginx(t.directory, port, http):
        gateway = await t.gateway("http://unused", upstreams=behind(f"https://localhost:{port}", trusted))
        check((await t.ask(gateway, request_bytes(target="/big.bin"))).body == data, "another body")
        for n in range(10):
            response = await t.ask(gateway, request_bytes("POST", "/post", body=b"x" * 1000))
            check(response.body == b"posted", f"POST {n}: {response}")
        wire = await t.client(gateway)
        for n in range(5):  # around the second after which nginx closes
            wire.send(request_bytes("HEAD", "/big.bin"))
            check((await wire.response("HEAD")).status == 200, f"request {n} failed")
            await asyncio.sleep(0.96 + 0.02 * n)
        await gateway.stop()
        line = next(line for line in gateway.log if line.get("event") == "worker_stopped")
        check(line["tls_connects_full"] == 1 and line.get("tls_connects_resumed", 0) >= 10, f"{line}")
