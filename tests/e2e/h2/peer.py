"""One end of an HTTP/2 connection on a Wire. What a peer does wrong is a Fault: frames that are too large or too many
for a window, blocks that do not decode, fields that HTTP/2 does not have. What it sends itself is not judged."""

import asyncio
import contextlib
import re

from support.message import Ended, Fault, Message, check
from support.wire import PATIENCE

from . import frames as f
from .hpack import Decoder

NAME = re.compile(r":?[!#$%&'*+.^_`|~0-9a-z-]+")
NOT_HERE = {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}


class Head(Message):
    """A block's fields, the pseudo ones among them."""

    def __init__(self, fields):
        super().__init__(fields, fields)
        check(all(NAME.fullmatch(name) for name, _ in fields), f"a field's name: {fields}")
        check(all(value == value.strip(" \t") and not re.search("[\0\r\n]", value) for _, value in fields),
              f"a field's value: {fields}")
        check(not NOT_HERE & {name for name, _ in fields}, f"a connection's field: {fields}")
        check(self.get("te") in (None, "trailers"), f"te: {fields}")
        pseudo = [name.startswith(":") for name, _ in fields]
        check(pseudo == sorted(pseudo, reverse=True), f"a pseudo-field behind others: {fields}")
        for name in (":status", ":method", ":path", ":scheme", ":authority", ":protocol", "host", "content-length"):
            self.get(name)

    @property
    def status(self):
        return int(self.get(":status") or 0)

    def __repr__(self):
        return f"<{' '.join(f'{name}={value!r}' for name, value in self.fields)}>"


class Stream:
    def __init__(self, peer, number):
        self.peer, self.number = peer, number
        self.head = None  # the request's, or the final response's
        self.interim = []  # heads of 1xx
        self.trailers = None
        self.body = bytearray()
        self.received = 0  # bytes of body, kept or not
        self.ended = False  # END_STREAM has come
        self.code = None  # of a RST_STREAM that has come
        self.closed_here = False  # END_STREAM or RST_STREAM was sent
        self.room = peer.initial_window  # what may be sent
        self.allowed = peer.own_window  # what may come
        self.gives = True  # the window is given back as DATA comes
        self.keep = True  # False: the body is only counted

    @property
    def finished(self):
        """Nothing more comes on it."""
        return self.ended or self.code is not None or self.peer.refused(self) or bool(self.peer.wire.end)

    @property
    def is_open(self):
        """As the peer's limit of streams counts."""
        return self.code is None and not (self.ended and self.closed_here)

    @property
    def status(self):
        return self.head.status if self.head else None

    @property
    def error(self):
        """The name of the RST_STREAM's code, or None."""
        return None if self.code is None else f.error_name(self.code)

    def __repr__(self):
        return (f"<stream {self.number}: {self.head} {bytes(self.body[:60])!r} of {self.received}"
                f"{' ended' if self.ended else ''}{' ' + self.error if self.error else ''}>")


class Peer:
    def __init__(self, wire, settings=()):
        self.wire = wire
        self.streams = {}
        self.settings = {}  # the peer's
        self.settings_seen = self.settings_acked = 0
        self.goaways = []  # (last stream, code, text)
        self.pongs = []
        self.pings = 0
        self.frames = []  # (kind, flags, stream, length) of all that came
        self.fault = None
        self.acks = self.pongs_back = True  # SETTINGS and PING are answered
        self.gives = True  # the connection's window is given back as DATA comes
        self.room, self.allowed = f.WINDOW, f.WINDOW  # what may be sent, and come
        self.initial_window = f.WINDOW
        self.own = dict(settings)
        self.own_window = f.WINDOW  # of a stream, to begin with
        self.frame_bytes = f.FRAME_BYTES  # at most, of what is sent
        self._decoder = Decoder(self.own.get(f.HEADER_TABLE_SIZE, 4096))
        self._block = None  # (stream, flags, bytes) of one whose END_HEADERS has not come
        self._last_id = 0
        self._watch()

    def _watch(self):
        """What comes is taken at once, whether somebody waits for it or not."""
        received = self.wire.data_received

        def receive(data):
            received(data)
            self.pump()

        self.wire.data_received = receive

    # --- receiving
    def pump(self):
        """Takes what has come."""
        if self.fault:
            return
        at, buffer, answers = 0, self.wire.buffer, []
        try:
            while cut := f.next_frame(buffer, at):
                one, at = cut
                self.frames.append((one.kind, one.flags, one.stream, len(one.payload)))
                most = self.own.get(f.MAX_FRAME_SIZE, f.FRAME_BYTES)
                check(len(one.payload) <= most, f"a frame of {len(one.payload)} bytes")
                check(not self._block or one.kind == f.CONTINUATION, f"a frame within a block: {one.kind}")
                self._take(one, answers)
        except Fault as fault:
            self.fault = fault
        del buffer[:at]
        if answers and not self.wire.end:
            self.send(*answers)

    def _take(self, one, answers):
        take = {f.DATA: self._data, f.HEADERS: self._headers, f.CONTINUATION: self._continuation,
                f.SETTINGS: self._settings, f.PING: self._ping, f.GOAWAY: self._goaway, f.RST_STREAM: self._rst,
                f.WINDOW_UPDATE: self._window_update}.get(one.kind)
        if take:
            take(one, answers)

    def _stream(self, number):
        if number not in self.streams:
            check(self.opens(number), f"stream {number} was not opened")
            self.streams[number] = Stream(self, number)
            self.opened(self.streams[number])
        return self.streams[number]

    @staticmethod
    def _unpadded(one):
        if not one.flags & f.PADDED:
            return one.payload
        check(one.payload and one.payload[0] < len(one.payload), "padding of all and more")
        return one.payload[1:len(one.payload) - one.payload[0]]

    def _data(self, one, answers):
        stream, size = self._stream(one.stream), len(one.payload)
        check(stream.head, f"DATA before a head: {stream}")
        check(not stream.ended, f"DATA behind the end: {stream}")
        self.allowed -= size
        stream.allowed -= size
        check(self.allowed >= 0 and stream.allowed >= 0, f"DATA beyond a window: {self.allowed} {stream.allowed} {stream}")
        payload = self._unpadded(one)
        stream.received += len(payload)
        if stream.keep:
            stream.body += payload
        stream.ended = bool(one.flags & f.END_STREAM)
        if size and self.gives:
            answers.append(f.window_update(0, size))
            self.allowed += size
        if size and stream.gives and not stream.ended and stream.code is None:
            answers.append(f.window_update(stream.number, size))
            stream.allowed += size

    def _headers(self, one, _):
        payload = self._unpadded(one)
        self._block = (one.stream, one.flags, payload[5:] if one.flags & f.HAS_PRIORITY else payload)
        self._block_ends(one)

    def _continuation(self, one, _):
        check(self._block and self._block[0] == one.stream, "a CONTINUATION of nothing")
        number, flags, data = self._block
        self._block = (number, flags, data + one.payload)
        self._block_ends(one)

    def _block_ends(self, one):
        if not one.flags & f.END_HEADERS:
            return
        number, flags, data = self._block
        self._block = None
        head, stream = Head(self._decoder.decode(data)), self._stream(number)
        check(not stream.ended, f"HEADERS behind the end: {stream}")
        stream.ended = bool(flags & f.END_STREAM)
        if stream.head is None and 100 <= head.status < 200:
            check(not stream.ended, f"the end on an interim head: {head}")
            stream.interim.append(head)
        elif stream.head is None:
            stream.head = head
        else:
            check(stream.trailers is None and stream.ended, f"a second head: {head}")
            check(not any(name.startswith(":") for name, _ in head.fields), f"trailers: {head}")
            stream.trailers = head.fields

    def _settings(self, one, answers):
        if one.flags & f.ACK:
            self.settings_acked += 1
            if self.settings_acked == 1:
                self._own_window_holds()
            return
        self.settings_seen += 1
        check(len(one.payload) % 6 == 0, "SETTINGS of a strange size")
        for at in range(0, len(one.payload), 6):
            key, value = int.from_bytes(one.payload[at:at + 2], "big"), int.from_bytes(one.payload[at + 2:at + 6], "big")
            self.settings[key] = value
            if key == f.INITIAL_WINDOW_SIZE:
                for stream in self.streams.values():
                    stream.room += value - self.initial_window
                self.initial_window = value
        if self.acks:
            answers.append(f.settings_ack())

    def _own_window_holds(self):
        """From now on: the peer has taken our SETTINGS."""
        before, self.own_window = self.own_window, self.own.get(f.INITIAL_WINDOW_SIZE, self.own_window)
        for stream in self.streams.values():
            stream.allowed += self.own_window - before

    def _ping(self, one, answers):
        if one.flags & f.ACK:
            self.pongs.append(one.payload)
            return
        self.pings += 1
        if self.pongs_back:
            answers.append(f.ping(one.payload, f.ACK))

    def _goaway(self, one, _):
        last, code = (int.from_bytes(one.payload[at:at + 4], "big") for at in (0, 4))
        check(not self.goaways or last <= self.goaways[-1][0], f"GOAWAY allows more again: {self.goaways} {last}")
        self.goaways.append((last, code, one.payload[8:]))

    def _rst(self, one, _):
        check(one.stream in self.streams or one.stream <= self._last_id, f"RST_STREAM of idle stream {one.stream}")
        self._stream(one.stream).code = int.from_bytes(one.payload, "big")

    def _window_update(self, one, _):
        increment = int.from_bytes(one.payload, "big") & f.LARGEST_WINDOW
        check(increment, "WINDOW_UPDATE of nothing")
        if one.stream == 0:
            self.room += increment
            check(self.room <= f.LARGEST_WINDOW, "the connection's window overflows")
        elif one.stream in self.streams:
            self.streams[one.stream].room += increment

    # --- what differs between the two sides
    def opens(self, number):
        """Whether the peer may open this stream."""
        raise NotImplementedError

    def opened(self, stream):
        pass

    def refused(self, stream):
        """The peer's GOAWAY says that it never came."""
        return False

    # --- waiting
    async def until(self, condition, seconds=PATIENCE):
        """Whether it holds in time, and while the connection lasts."""

        await self.wire.until(lambda: condition() or self.fault or self.wire.end, seconds)
        if self.fault:
            raise self.fault
        return bool(condition())

    async def want(self, condition, what, seconds=PATIENCE):
        if not await self.until(condition, seconds):
            raise (Ended if self.wire.end else Fault)(f"no {what} within {seconds} s: {self}")

    async def over(self):
        """The connection has ended, as the peer or this side wanted it."""
        await self.wire.until(lambda: self.fault or self.wire.end, 3600)
        if self.fault:
            raise self.fault

    async def done(self, stream, seconds=PATIENCE):
        """The stream, once nothing more comes on it."""
        await self.until(lambda: stream.finished, seconds)
        check(stream.finished, f"not finished within {seconds} s: {stream} of {self}")
        return stream

    async def ended(self, seconds=PATIENCE):
        """How the connection ended: its last GOAWAY's code by name, or None."""
        await self.until(lambda: self.wire.end, seconds)
        check(self.wire.end, f"not closed within {seconds} s: {self}")
        return f.error_name(self.goaways[-1][1]) if self.goaways else None

    # --- sending
    def send(self, *pieces):
        if not self.wire.lost and not self.wire.transport.is_closing():
            self.wire.send(b"".join(pieces))

    async def send_data(self, stream, payload, *, end=True, seconds=PATIENCE):
        """As the windows allow. False: the stream or the connection has ended before, or time is over."""
        at = 0

        def room():
            return min(self.room, stream.room, self.frame_bytes)

        while at < len(payload) or (end and not payload):
            await self.until(lambda: room() > 0 or not payload or stream.code is not None, seconds)
            if self.wire.end or stream.code is not None or (payload and room() <= 0):
                return False
            piece = payload[at:at + room()]
            at += len(piece)
            self.room -= len(piece)
            stream.room -= len(piece)
            self.send(f.data(stream.number, piece, end=end and at == len(payload)))
            self.wire._changed.set()  # of what others wait for: the windows
            stream.closed_here = end and at == len(payload)
            if not payload:
                break
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.wire._writable.wait(), seconds)
        return True

    def reset(self, stream, code=f.CANCEL):
        stream.closed_here = True
        self.send(f.rst(stream.number, code))

    def __repr__(self):
        kinds = " ".join(f.NAMES[kind] if kind < 10 else hex(kind) for kind, *_ in self.frames[-12:])
        return (f"<{type(self).__name__}: {len(self.frames)} frames, last {kinds}; goaway "
                f"{[(last, f.error_name(code), text) for last, code, text in self.goaways]}; end {self.wire.end}>")
