"""What RFC 9113 says of what a client may do wrong, and of what a server has to bear: a row each. What is sent, and which
answers the RFC allows. test_h2_conformance.py plays them; table.py prints them for docs/http2.md."""

import struct

from . import frames as f
from .hpack import block, indexed, integer, literal, table_size

ROWS = []
FINE = {"200"}


class Row:
    """`sent`: bytes, or coroutine functions of the client. `watch`: the stream whose end tells. `fields`: of the
    gateway's file."""

    def __init__(self, section, text, allowed, *sent, watch=1, preface=True):
        self.section, self.text, self.allowed, self.sent = section, text, allowed, sent
        self.watch, self.preface = watch, preface
        ROWS.append(self)


def connection(*codes):
    """The connection ends, with one of these codes."""
    return {f"GOAWAY {f.error_name(code)}" for code in codes}


def stream(*codes):
    """The stream ends, and the connection may (section 5.4.1)."""
    return {f"RST_STREAM {f.error_name(code)}" for code in codes} | connection(*codes)


MALFORMED = stream(f.PROTOCOL_ERROR) | {"400"}  # an answer may come before the reset (section 8.1.1)
COMPRESSION, FRAME_SIZE = connection(f.COMPRESSION_ERROR), connection(f.FRAME_SIZE_ERROR)
PROTOCOL = connection(f.PROTOCOL_ERROR)
CLOSED = stream(f.STREAM_CLOSED)
NOT_HTTP2 = {"closed", "HTTP/1.1 400", "HTTP/1.1 505"} | PROTOCOL


def get(number=1, path="/", fields=(), **options):
    return f.headers(number, f.request_fields("GET", path, fields), **options)


def post(number=1, path="/", fields=(), **options):
    return f.headers(number, f.request_fields("POST", path, fields), **{"end": False, **options})


def raw(fields, number=1, end=True):
    return f.headers(number, list(fields), end=end)


async def answered(client):
    """The first response has come, so its stream is closed."""
    await client.want(lambda: 1 in client.streams and client.streams[1].finished, "answer")


async def settled(client):
    """What was sent is known to be processed, and nothing came of it."""
    pongs = len(client.pongs)
    client.send(f.ping(b"settled "))
    await client.until(lambda: len(client.pongs) > pongs)


async def first_is_settings(client):
    await client.want(lambda: client.frames, "frame")
    assert client.frames[0][0] == f.SETTINGS and not client.frames[0][1] & f.ACK, client.frames[0]


WAIT, BIG = "/wait", "/big"  # the upstream does not answer; it answers with 200 000 bytes

# --- 3 Starting HTTP/2
Row("3.1", "HTTP/1.1 with `Upgrade: h2c`: answered as HTTP/1.1", {"HTTP/1.1 200"},
    b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n"
    b"HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n", preface=False)
for said, text in ((b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", "whose second half is another"),
                   (b"PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n", "of another version")):
    Row("3.4", f"a preface {text}", NOT_HTTP2, said + f.settings(), preface=False)
Row("3.4", "no SETTINGS behind the preface: PING", PROTOCOL, f.PREFACE + f.ping(), preface=False)
Row("3.4", "no SETTINGS behind the preface: HEADERS", PROTOCOL, f.PREFACE + get(), preface=False)
Row("3.4", "an acknowledgement behind the preface, of nothing", PROTOCOL, f.PREFACE + f.settings_ack(), preface=False)
Row("3.4", "preface, SETTINGS and a request in one", FINE, f.PREFACE + f.settings() + get(), preface=False)
Row("3.4", "the server's SETTINGS is its first frame", FINE, first_is_settings, get())

# --- 4.1 Frame format
Row("4.1", "an unknown frame, of the connection", FINE, f.frame(0xEE, 0xFF, 0, b"?" * 9) + get())
Row("4.1", "an unknown frame, of an open stream", FINE, post() + f.frame(0xEE, 0, 1, b"?") + f.data(1, b"x", end=True))
Row("4.1", "flags that a frame does not have: PING, DATA", FINE,
    f.ping(flags=0xFE) + post() + f.frame(f.DATA, 0xF6 & ~f.PADDED | f.END_STREAM, 1, b"x"))
Row("4.1", "the reserved bit in front of a stream's number", FINE, f.frame(f.PING, 0, 0x8000_0000, b"12345678") + get())

# --- 4.2 Frame size
Row("4.2", "DATA of 16 384 bytes", FINE, post() + f.data(1, b"d" * 16_384, end=True))
Row("4.2", "DATA of 16 385 bytes", stream(f.FRAME_SIZE_ERROR), post() + f.data(1, b"d" * 16_385, end=True))
Row("4.2", "HEADERS of 16 385 bytes and more", FRAME_SIZE,
    f.frame(f.HEADERS, 5, 1, block(f.request_fields()) + literal("x", "a" * 16_400)))
Row("4.2", "SETTINGS of 16 386 bytes", FRAME_SIZE, f.settings(*[(0xFF, 1)] * 2731))
Row("4.2", "PING that claims 16 MiB", FRAME_SIZE, f.frame(f.PING, 0, 0, b"12345678", length=0xFF_FFFF))
Row("4.2", "a frame of an unknown kind of 16 385 bytes", FRAME_SIZE | FINE, f.frame(0xEE, 0, 0, b"?" * 16_385) + get())

# --- 4.3 Field section compression
def compressed(text, data, allowed=None):
    Row("4.3", text, allowed or COMPRESSION, f.frame(f.HEADERS, 5, 1, data))


WHOLE = block(f.request_fields())
compressed("index 0", WHOLE + indexed(0))
compressed("an index beyond the table", WHOLE + indexed(70))
compressed("a name's index beyond the table", WHOLE + integer(70, 6, 0x40) + b"\x01a")
compressed("a string that is longer than the block", WHOLE + b"\x00\x01a\x7f\x00")
compressed("a block that ends within a field", WHOLE + b"\x00\x01a")
compressed("an integer without end", WHOLE + b"\xff" + b"\xff" * 12 + b"\x01")
compressed("a Huffman string with the end of string in it", WHOLE + b"\x00\x01a\x84\xff\xff\xff\xfc")
compressed("a Huffman string padded with zeros", WHOLE + b"\x00\x01a\x81\x18")
compressed("a Huffman string padded with more than 7 bits", WHOLE + b"\x00\x01a\x82\x1f\xff")
compressed("a table larger than allowed", table_size(1 << 20) + WHOLE)
compressed("a change of the table's size behind a field", WHOLE + table_size(0))
Row("4.3", "a table of 0 bytes and then of 4 096", FINE, f.frame(f.HEADERS, 5, 1, table_size(0) + table_size(4096) + WHOLE))
Row("4.3", "what a refused request put into the table is there for the next", FINE,
    f.frame(f.HEADERS, 5, 1, WHOLE + literal("x-table", "1", 0x40) + literal("connection", "close")) +
    f.frame(f.HEADERS, 5, 3, WHOLE + indexed(62)), watch=3)
Row("4.3", "... and what one put there that is not to be served: it was reset before", FINE,
    f.frame(f.HEADERS, 4, 1, WHOLE) + f.rst(1) + f.frame(f.HEADERS, 5, 1 + 2, WHOLE + literal("x-table", "1", 0x40)) +
    f.frame(f.HEADERS, 5, 5, WHOLE + indexed(62)), watch=5)

# --- 5.1 Stream states
Row("5.1", "idle: DATA", PROTOCOL, f.data(1, b"x", end=True))
Row("5.1", "idle: RST_STREAM", PROTOCOL, f.rst(1))
Row("5.1", "idle: WINDOW_UPDATE", PROTOCOL, f.window_update(1, 100))
Row("5.1", "idle: CONTINUATION", PROTOCOL, f.continuation(1, WHOLE))
Row("5.1", "idle: PRIORITY, and then a request", FINE, f.priority(1) + get())
Row("5.1", "half-closed: DATA", CLOSED, get(path=WAIT) + f.data(1, b"x"))
Row("5.1", "half-closed: HEADERS", CLOSED, get(path=WAIT) + raw([("x", "1")]))
Row("5.1", "half-closed: CONTINUATION", CLOSED | PROTOCOL, get(path=WAIT) + f.continuation(1, block([("x", "1")])))
Row("5.1", "half-closed: WINDOW_UPDATE, PRIORITY", FINE, get() + f.window_update(1, 9) + f.priority(1))
Row("5.1", "closed by its end: DATA", CLOSED, get(), answered, f.data(1, b"x"), watch=None)
Row("5.1", "closed by its end: HEADERS", CLOSED | PROTOCOL, get(), answered, get(), watch=None)
Row("5.1", "closed by its end: CONTINUATION", CLOSED | PROTOCOL, get(), answered, f.continuation(1, WHOLE), watch=None)
Row("5.1", "closed by its end: WINDOW_UPDATE, PRIORITY, RST_STREAM", FINE | CLOSED | PROTOCOL, get(), answered,
    f.window_update(1, 9) + f.priority(1) + f.rst(1) + get(3), watch=3)
Row("5.1", "closed by RST_STREAM: DATA", CLOSED, post(path=WAIT), settled, f.rst(1) + f.data(1, b"x"), watch=None)
Row("5.1", "closed by RST_STREAM: HEADERS", CLOSED | PROTOCOL, post(path=WAIT), settled, f.rst(1) + raw([("x", "1")]),
    watch=None)
Row("5.1", "closed by RST_STREAM: CONTINUATION", CLOSED | PROTOCOL, post(path=WAIT), settled,
    f.rst(1) + f.continuation(1, block([("x", "1")])), watch=None)
Row("5.1.1", "a stream with an even number", PROTOCOL, get(2), watch=2)
Row("5.1.1", "a stream with a smaller number than one before", PROTOCOL | CLOSED, get(5), settled, get(3), watch=3)
Row("5.1.1", "numbers may be left out", FINE, get(7), watch=7)
Row("5.1.1", "the largest number", FINE, get(0x7FFF_FFFF), watch=0x7FFF_FFFF)

# --- 5.3 Priority, 5.5 Extending HTTP/2
Row("5.3", "HEADERS: a stream that depends on itself", FINE | stream(f.PROTOCOL_ERROR),
    f.frame(f.HEADERS, 5 | f.HAS_PRIORITY, 1, struct.pack(">IB", 1, 15) + WHOLE))
Row("5.3", "PRIORITY: a stream that depends on itself", FINE | stream(f.PROTOCOL_ERROR), post() + f.priority(1, 1) +
    f.data(1, b"x", end=True))
Row("5.5", "an unknown setting", FINE, f.settings((0xABCD, 7)) + get())
Row("5.5", "an unknown frame within a block", PROTOCOL, f.headers(1, WHOLE[:20], flags=0) + f.frame(0xEE, 0, 1, b"?") +
    f.continuation(1, WHOLE[20:]))

# --- 6.1 DATA
Row("6.1", "on stream 0", PROTOCOL, f.data(0, b"x", end=True))
Row("6.1", "padding as long as the frame", PROTOCOL, post() + f.frame(f.DATA, 9, 1, b"\x05pppp"))
Row("6.1", "padding longer than the frame", PROTOCOL, post() + f.frame(f.DATA, 9, 1, b"\xff" + b"p" * 20))
Row("6.1", "padded, but without the padding's length", PROTOCOL | FRAME_SIZE, post() + f.frame(f.DATA, 9, 1))
Row("6.1", "padding of 0 and of 255 bytes", FINE, post() + f.frame(f.DATA, 8, 1, b"\x00x") +
    f.frame(f.DATA, 9, 1, b"\xffx" + bytes(255)))
Row("6.1", "empty with the end", FINE, post() + f.data(1, b"x") + f.data(1, end=True))

# --- 6.2 HEADERS
Row("6.2", "on stream 0", PROTOCOL, get(0))
Row("6.2", "padding longer than the frame", PROTOCOL, f.frame(f.HEADERS, 5 | f.PADDED, 1, b"\xff" + WHOLE[:40]))
Row("6.2", "padded, but without the padding's length", PROTOCOL | FRAME_SIZE, f.frame(f.HEADERS, 5 | f.PADDED, 1))
Row("6.2", "with priority, but too short for it", PROTOCOL | FRAME_SIZE, f.frame(f.HEADERS, 5 | f.HAS_PRIORITY, 1, b"\0\0\0"))
Row("6.2", "padded and with priority", FINE,
    f.frame(f.HEADERS, 5 | f.PADDED | f.HAS_PRIORITY, 1, b"\x04" + struct.pack(">IB", 0, 9) + WHOLE + bytes(4)))
Row("6.2", "without its end, then HEADERS of another stream", PROTOCOL, f.headers(1, WHOLE[:20], flags=0) + get(3))
Row("6.2", "without its end, then DATA", PROTOCOL, f.headers(1, WHOLE[:20], flags=0) + f.data(1, b"x"))
Row("6.2", "without its end, then PING", PROTOCOL, f.headers(1, WHOLE[:20], flags=0) + f.ping())
Row("6.2", "without its end, then a CONTINUATION of another stream", PROTOCOL,
    f.headers(1, WHOLE[:20], flags=0) + f.continuation(3, WHOLE[20:]))

# --- 6.3 PRIORITY, 6.4 RST_STREAM
Row("6.3", "on stream 0", PROTOCOL, f.priority(0, 1))
Row("6.3", "of 4 bytes", stream(f.FRAME_SIZE_ERROR), post() + f.frame(f.PRIORITY, 0, 1, bytes(4)))
Row("6.3", "of 6 bytes", stream(f.FRAME_SIZE_ERROR), post() + f.frame(f.PRIORITY, 0, 1, bytes(6)))
Row("6.4", "on stream 0", PROTOCOL, f.rst(0))
Row("6.4", "on an idle stream", PROTOCOL, f.rst(5))
Row("6.4", "of 3 bytes", FRAME_SIZE, post() + f.frame(f.RST_STREAM, 0, 1, bytes(3)))
Row("6.4", "of 5 bytes", FRAME_SIZE, post() + f.frame(f.RST_STREAM, 0, 1, bytes(5)))
Row("6.4", "with a code that nobody knows", FINE, get(path=WAIT) + f.rst(1, 0xDEAD) + get(3), watch=3)

# --- 6.5 SETTINGS
Row("6.5", "an acknowledgement with a payload", FRAME_SIZE, f.settings((1, 4096), flags=f.ACK))
Row("6.5", "on a stream", PROTOCOL, f.frame(f.SETTINGS, 0, 1))
Row("6.5", "of 5 bytes", FRAME_SIZE, f.frame(f.SETTINGS, 0, 0, bytes(5)))
Row("6.5", "of 7 bytes", FRAME_SIZE, f.frame(f.SETTINGS, 0, 0, bytes(7)))
Row("6.5.2", "ENABLE_PUSH of 2", PROTOCOL, f.settings((f.ENABLE_PUSH, 2)))
Row("6.5.2", "INITIAL_WINDOW_SIZE of 2³¹", connection(f.FLOW_CONTROL_ERROR), f.settings((f.INITIAL_WINDOW_SIZE, 1 << 31)))
Row("6.5.2", "MAX_FRAME_SIZE of 16 383", PROTOCOL, f.settings((f.MAX_FRAME_SIZE, 16_383)))
Row("6.5.2", "MAX_FRAME_SIZE of 2²⁴", PROTOCOL, f.settings((f.MAX_FRAME_SIZE, 1 << 24)))
Row("6.5.2", "ENABLE_CONNECT_PROTOCOL of 2 (RFC 8441)", PROTOCOL | FINE, f.settings((f.ENABLE_CONNECT_PROTOCOL, 2)) + get())
Row("6.5.2", "HEADER_TABLE_SIZE of 0 and of 4 GiB", FINE, f.settings((1, 0)) + f.settings((1, 0xFFFF_FFFF)) + get())
Row("6.5.2", "MAX_CONCURRENT_STREAMS of 0: none is opened towards us anyway", FINE, f.settings((3, 0)) + get())


async def settings_are_acknowledged(client):
    before = client.settings_acked
    client.send(f.settings((f.INITIAL_WINDOW_SIZE, 1000)), f.settings())
    await client.want(lambda: client.settings_acked >= before + 2, "acknowledgement")


async def the_last_of_equal_ones_holds(client):
    client.own_window = 1
    client.gives = False
    client.send(f.settings((f.INITIAL_WINDOW_SIZE, 100), (f.INITIAL_WINDOW_SIZE, 1)), get(3, BIG))
    other = client.stream(3)
    other.gives = False
    await client.want(lambda: other.received == 1, "DATA of one byte")
    await settled(client)
    assert other.received == 1, other


Row("6.5.3", "every SETTINGS is acknowledged", FINE, settings_are_acknowledged, get())
Row("6.5.3", "the last value of a setting holds", FINE, the_last_of_equal_ones_holds, get(5), watch=5)

# --- 6.6 PUSH_PROMISE, 6.7 PING, 6.8 GOAWAY
Row("6.6", "from a client", PROTOCOL, post() + f.push_promise(1, 2, f.request_fields()))
Row("6.6", "from a client, on stream 0", PROTOCOL, f.push_promise(0, 2, f.request_fields()))


async def pings_are_answered(client):
    client.send(f.ping(b"pinged 1"), f.ping(b"pinged 2"))
    await client.want(lambda: client.pongs == [b"pinged 1", b"pinged 2"], "answers with what was sent")


async def no_answer_to_an_answer(client):
    client.send(f.ping(b"an-answr", f.ACK))
    await settled(client)
    assert client.pongs == [b"settled "], client.pongs


Row("6.7", "is answered with the same payload, in order", FINE, pings_are_answered, get())
Row("6.7", "an answer is not answered", FINE, no_answer_to_an_answer, get())
Row("6.7", "on a stream", PROTOCOL, f.ping(stream=1))
Row("6.7", "of 7 bytes", FRAME_SIZE, f.ping(b"1234567"))
Row("6.7", "of 9 bytes", FRAME_SIZE, f.ping(b"123456789"))
Row("6.8", "on a stream", PROTOCOL, f.frame(f.GOAWAY, 0, 1, bytes(8)))
Row("6.8", "of 7 bytes", FRAME_SIZE, f.frame(f.GOAWAY, 0, 0, bytes(7)))
Row("6.8", "behind a request, which is answered", FINE, get() + f.goaway())
Row("6.8", "with a code that nobody knows, behind a request", FINE, get() + f.goaway(0, 0xDEAD, b"why"))

# --- 6.9 WINDOW_UPDATE
Row("6.9", "of the connection, by 0", PROTOCOL, f.window_update(0, 0))
Row("6.9", "of a stream, by 0", stream(f.PROTOCOL_ERROR), get(path=WAIT) + f.window_update(1, 0))
Row("6.9", "of 3 bytes", FRAME_SIZE, f.frame(f.WINDOW_UPDATE, 0, 0, bytes(3)))
Row("6.9", "of 5 bytes", FRAME_SIZE, f.frame(f.WINDOW_UPDATE, 0, 0, bytes(5)))
Row("6.9", "with the reserved bit", FINE, f.frame(f.WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x8000_0001)) + get())
Row("6.9.1", "the connection's window beyond 2³¹ - 1", connection(f.FLOW_CONTROL_ERROR),
    f.window_update(0, f.LARGEST_WINDOW) * 2)
Row("6.9.1", "a stream's window beyond 2³¹ - 1", stream(f.FLOW_CONTROL_ERROR),
    get(path=WAIT) + f.window_update(1, f.LARGEST_WINDOW) * 2)
Row("6.9.1", "a stream's window of just 2³¹ - 1", FINE, get() + f.window_update(1, f.LARGEST_WINDOW - f.WINDOW))


async def more_than_the_window(client):
    """As much as the window allows, and on until buffers that are behind it must be full."""
    client.send(post(path="/take-nothing"))
    for _ in range(80):
        client.send(f.data(1, b"d" * 16_384) * 4)
        await settled(client)
        if client.goaways or client.wire.end or (1 in client.streams and client.streams[1].code is not None):
            return


async def a_window_that_becomes_negative(client):
    client.own_window, client.gives = 100, False
    client.send(f.settings((f.INITIAL_WINDOW_SIZE, 100)), get(3, BIG))
    other = client.stream(3)
    other.gives = False
    await client.want(lambda: other.received == 100, "DATA of 100 bytes")
    client.send(f.settings((f.INITIAL_WINDOW_SIZE, 10)))  # -90
    await settled(client)
    client.send(f.window_update(3, 90))  # 0
    await settled(client)
    assert other.received == 100, other
    other.allowed += 1
    client.send(f.window_update(3, 1))
    await client.want(lambda: other.received == 101, "one byte more")
    other.allowed += 9
    client.send(f.settings((f.INITIAL_WINDOW_SIZE, 19)))
    await client.want(lambda: other.received == 110, "nine bytes more")


async def the_connections_window_is_kept_to(client):
    client.gives = False
    for number in (3, 5):
        client.send(get(number, BIG))
        client.stream(number)
    await client.want(lambda: sum(s.received for s in client.streams.values()) == f.WINDOW, "DATA as the window allows")
    await settled(client)
    assert sum(s.received for s in client.streams.values()) == f.WINDOW, client.streams
    client.allowed += 1 << 20
    client.send(f.window_update(0, 1 << 20))
    await client.want(lambda: client.streams[3].ended and client.streams[5].ended, "the rest")


Row("6.9.1", "DATA beyond a stream's window", stream(f.FLOW_CONTROL_ERROR), more_than_the_window)
Row("6.9.2", "SETTINGS makes a window negative: nothing comes until it is not", FINE, a_window_that_becomes_negative, get(5),
    watch=5)
Row("6.9.2", "the connection's window holds for all streams", FINE, the_connections_window_is_kept_to, get(7), watch=7)
Row("6.9.2", "SETTINGS makes a stream's window overflow", connection(f.FLOW_CONTROL_ERROR),
    get(path=WAIT) + f.window_update(1, f.LARGEST_WINDOW - f.WINDOW) + f.settings((f.INITIAL_WINDOW_SIZE, f.WINDOW + 1)))

# --- 6.10 CONTINUATION
Row("6.10", "a block in many", FINE, f.headers(1, WHOLE[:5], flags=0) +
    b"".join(f.continuation(1, WHOLE[at:at + 10], end=at + 10 >= len(WHOLE)) for at in range(5, len(WHOLE), 10)))
Row("6.10", "empty ones, a few", FINE,
    f.headers(1, WHOLE, flags=0) + f.continuation(1, b"", end=False) * 2 + f.continuation(1, b""))
Row("6.10", "behind a block that has ended", PROTOCOL | CLOSED, post(path=WAIT) + f.continuation(1, block([("x", "1")])))
Row("6.10", "on stream 0", PROTOCOL, f.headers(1, WHOLE[:20], flags=0) + f.continuation(0, WHOLE[20:]))
Row("6.10", "behind DATA", PROTOCOL | CLOSED, post(path=WAIT) + f.data(1, b"x") + f.continuation(1, block([("x", "1")])))

# --- 8.1 HTTP message framing
Row("8.1", "a second HEADERS without END_STREAM", MALFORMED, post() + f.data(1, b"x") + raw([("x", "1")], end=False) +
    f.data(1, b"x", end=True))
Row("8.1", "trailers", FINE, post() + f.data(1, b"x") + raw([("x", "1")]))
Row("8.1", "trailers with a pseudo-field", MALFORMED, post() + f.data(1, b"x") + raw([(":path", "/")]))
Row("8.1", "trailers with a connection's field", MALFORMED, post() + f.data(1, b"x") + raw([("connection", "close")]))
Row("8.1", "trailers with a capital in a name", MALFORMED, post() + f.data(1, b"x") + raw([("X-Trailer", "1")]))


def length(text, value, *sent, allowed=None, end=False):
    Row("8.1.1", text, allowed or MALFORMED, post(fields=[("content-length", value)], end=end), *sent)


length("content-length: less DATA", "5", f.data(1, b"four", end=True))
length("content-length: more DATA", "3", f.data(1, b"four", end=True))
length("content-length: more DATA, in two frames", "3", f.data(1, b"fo") + f.data(1, b"ur", end=True))
length("content-length: no DATA", "5", end=True)
length("content-length: empty DATA", "5", f.data(1, end=True))
length("content-length: less DATA, and trailers", "5", f.data(1, b"four") + raw([("x", "1")]))
length("content-length: just so much DATA, padded", "4", f.frame(f.DATA, 9, 1, b"\x03fourppp"), allowed=FINE)
for bad in ("+4", "-4", "0x4", "4,4", "", "four", "18446744073709551620"):
    length(f"content-length: `{bad}`", bad, f.data(1, b"four", end=True))
Row("8.1.1", "two of content-length", MALFORMED, post(fields=[("content-length", "4")] * 2) + f.data(1, b"four", end=True))

# --- 8.2 HTTP fields
def field(section, text, name, value="1", allowed=None):
    Row(section, text, allowed or MALFORMED, get(fields=[(name, value)]))


field("8.2", "a capital in a name", "X-Name")
field("8.2.1", "an empty name", "")
for bad in (" ", ":", "\0", "\r", "\n", "\x7f", "é", "(", "\t"):
    field("8.2.1", f"a name with {ascii(bad)}", f"x{bad}y")
for bad in ("\0", "\r", "\n", "\r\nx: y"):
    field("8.2.1", f"a value with {ascii(bad)}", "x", f"a{bad}b")
for bad in (" a", "a ", "\ta", "a\t"):
    field("8.2.1", f"a blank around a value: {ascii(bad)}", "x", bad)
field("8.2.1", "a value with bytes beyond ASCII", "x", "é", FINE)
for name, value in (("connection", "close"), ("connection", "x"), ("proxy-connection", "keep-alive"), ("keep-alive", "timeout=5"),
                    ("transfer-encoding", "chunked"), ("upgrade", "websocket"), ("te", "gzip"), ("te", "trailers, gzip")):
    field("8.2.2", f"`{name}: {value}`", name, value)
field("8.2.2", "`te: trailers`", "te", "trailers", FINE)

# --- 8.3 HTTP control data
BASE = f.request_fields()


def without(*names):
    return [pair for pair in BASE if pair[0] not in names]


def control(text, fields, allowed=None, section="8.3.1"):
    Row(section, text, allowed or MALFORMED, raw(fields))


control("a pseudo-field that there is not", [*BASE, (":test", "1")], section="8.3")
control("a pseudo-field of responses", [*BASE, (":status", "200")], section="8.3")
control("a pseudo-field behind others", [*without(":path"), ("x", "1"), (":path", "/")], section="8.3")
control("a pseudo-field with a capital", [*without(":path"), (":Path", "/")], section="8.3")
for name, _ in BASE:
    control(f"two of {name}", [pair for pair in BASE for _ in range(2 if pair[0] == name else 1)], section="8.3")
for name in (":method", ":scheme", ":path"):
    control(f"no {name}", without(name))
control("no :authority, but host", [*without(":authority"), ("host", "localhost")], FINE)
control("neither :authority nor host", without(":authority"), MALFORMED)
control(":authority and another host", [*BASE, ("host", "other.example")])
control(":authority and the same host", [*BASE, ("host", "localhost")], FINE)
control("two hosts", [*without(":authority"), ("host", "a"), ("host", "a")])
control("an empty :authority", [*without(":authority"), (":authority", "")])
control("userinfo in :authority", [*without(":authority"), (":authority", "user@localhost")])
control("an empty :path", [*without(":path"), (":path", "")])
control("a :path without a slash in front", [*without(":path"), (":path", "a/b")])
control("a :path with a blank", [*without(":path"), (":path", "/a b")])
control("a :path with a fragment", [*without(":path"), (":path", "/a#b")])
control("a :path `*` of GET", [*without(":path"), (":path", "*")])
control("an empty :method", [*without(":method"), (":method", "")])
control("a :method with a blank", [*without(":method"), (":method", "GET /")])
control("an empty :scheme", [*without(":scheme"), (":scheme", "")])
control("another :scheme", [*without(":scheme"), (":scheme", "ftp")], MALFORMED | FINE | {"404", "421"})

# --- 8.5 The CONNECT method, RFC 8441
REFUSED = MALFORMED | {"403", "404", "405", "501"}
control("CONNECT with :scheme and :path", [(":method", "CONNECT"), *without(":method")], section="8.5")
control("CONNECT without :authority", [(":method", "CONNECT")], section="8.5")
control("CONNECT where there is no route for it", [(":method", "CONNECT"), (":authority", "localhost:9")], REFUSED, "8.5")
control(":protocol of another method", [*BASE, (":protocol", "websocket")], section="8441")
control("extended CONNECT without :path",
        [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":authority", "localhost")], section="8441")
control("extended CONNECT without :scheme",
        [(":method", "CONNECT"), (":protocol", "websocket"), (":path", "/"), (":authority", "localhost")], section="8441")
control("extended CONNECT, refused by the upstream with an ordinary response",
        [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":path", "/"), (":authority", "localhost"),
         ("sec-websocket-version", "13")], {"400", "403", "501", "502"} | stream(f.PROTOCOL_ERROR), "8441")
