"""As much HTTP/1.1 as the experiments need: reading messages, asking once, a small upstream."""

import asyncio


async def read_head(reader):
    """(first line's words, fields by their lower-case names)"""
    text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = text[:-4].split("\r\n")
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return first.split(" "), {name.lower(): value.strip() for name, value in pairs}


async def read_body(reader, fields):
    if fields.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while size := int((await reader.readline()).split(b";")[0], 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
        return body
    return await reader.readexactly(int(fields.get("content-length", 0)))


def request(method, path, body=None, extra=""):
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{extra}"
    if body is not None:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + (body or b"")


async def ask(connection, method, path, body=None, extra=""):
    """What the client sees: a status, "silent close" or "reset"; and whether the connection can be used again."""
    reader, writer = connection
    try:
        writer.write(request(method, path, body, extra))
        words, fields = await asyncio.wait_for(read_head(reader), 30)
        if method != "HEAD":
            await read_body(reader, fields)
        return words[1], fields.get("connection", "").lower() != "close"
    except asyncio.IncompleteReadError as cut:
        return ("cut short" if cut.partial else "silent close"), False
    except ConnectionError:
        return "reset", False
    except asyncio.TimeoutError:
        return "nothing for 30 s", False


def answer(writer, method="GET", body=b"ok"):
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    writer.write(head if method == "HEAD" else head + body)


async def serve(handler):
    """An upstream on a free port: the server and the port. `handler(reader, writer)` per connection."""
    async def guarded(reader, writer):
        try:
            await handler(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(guarded, "127.0.0.1", 0, backlog=4096)
    return server, server.sockets[0].getsockname()[1]
