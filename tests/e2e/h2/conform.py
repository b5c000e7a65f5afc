"""Plays the rows of rows.py against a server and tells what it answered."""

from support.message import Fault

from . import frames as f
from .client import Raw

TIME = 8.0  # seconds that an answer may take
SMALL = 16_384  # the upstream's receive buffer
BIG_BODY = bytes(range(250)) * 800


async def upstream_script(wire):
    """An HTTP/1.1 upstream that answers as the rows' paths want it to."""
    while await wire.until(lambda: wire.buffer or wire.end, 3600) and wire.buffer:
        head = await wire.request_head()
        if head.target == "/take-nothing":
            wire.pause()
        if head.target in ("/wait", "/take-nothing"):
            await wire.until(lambda: wire.end, 3600)
            return
        await wire._body(head, head.framing(), 3600)
        body = BIG_BODY if head.target == "/big" else b"ok"
        wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


async def answer_to(row, wire):
    """What the server at the other end of a new connection answers."""
    client = Raw(wire, preface=row.preface)
    if _is_not_http2(row):
        client.pump = lambda: None
    watched = client.stream(row.watch) if row.watch else client.stream(1)
    try:
        for piece in row.sent:
            if isinstance(piece, bytes):
                client.send(piece)
            else:
                await piece(client)
        return await _verdict(client, watched, row)
    except (Fault, AssertionError) as fault:
        return f"wrong: {fault}"


def _is_not_http2(row):
    return not row.preface and not row.sent[0].startswith(f.PREFACE)


def _error(client):
    codes = [code for _, code, _ in client.goaways if code != f.NO_ERROR]
    return f"GOAWAY {f.error_name(codes[-1])}" if codes else None


async def _verdict(client, watched, row):
    if _is_not_http2(row):
        return await _not_http2(client)
    await client.until(lambda: _error(client) or watched.code is not None or (row.watch and watched.ended), TIME)
    if _error(client):
        await client.wire.until(lambda: client.wire.end, TIME)
        return _error(client) + ("" if client.wire.end else ", not closed")
    if client.wire.end and not watched.ended:
        return "closed"
    if watched.code is not None:
        told = f"{watched.status}" if watched.status and row.watch else f"RST_STREAM {watched.error}"
    elif row.watch and watched.ended:
        told = f"{watched.status}"
    else:
        return "nothing"
    return told + await _still_serves(client)


async def _still_serves(client):
    number = client._last_id + (2 if client._last_id % 2 else 1)
    if number > f.LARGEST_WINDOW or (client.wire.end and _error(client) is None):
        return ""
    after = await client.ask(number=number, seconds=TIME)
    if client.refused(after) and client.goaways[-1][1] == f.NO_ERROR:
        return ""  # it was told to go away
    if client.wire.end and not after.status and _error(client) is None:
        return ""  # the end was on its way: the client had said GOAWAY
    return "" if after.status == 200 else f", then {_error(client) or after.status or after.error or 'nothing'}"


async def _not_http2(client):
    """An answer of HTTP/1.1's, or of neither."""
    wire = client.wire
    await wire.until(lambda: wire.end, TIME)
    if wire.buffer.startswith(b"HTTP/1.1 "):
        return wire.buffer[:12].decode()
    frame, codes, at = f.next_frame(wire.buffer, 0), [], 0
    while frame:
        one, at = frame
        codes += [int.from_bytes(one.payload[4:8], "big")] if one.kind == f.GOAWAY else []
        frame = f.next_frame(wire.buffer, at)
    return f"GOAWAY {f.error_name(codes[-1])}" if codes else "closed" if wire.end else "nothing"
