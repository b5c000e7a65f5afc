"""One end of a TCP or Unix connection, raw: every byte is sent and read by the script of a case."""

import asyncio
import contextlib
import socket
import struct
import time

from .message import Ended, Fault, Request, Response, parse_request_head, parse_response_head

now = time.monotonic
IP_BIND_ADDRESS_NO_PORT = 24
TCP_CLOSED = 7  # tcpi_state
PIECE = 65536
PATIENCE = 20.0  # seconds that an expected event may take on a loaded machine


class Wire(asyncio.Protocol):
    def __init__(self, on_open=None):
        self.buffer = bytearray()
        self.received = 0  # bytes in all
        self.end = None  # None, "fin" or "rst"
        self.end_at = None
        self.opened_at = None
        self.lost = False
        self.transport = None
        self.keep = True  # False: received bytes are only counted
        self._on_open = on_open
        self._changed = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()

    # --- what asyncio calls
    def connection_made(self, transport):
        self.transport = transport
        self.opened_at = now()
        with contextlib.suppress(OSError):  # of TCP, and not reset meanwhile
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport.set_write_buffer_limits(high=65536)
        if self._on_open:
            self._on_open(self)

    def data_received(self, data):
        self.received += len(data)
        if self.keep:
            self.buffer += data
        self._changed.set()

    def eof_received(self):
        self._ended("fin")
        return True  # our side stays open

    def connection_lost(self, error):
        self.lost = True
        self._ended("rst" if error else "fin")
        if error and self.end == "fin":
            self.end = "fin then rst"
        self._writable.set()

    def pause_writing(self):
        self._writable.clear()

    def resume_writing(self):
        self._writable.set()

    def _ended(self, how):
        if self.end is None:
            self.end, self.end_at = how, now()
        self._changed.set()

    # --- waiting
    async def until(self, condition, seconds=PATIENCE):
        """True once condition() holds, False if it did not in time."""
        limit = now() + seconds
        while not condition():
            self._changed.clear()
            left = limit - now()
            if left <= 0:
                return False
            try:
                await asyncio.wait_for(self._changed.wait(), left)
            except asyncio.TimeoutError:
                return bool(condition())
        return True

    async def ended(self, seconds=PATIENCE):
        """How the peer ended: "fin" or "rst". Fails if it did not in time."""
        if not await self.until(lambda: self.end, seconds):
            raise Fault(f"not closed by the peer within {seconds} s (has: {bytes(self.buffer[:80])!r})")
        return self.end

    async def reset_by_peer(self, seconds=PATIENCE):
        """Whether a reset comes, with or without a FIN before it: the peer keeps no TIME_WAIT then."""
        limit = now() + seconds
        await self.ended(seconds)
        while not self.lost and now() < limit:
            sock = self.transport.get_extra_info("socket")
            if sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == TCP_CLOSED:
                return True
            await asyncio.sleep(0.01)
        return "rst" in self.end

    async def quiet(self, seconds):
        """Fails if the peer says or does anything in so many seconds."""
        have = self.received
        if await self.until(lambda: self.end or self.received != have, seconds):
            raise Fault(f"not quiet for {seconds} s: {self.end} {bytes(self.buffer[:80])!r}")

    # --- sending
    def send(self, data):
        if not self.lost:
            self.transport.write(data)

    async def push(self, data, seconds=PATIENCE):
        """Sends piece by piece, as the kernel takes it. False: the peer has gone, or does not take it in time."""
        return await self._push((data[at:at + PIECE] for at in range(0, len(data), PIECE)), seconds)

    async def pour(self, size, seconds=PATIENCE):
        """As push, so many equal bytes, of which no copy is held."""
        whole, rest = divmod(size, PIECE)
        piece = b"p" * PIECE
        return await self._push((piece[:PIECE if n < whole else rest] for n in range(whole + 1)), seconds)

    async def _push(self, pieces, seconds):
        limit = now() + seconds
        for piece in pieces:
            if self.lost:
                return False
            self.send(piece)
            try:
                await asyncio.wait_for(self._writable.wait(), max(limit - now(), 0.001))
            except asyncio.TimeoutError:
                return False
        return not self.lost

    def unsent(self):
        return 0 if self.lost else self.transport.get_write_buffer_size()

    def fin(self):
        with contextlib.suppress(OSError):  # the peer may have closed
            if not self.lost:
                self.transport.write_eof()

    def reset(self):
        if self.lost:
            return
        sock = self.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def close(self):
        if self.transport and not self.lost:
            self.transport.close()

    def pause(self):
        """Takes nothing from the kernel any more."""
        if not self.lost:
            self.transport.pause_reading()

    def resume(self):
        if not self.lost:
            self.transport.resume_reading()

    # --- reading
    async def take(self, count, seconds=PATIENCE):
        if not await self.until(lambda: len(self.buffer) >= count or self.end, seconds):
            raise Fault(f"{len(self.buffer)} of {count} bytes after {seconds} s: {bytes(self.buffer[:80])!r}")
        if len(self.buffer) < count:
            raise Ended(f"ended ({self.end}) after {len(self.buffer)} of {count} bytes")
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        return taken

    async def take_until(self, mark, seconds=PATIENCE):
        """Takes bytes up to and with `mark`."""
        if not await self.until(lambda: mark in self.buffer or self.end, seconds):
            raise Fault(f"no {mark!r} within {seconds} s in {bytes(self.buffer[:160])!r}")
        at = self.buffer.find(mark)
        if at < 0:
            raise Ended(f"ended ({self.end}) before {mark!r}: {bytes(self.buffer[:160])!r}")
        return await self.take(at + len(mark))

    async def rest(self, seconds=PATIENCE):
        """All bytes up to the peer's end."""
        await self.ended(seconds)
        return await self.take(len(self.buffer))

    async def request_head(self, seconds=PATIENCE):
        return parse_request_head(await self.take_until(b"\r\n\r\n", seconds))

    async def request(self, seconds=PATIENCE):
        """A whole request; as an upstream."""
        request = await self.request_head(seconds)
        await self._body(request, request.framing(), seconds)
        return request

    async def response_head(self, seconds=PATIENCE):
        return parse_response_head(await self.take_until(b"\r\n\r\n", seconds))

    async def response(self, method="GET", seconds=PATIENCE):
        """A whole final response; interim ones are collected in its `interim`. As a client."""
        interim = []
        while True:
            response = await self.response_head(seconds)
            if response.status >= 200 or response.status == 101:
                break
            interim.append(response)
        response.interim = interim
        await self._body(response, response.framing(method), seconds)
        return response

    async def _body(self, message, framing, seconds):
        kind, length = framing
        if kind == "length":
            message.body = await self.take(length, seconds)
        elif kind == "chunked":
            while True:
                chunk = await self.chunk(seconds)
                if not chunk:
                    break
                message.body += chunk
            message.trailers = await self.trailers(seconds)
        elif kind == "eof":
            message.body = await self.rest(seconds)
            if self.end != "fin":
                raise Fault(f"a close-delimited body ended in a reset after {len(message.body)} bytes")

    async def chunk(self, seconds=PATIENCE):
        """The payload of the next chunk; empty for the last one, whose trailers are still to be read."""
        line = await self.take_until(b"\r\n", seconds)
        size = int(line.split(b";")[0], 16)
        if size == 0:
            return b""
        payload = await self.take(size + 2, seconds)
        if payload[-2:] != b"\r\n":
            raise Fault(f"a chunk without its CRLF: {payload[-8:]!r}")
        return payload[:-2]

    async def payload(self, size, seconds=PATIENCE):
        """So many bytes of a chunked body, however they are cut into chunks."""
        taken = b""
        while len(taken) < size:
            chunk = await self.chunk(seconds)
            if not chunk:
                raise Fault(f"the body ended after {len(taken)} of {size} bytes")
            taken += chunk
        return taken

    async def trailers(self, seconds=PATIENCE):
        fields = []
        while True:
            line = (await self.take_until(b"\r\n", seconds))[:-2]
            if not line:
                return fields
            name, _, value = line.decode("latin1").partition(":")
            fields.append((name, value.strip()))


def text_of(message):
    """Whichever of the two, for a failure's message."""
    return repr(message) if isinstance(message, (Request, Response)) else str(message)


async def connect(host, port, receive_buffer=None, source=None):
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    sock.setblocking(False)
    if receive_buffer:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    if source:
        sock.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        sock.bind((source, 0))
    loop = asyncio.get_running_loop()
    await asyncio.wait_for(loop.sock_connect(sock, (host, port)), PATIENCE)
    _, wire = await loop.create_connection(Wire, sock=sock)
    return wire
