"""TLS on raw wires: the case says when a record, a close_notify or a bare FIN goes out, and sees which came."""

import asyncio
import socket
import ssl
import warnings

from .message import check
from .upstream import Upstream, answering
from .wire import PATIENCE, PIECE, Wire

OLD = "ALL:@SECLEVEL=0"  # so that this side would speak TLS 1.0 too
VERSIONS = {"1.0": ssl.TLSVersion.TLSv1, "1.1": ssl.TLSVersion.TLSv1_1, "1.2": ssl.TLSVersion.TLSv1_2,
            "1.3": ssl.TLSVersion.TLSv1_3}


def _context(protocol, versions, ciphers, alpn, own):
    context = ssl.SSLContext(protocol)
    if versions:
        lowest, highest = (VERSIONS[version] for version in versions)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version, context.maximum_version = lowest, highest
        if "1.0" in versions or "1.1" in versions:
            context.set_ciphers(OLD)
    if ciphers:
        context.set_ciphers(ciphers)
    if alpn:
        context.set_alpn_protocols(alpn)
    if own:
        context.load_cert_chain(own.certificate, own.key)
    return context


def client_context(trusted, *, versions=None, ciphers=None, alpn=None, own=None):
    """`trusted`: an authority. `versions`: the lowest and the highest. `own`: a certificate to show."""
    context = _context(ssl.PROTOCOL_TLS_CLIENT, versions, ciphers, alpn, own)
    context.load_verify_locations(trusted.certificate)
    return context


def server_context(own, *, versions=None, ciphers=None, alpn=None, clients=None):
    """`clients`: an authority, whose certificates clients have to show."""
    context = _context(ssl.PROTOCOL_TLS_SERVER, versions, ciphers, alpn, own)
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients.certificate)
    return context


class TlsWire(Wire):
    """`buffer` is plaintext. `end` is "close_notify" where TLS was ended in order; "fin" and "rst" are cuts, and fin()
    makes one. `refusal`: OpenSSL's error that ended it."""

    def __init__(self, context, *, server=False, name=None, session=None, on_open=None):
        super().__init__()
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_side=server, server_hostname=name,
                                    session=session)
        self.shaken = False
        self.refusal = None
        self.tcp_end = None  # as `end`, of the connection below
        self._cut = False
        self._on_shaken = on_open

    # --- what asyncio calls
    def connection_made(self, transport):
        super().connection_made(transport)
        self._advance()

    def data_received(self, data):
        self._incoming.write(data)
        self._advance()

    def eof_received(self):
        self.tcp_end = self.tcp_end or "fin"
        self._incoming.write_eof()
        self._advance()
        return super().eof_received()

    def connection_lost(self, error):
        self.tcp_end = self.tcp_end or ("rst" if error else "fin")
        super().connection_lost(error)

    def _advance(self):
        if self.refusal:
            return
        try:
            if not self.shaken:
                self.tls.do_handshake()
                self.shaken = True
                if self._on_shaken:
                    self._on_shaken(self)
            while data := self.tls.read(PIECE):
                self.received += len(data)
                if self.keep:
                    self.buffer += data
            self._ended("close_notify")
        except (ssl.SSLWantReadError, ssl.SSLEOFError):
            pass
        except ssl.SSLZeroReturnError:
            self._ended("close_notify")
        except ssl.SSLError as error:
            self.refusal = error
        self._flush()
        self._changed.set()

    def _flush(self):
        data = self._outgoing.read()
        if data and not self.lost and not self._cut and not self.transport.is_closing():
            self.transport.write(data)

    # --- for cases
    async def handshake(self, seconds=PATIENCE):
        """None, or why there is none: OpenSSL's reason, or how the peer ended."""
        check(await self.until(lambda: self.shaken or self.refusal or self.end, seconds), "the handshake does not end")
        return None if self.shaken else self.why()

    async def refused(self, seconds=PATIENCE):
        """Why the connection has ended, the handshake or what followed it."""
        check(await self.until(lambda: self.refusal or self.end, seconds), "it is not refused")
        return self.why()

    def why(self):
        return (self.refusal.reason or str(self.refusal)) if self.refusal else self.end

    def send(self, data):
        if data and not self.lost:
            self.tls.write(data)
            self._flush()

    def fin(self):
        self._cut = True
        super().fin()

    def close_notify(self):
        try:
            self.tls.unwrap()
        except ssl.SSLError:  # it is out, the other one is not here
            pass
        self._flush()


async def tls_connect(host, port, context, *, name="localhost", session=None):
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    sock.setblocking(False)
    loop = asyncio.get_running_loop()
    await asyncio.wait_for(loop.sock_connect(sock, (host, port)), PATIENCE)
    _, wire = await loop.create_connection(lambda: TlsWire(context, name=name, session=session), sock=sock)
    return wire


class TlsUpstream(Upstream):
    """`connections` are those whose handshake has ended well; `wires` are all."""

    def __init__(self, context, script=None):
        super().__init__(script)
        self.context = context
        self.wires = []

    @property
    def url(self):
        return f"https://localhost:{self.port}"

    def _new_wire(self):
        wire = TlsWire(self.context, server=True, on_open=self._opened)
        self.wires.append(wire)
        return wire

    async def close(self):
        await super().close()
        for wire in self.wires:
            wire.close()


def tls_answering(context, answer=None):
    upstream = TlsUpstream(context)
    upstream.script = answering(upstream, answer)
    return upstream


def tls_listen(*certificates, **settings):
    """The setting `listen`: one listener, with these certificates."""
    return [{"address": "127.0.0.1:0", "tls": {"certificates": [one.paths for one in certificates], **settings}}]
