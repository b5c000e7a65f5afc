"""Frames (RFC 9113 section 6), built from and cut into their parts. Nothing is checked here."""

import struct
from collections import namedtuple

from .hpack import block

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
PRIORITY_UPDATE = 0x10
NAMES = ("DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY", "WINDOW_UPDATE",
         "CONTINUATION")
END_STREAM, ACK, END_HEADERS, PADDED, HAS_PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = range(1, 7)
ENABLE_CONNECT_PROTOCOL = 8
WINDOW = 65_535  # of every stream and of the connection, to begin with
FRAME_BYTES = 16_384
LARGEST_WINDOW = 0x7FFF_FFFF

ERRORS = ("NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
          "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
          "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED")
(NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED, FRAME_SIZE_ERROR,
 REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM, INADEQUATE_SECURITY,
 HTTP_1_1_REQUIRED) = range(14)

Frame = namedtuple("Frame", "kind flags stream payload")


def error_name(code):
    return ERRORS[code] if code < len(ERRORS) else f"0x{code:x}"


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    """`length`: what its head says of the payload's, if that is to be a lie."""
    size = len(payload) if length is None else length
    return struct.pack(">I", size)[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def next_frame(data, at):
    """(the frame that begins at `at`, where the next begins), or None if it has not come whole."""
    if len(data) - at < 9:
        return None
    end = at + 9 + int.from_bytes(data[at:at + 3], "big")
    if len(data) < end:
        return None
    number = int.from_bytes(data[at + 5:at + 9], "big") & 0x7FFF_FFFF
    return Frame(data[at + 3], data[at + 4], number, bytes(data[at + 9:end])), end


def settings(*pairs, flags=0):
    return frame(SETTINGS, flags, 0, b"".join(struct.pack(">HI", key, value) for key, value in pairs))


def settings_ack():
    return frame(SETTINGS, ACK)


def headers(stream, fields, *, end=True, flags=END_HEADERS):
    """`fields`: pairs, or a block already encoded. It is cut into CONTINUATIONs where it does not fit a frame."""
    data = fields if isinstance(fields, bytes) else block(fields)
    if len(data) <= FRAME_BYTES or not flags & END_HEADERS:
        return frame(HEADERS, flags | (END_STREAM if end else 0), stream, data)
    pieces = [data[at:at + FRAME_BYTES] for at in range(0, len(data), FRAME_BYTES)]
    out = frame(HEADERS, (flags & ~END_HEADERS) | (END_STREAM if end else 0), stream, pieces[0])
    for piece in pieces[1:-1]:
        out += frame(CONTINUATION, 0, stream, piece)
    return out + frame(CONTINUATION, END_HEADERS, stream, pieces[-1])


def continuation(stream, data, *, end=True):
    return frame(CONTINUATION, END_HEADERS if end else 0, stream, data)


def data(stream, payload=b"", *, end=False):
    return frame(DATA, END_STREAM if end else 0, stream, payload)


def rst(stream, code=CANCEL):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


def ping(payload=b"12345678", flags=0, stream=0):
    return frame(PING, flags, stream, payload)


def goaway(last=0, code=NO_ERROR, text=b""):
    return frame(GOAWAY, 0, 0, struct.pack(">II", last, code) + text)


def window_update(stream, increment):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))


def priority(stream, depends_on=0, weight=15):
    return frame(PRIORITY, 0, stream, struct.pack(">IB", depends_on, weight))


def push_promise(stream, promised, fields, flags=END_HEADERS):
    return frame(PUSH_PROMISE, flags, stream, struct.pack(">I", promised) + block(fields))


def request_fields(method="GET", path="/", fields=(), authority="localhost", scheme="http"):
    return [(":method", method), (":scheme", scheme), (":authority", authority), (":path", path), *fields]
