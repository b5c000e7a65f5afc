"""The same for gunicorn (wsgi) and uvicorn (asgi): counts what is delivered."""

import asyncio
import collections
import json
import time

HOLD = 0.04  # s, so that the requests of a wave need a connection each
seen = collections.Counter()


def answer(method, path):
    if path == "/counts":
        return json.dumps(list(seen.items())).encode()
    seen[f"{method} {path}"] += 1
    return path.encode()


def wsgi(environ, start_response):
    environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    body = answer(environ["REQUEST_METHOD"], environ["PATH_INFO"])
    if environ["QUERY_STRING"] == "hold":
        time.sleep(HOLD)
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]


async def asgi(scope, receive, send):
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    body = answer(scope["method"], scope["path"])
    if scope["query_string"] == b"hold":
        await asyncio.sleep(HOLD)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})
