"""curl, nc and nginx around the gateway."""

import asyncio
import os

from programs import Nginx, need, output_of
from support import case, check, request_bytes, response_bytes
from support.upstream import free_port


def echo(request):
    text = f"{request.method} {request.target} {request.version} {len(request.body)}\n".encode()
    return response_bytes(b"" if request.method == "HEAD" else text)


@case
async def curl_gets_posts_uploads_and_asks_in_every_way(t):
    curl = need("curl")
    gateway = await t.gateway(await t.answering(echo))
    url = f"http://127.0.0.1:{gateway.port}"
    path = os.path.join(t.directory, "upload")
    with open(path, "wb") as file:
        file.write(b"u" * 3_000_000)
    rows = [(["/a"], b"GET /a HTTP/1.1 0\n"), (["/a", "-d", "x=1"], b"POST /a HTTP/1.1 3\n"),
            (["/a", "-T", path], b"PUT /a HTTP/1.1 3000000\n"),
            (["/a", "-H", "Expect: 100-continue", "--data-binary", f"@{path}", "--expect100-timeout", "2"],
             b"POST /a HTTP/1.1 3000000\n"),
            (["/a", "-H", "Transfer-Encoding: chunked", "--data-binary", f"@{path}"], b"POST /a HTTP/1.1 3000000\n"),
            (["/a", "-0"], b"GET /a HTTP/1.1 0\n"), (["/a", "-0", "-d", "x=1"], b"POST /a HTTP/1.1 3\n"),
            (["/a", "-X", "DELETE"], b"DELETE /a HTTP/1.1 0\n"), (["/a", "--http1.1", "-H", "Connection: close"],
                                                                   b"GET /a HTTP/1.1 0\n")]
    for (target, *options), wanted in rows:
        code, out = await output_of(curl, "-sS", "--max-time", "30", url + target, *options)
        check(code == 0 and out == wanted, f"{options}: {code} {out}")
    code, out = await output_of(curl, "-sSI", url + "/head")
    check(code == 0 and out.startswith(b"HTTP/1.1 200"), f"{code} {out}")
    code, out = await output_of(curl, "-sSv", url + "/1", url + "/2")
    check(code == 0 and b"Re-using existing connection" in out, f"not kept alive: {out}")


@case
async def curl_that_is_interrupted_cancels(t):
    curl = need("curl")
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)
    process = await asyncio.create_subprocess_exec(curl, "-sS", f"http://127.0.0.1:{gateway.port}/think",
                                                   stdout=asyncio.subprocess.DEVNULL)
    peer = await upstream.connection()
    await peer.request()
    await asyncio.sleep(0.4)
    process.terminate()
    await process.wait()
    await peer.ended(5)


@case
async def nc_that_half_closes_is_served(t):
    nc = need("nc")
    upstream = await t.upstream()
    gateway = await t.gateway(upstream)

    async def think():
        peer = await upstream.connection()
        await peer.request()
        await asyncio.sleep(1)
        peer.send(response_bytes(b"served"))

    thinking = t.later(think())
    code, out = await output_of(nc, "-N", "127.0.0.1", str(gateway.port), given=request_bytes(target="/nc"))
    if code != 0 and b"invalid option" in out:
        code, out = await output_of(nc, "-q", "5", "127.0.0.1", str(gateway.port), given=request_bytes(target="/nc"))
    await thinking
    check(out.endswith(b"served"), f"{code} {out} {gateway.log[-3:]}")


@case
async def nginx_as_the_upstream(t):
    need("nginx")
    port = free_port()
    root = os.path.join(t.directory, "www")
    os.makedirs(root)
    data = bytes(range(256)) * 80_000
    for name, content in (("big.bin", data), ("index.html", b"<p>hello</p>" * 500)):
        with open(os.path.join(root, name), "wb") as file:
            file.write(content)
    http = f"server {{ listen 127.0.0.1:{port}; root {root}; keepalive_timeout 1s; gzip on; gzip_min_length 10; gzip_proxied any; }}"
    async with Nginx(t.directory, port, http) as nginx:
        gateway = await t.gateway(nginx.url)
        response = await t.ask(gateway, request_bytes(target="/big.bin"))
        check(response.body == data, f"{response}")
        response = await t.ask(gateway, request_bytes(target="/big.bin", fields=[("Range", "bytes=100-199")]))
        check(response.status == 206 and response.body == data[100:200], f"{response}")
        response = await t.ask(gateway, request_bytes(fields=[("Accept-Encoding", "gzip")]))
        check(response.get("Content-Encoding") == "gzip" and response.body[:2] == b"\x1f\x8b", f"{response}")
        tag = (await t.ask(gateway, request_bytes())).get("ETag")
        response = await t.ask(gateway, request_bytes(fields=[("If-None-Match", tag)]))
        check(response.status == 304, f"{response}")
        check((await t.ask(gateway, request_bytes("HEAD", "/big.bin"))).get("Content-Length") == str(len(data)), "HEAD")
        wire = await t.client(gateway)
        for n in range(12):  # around the second after which nginx closes
            wire.send(request_bytes(target="/index.html"))
            check((await wire.response()).status == 200, f"request {n} failed")
            await asyncio.sleep(0.94 + 0.01 * n)


@case
async def nginx_in_front(t):
    need("nginx")
    port = free_port()
    upstream = await t.answering(echo)
    gateway = await t.gateway(upstream, client={"trustedProxies": ["127.0.0.1"]})
    http = f"""upstream g {{ server 127.0.0.1:{gateway.port}; keepalive 8; }}
      server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://g; proxy_http_version 1.1;
        proxy_set_header Connection ""; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; }} }}"""
    async with Nginx(t.directory, port, http):
        curl = need("curl")
        for n in range(20):
            code, out = await output_of(curl, "-sS", f"http://127.0.0.1:{port}/{n}", *(["-d", "x=1"] if n % 2 else []))
            check(code == 0 and out.startswith(b"POST" if n % 2 else b"GET"), f"{code} {out}")
        request = upstream.requests[0][0]
        check(request.listed("X-Forwarded-For") == ["127.0.0.1", "127.0.0.1"], f"{request}")
