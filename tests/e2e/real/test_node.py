"""Node's own server and clients on both sides of the gateway."""

import os

from programs import HERE, Running, need, output_of
from support import Skip, case, check


def node_server(keep_alive_ms=5000, certificate=None):
    files = [certificate.certificate, certificate.key] if certificate else []
    return Running(need("node"), str(HERE / "server.js"), str(keep_alive_ms), *files)


async def client(gateway, name, trusted=None):
    """With TLS, if an authority is to be trusted."""
    url = f"https://localhost:{gateway.port}" if trusted else f"http://127.0.0.1:{gateway.port}"
    environment = {"NODE_EXTRA_CA_CERTS": trusted.certificate} if trusted else {}
    code, out = await output_of(need("node"), str(HERE / "client.js"), url, name, seconds=100, environment=environment)
    check(code == 0, out.decode("utf-8", "replace")[-600:])


@case(seconds=120)
async def mixed_requests_are_delivered_exactly_once(t):
    async with node_server() as server:
        await client(await t.gateway(server.url), "mixed")


@case(seconds=120)
async def a_server_that_closes_idle_connections_just_then_fails_nobody(t):
    async with node_server(1000) as server:
        await client(await t.gateway(server.url), "mixed:1000")


@case(seconds=120)
async def bodies_go_through_whole(t):
    async with node_server() as server:
        await client(await t.gateway(server.url), "bodies")


@case(seconds=120)
async def silence_is_survived(t):
    async with node_server() as server:
        await client(await t.gateway(server.url, limits={"idleTimeoutMs": 1000, "requestTimeoutMs": 1000}), "silence")


@case(seconds=120)
async def an_abort_stops_the_servers_work(t):
    async with node_server() as server:
        await client(await t.gateway(server.url), "abort")


@case(seconds=120)
async def a_websocket_echoes(t):
    async with node_server() as server:
        await client(await t.gateway(server.url), "websocket")


WS_SERVER = """
const { WebSocketServer } = require('ws');
const server = new WebSocketServer({ port: 0, host: '127.0.0.1' }, () => console.log(server.address().port));
server.on('connection', (socket) => socket.on('message', (data, binary) => socket.send(data, { binary })));
"""
WS_CLIENT = """
const WebSocket = require('ws');
const socket = new WebSocket(`ws://127.0.0.1:${process.argv[2]}/chat`);
const sent = ['hello', 'x'.repeat(1000), 'y'.repeat(1000000)];
let next = 0;
socket.on('open', () => sent.forEach((text) => socket.send(text)));
socket.on('message', (data) => {
  if (String(data) !== sent[next]) { console.log(`another message ${next}`); process.exit(1); }
  next += 1;
  if (next === sent.length) socket.close(1000);
});
socket.on('close', (code) => process.exit(code === 1000 && next === sent.length ? 0 : 1));
socket.on('error', (error) => { console.log(error.message); process.exit(1); });
"""


@case(seconds=180)
async def the_package_ws_works_both_ways(t):
    node, npm = need("node"), need("npm")
    code, out = await output_of(npm, "install", "--no-audit", "--no-fund", "--prefer-offline", "ws@8", seconds=90,
                                directory=t.directory)
    if code != 0:
        raise Skip(f"the package ws can't be had here: {out.decode('utf-8', 'replace').strip()[-120:]!r}")
    for name, text in (("server.js", WS_SERVER), ("client.js", WS_CLIENT)):
        with open(os.path.join(t.directory, name), "w", encoding="utf-8") as file:
            file.write(text)
    async with Running(node, os.path.join(t.directory, "server.js"), directory=t.directory) as server:
        gateway = await t.gateway(server.url)
        code, out = await output_of(node, "client.js", str(gateway.port), directory=t.directory)
        check(code == 0, f"{code} {out}")
