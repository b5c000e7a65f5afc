"""Python's clients through the running examples: python.py MODELS STACK WEB. requests, httpx, aiohttp, http.client."""

import asyncio
import hashlib
import http.client
import json
import os
import sys
import threading
import time
import uuid
from urllib.parse import urlsplit

MODELS, STACK, WEB = sys.argv[1:4]
TEXT = "Silence is not an error."
ASK = {"model": "stand-in", "max_tokens": 9, "messages": [{"role": "user", "content": "Why?"}]}
DATA = os.urandom(5_000_000)
HASH = hashlib.sha256(DATA).hexdigest()
failed = []


def check(name, body):
    begin = time.monotonic()
    try:
        said = body()
        print(f"ok   {name}{f': {said}' if said else ''} ({(time.monotonic() - begin) * 1e3:.0f} ms)", flush=True)
    except Exception as fault:  # the verdict, whatever went wrong
        failed.append(name)
        print(f"FAIL {name}: {fault!r} (line {fault.__traceback__.tb_next.tb_lineno})", flush=True)


def same(seen, expected):
    if seen != expected:
        raise AssertionError(f"expected {expected!r}, seen {seen!r}")


def words_of(lines):
    events = [line[6:] for line in lines if line.startswith("data: ") and line != "data: [DONE]"]
    return "".join(json.loads(event)["choices"][0]["delta"].get("content", "") for event in events)


def pieces():
    for at in range(0, len(DATA), 70_000):
        yield DATA[at:at + 70_000]


def with_requests():
    import requests
    session = requests.Session()

    def mixed():
        tag = uuid.uuid4()
        for n in range(60):
            same(session.get(f"{WEB}/notes/who").status_code, 200)
            same(session.post(f"{WEB}/order?number={tag}-{n}", data=b"x").json()["ordered"], 1)
        same(session.head(f"{STACK}/rest/v1/todos", headers={"Prefer": "count=exact"}).headers["Content-Range"][:2], "*/")

    def bodies():
        same(session.put(f"{WEB}/notes/upload", data=DATA).json()["sha256"], HASH)
        same(session.put(f"{WEB}/notes/upload", data=pieces()).json()["sha256"], HASH)
        same(sum(map(len, session.get(f"{WEB}/prices.csv", stream=True).iter_content(65536))), 1_677_790)
        files = {"": ("x.bin", DATA)}
        same(session.post(f"{STACK}/storage/v1/object/files/requests.bin", files=files).status_code, 200)
        same(session.get(f"{STACK}/storage/v1/object/files/requests.bin").content == DATA, True)

    def stream():
        answer = session.post(f"{MODELS}/v1/chat/completions", json={**ASK, "stream": True}, stream=True)
        same(words_of(answer.iter_lines(decode_unicode=True)), TEXT)

    def tool():
        before = session.get(f"{STACK}/mcp").json()["calls"]
        for n in range(50):
            same(session.post(f"{STACK}/mcp", json={"jsonrpc": "2.0", "id": n, "method": "tools/call"}).json()["id"], n)
        same(session.get(f"{STACK}/mcp").json()["calls"] - before, 50)

    check("requests: GETs and POSTs on one session", mixed)
    check("requests: uploads whole, in chunks, as a form; downloads", bodies)
    check("requests: a model's stream behind its silence", stream)
    check("requests: a tool server that closes behind each POST, called 50 times", tool)


def with_httpx():
    import httpx

    async def run():
        limits = httpx.Limits(max_connections=16)
        async with httpx.AsyncClient(timeout=60, limits=limits) as client:
            tag = uuid.uuid4()

            async def one(n):
                if n % 2:
                    return same((await client.get(f"{WEB}/notes/who")).status_code, 200)
                return same((await client.post(f"{WEB}/order?number={tag}-{n}", content=b"x")).json()["ordered"], 1)

            await asyncio.gather(*(one(n) for n in range(200)))

            async def chunks():
                for piece in pieces():
                    yield piece

            same((await client.put(f"{WEB}/notes/upload", content=chunks())).json()["sha256"], HASH)
            async with client.stream("POST", f"{MODELS}/v1/chat/completions", json={**ASK, "stream": True}) as answer:
                same(words_of([line.rstrip("\n") async for line in answer.aiter_lines()]), TEXT)

    check("httpx: 200 at once, upload in chunks, a model's stream", lambda: asyncio.run(run()))


def with_aiohttp():
    import aiohttp

    async def run():
        async with aiohttp.ClientSession() as session:
            tag = uuid.uuid4()

            async def one(n):
                if n % 2:
                    async with session.get(f"{WEB}/notes/who") as answer:
                        return same(answer.status, 200)
                async with session.post(f"{WEB}/order?number={tag}-{n}", data=b"x") as answer:
                    return same((await answer.json())["ordered"], 1)

            await asyncio.gather(*(one(n) for n in range(200)))
            async with session.put(f"{WEB}/notes/upload", data=DATA, expect100=True) as answer:
                same((await answer.json())["sha256"], HASH)
            async with session.post(f"{MODELS}/v1/chat/completions", json={**ASK, "stream": True}) as answer:
                same(words_of([line.decode().rstrip("\n") async for line in answer.content]), TEXT)
            async with session.ws_connect(f"{STACK}/realtime/v1/websocket?vsn=1.0.0", heartbeat=1) as socket:
                for n in range(100):
                    await socket.send_str(json.dumps({"topic": "phoenix", "event": "heartbeat", "payload": {}, "ref": str(n)}))
                    same(json.loads((await socket.receive(timeout=20)).data)["ref"], str(n))

    check("aiohttp: 200 at once, upload with Expect, a model's stream, WebSocket", lambda: asyncio.run(run()))


def with_http_client():
    place = urlsplit(WEB).netloc

    def run():
        connection = http.client.HTTPConnection(place, timeout=30)
        for n in range(100):
            method, body = (("GET", None), ("HEAD", None), ("PUT", b"x" * n), ("POST", b"x"))[n % 4]
            path = "/notes/who" if body is None else "/notes/upload" if method == "PUT" else f"/order?number={uuid.uuid4()}"
            connection.request(method, path, body)
            answer = connection.getresponse()
            text = answer.read()
            same(answer.status, 201 if method == "POST" else 200)
            if method == "PUT":
                same(json.loads(text)["bytes"], n)
        connection.close()

    check("http.client: 100 requests on one connection", run)


def main():
    threading.stack_size(1 << 20)
    for name, run in (("requests", with_requests), ("httpx", with_httpx), ("aiohttp", with_aiohttp)):
        try:
            __import__(name)
        except ImportError:
            print(f"     {name} is not here: left out")
            continue
        run()
    with_http_client()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
