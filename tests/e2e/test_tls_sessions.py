"""TLS sessions of clients: tickets, renegotiation, early data. With the openssl command where it can more."""

import asyncio
import base64
import os

from programs import need, output_of
from support import PATIENCE, authority, case, check, client_context, request_bytes, tls_listen
from test_tls import told

GET = request_bytes(target="/now")
LAST_GET = request_bytes(target="/last", fields=[("Connection", "close")])
EARLY_GET = request_bytes(target="/early")
VERSIONS = ("1.2", "1.3")


async def served(t, **settings):
    """(gateway, upstream, authority)"""
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    upstream = await t.answering()
    return await t.gateway(upstream, listen=tls_listen(own), **settings), upstream, trusted


async def counters(gateway):
    """Of all workers together, at the end of the program."""
    await gateway.stop()
    total = {}
    for line in gateway.log:
        if line.get("event") == "worker_stopped":
            for name, value in line.items():
                if isinstance(value, int):
                    total[name] = total.get(name, 0) + value
    return total


@case(threads=True)
async def sessions_are_resumed_whichever_worker_comes_next(t):
    gateway, _, trusted = await served(t, workers=3)
    full = resumed = 0
    for version in VERSIONS:
        context = client_context(trusted, versions=(version, version))
        session = None
        for n in range(12):
            _, wire = await t.tls_ask(gateway, context, GET, session=session)
            check(wire.tls.session_reused == (n > 0), f"{version}: connection {n} is not resumed")
            session = wire.tls.session
            check(session.has_ticket, f"{version}: no ticket")
        full, resumed = full + 1, resumed + 11
    seen = await counters(gateway)
    check((seen.get("tls_accepts_full"), seen.get("tls_accepts_resumed")) == (full, resumed), f"{seen}")


@case(threads=True)
async def sessions_outlive_a_change_of_certificates(t):
    gateway, _, trusted = await served(t, workers=2)
    for version in VERSIONS:
        context = client_context(trusted, versions=(version, version))
        _, wire = await t.tls_ask(gateway, context, GET)
        session, serial = wire.tls.session, wire.tls.getpeercert()["serialNumber"]
        reloads = sum(line.get("event") == "tls_reloaded" for line in gateway.log)
        await trusted.issue("server")
        check(await gateway.until(lambda n=reloads: sum(line.get("event") == "tls_reloaded" for line in gateway.log) > n),
              f"the new certificate is not taken: {gateway.log[-3:]}")
        for _ in range(6):
            _, wire = await t.tls_ask(gateway, context, GET, session=session)
            check(wire.tls.session_reused, f"{version}: not resumed")
            session = wire.tls.session
        _, wire = await t.tls_ask(gateway, context, GET)
        check(wire.tls.getpeercert()["serialNumber"] != serial, "the old certificate is still shown")


@case
async def renegotiation_ends_the_connection_and_is_counted(t):
    gateway, _, trusted = await served(t)
    process = await asyncio.create_subprocess_exec(
        need("openssl"), "s_client", "-connect", f"127.0.0.1:{gateway.port}", "-servername", "localhost", "-tls1_2",
        "-CAfile", trusted.certificate, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT)
    out = b""
    while b"Verify return code" not in out:
        out += await asyncio.wait_for(process.stdout.read(65536), PATIENCE)
    process.stdin.write(b"R\n")
    rest = await asyncio.wait_for(process.stdout.read(), PATIENCE)  # to the end of s_client
    process.stdin.close()
    await process.wait()
    check(b"Verify return code: 0" in out and b"RENEGOTIATING" in rest, f"{out[-200:]} {rest}")
    await told(gateway, "the client asked for a renegotiation")
    check((await counters(gateway)).get("tls_floods_ended") == 1, f"{gateway.log[-1]}")


def der_length(data, at):
    """(length, where its content begins)"""
    if data[at] < 0x80:
        return data[at], at + 1
    size = data[at] & 0x7F
    return int.from_bytes(data[at + 1:at + 1 + size], "big"), at + 1 + size


def der(tag, content):
    size = len(content)
    length = bytes([size]) if size < 0x80 else bytes([0x82]) + size.to_bytes(2, "big")
    return bytes([tag]) + length + content


def with_early_data(pem):
    """A session as OpenSSL saves it, changed so that s_client believes that early data may be sent: [15]
    max_early_data, in its place among the optional members."""
    lines = pem.decode().split("-----BEGIN SSL SESSION PARAMETERS-----")[1].split("-----END")[0]
    session = base64.b64decode(lines)
    _, at = der_length(session, 1)
    before, behind = b"", b""
    while at < len(session):
        length, content = der_length(session, at + 1)
        member = session[at:content + length]
        later = session[at] & 0xC0 == 0x80 and session[at] & 0x1F > 15
        before, behind = (before, behind + member) if later else (before + member, behind)
        at = content + length
    whole = der(0x30, before + der(0xAF, der(0x02, (16384).to_bytes(2, "big"))) + behind)
    text = base64.encodebytes(whole).decode()
    return f"-----BEGIN SSL SESSION PARAMETERS-----\n{text}-----END SSL SESSION PARAMETERS-----\n".encode()


@case
async def early_data_is_never_acted_on(t):
    gateway, upstream, trusted = await served(t)
    saved, early = (os.path.join(t.directory, name) for name in ("session.pem", "early"))
    words = [need("openssl"), "s_client", "-connect", f"127.0.0.1:{gateway.port}", "-servername", "localhost",
             "-tls1_3", "-ign_eof", "-CAfile", trusted.certificate]
    _, out = await output_of(*words, "-sess_out", saved, given=LAST_GET)
    check(b"Max Early Data: 0" in out and b"Max Early Data: 1" not in out, f"the ticket allows it: {out[-1500:]}")
    with open(saved, "rb") as file:
        session = with_early_data(file.read())
    with open(saved, "wb") as file:
        file.write(session)
    with open(early, "wb") as file:
        file.write(EARLY_GET)
    _, out = await output_of(*words, "-sess_in", saved, "-early_data", early, given=LAST_GET)
    check(b"Early data was rejected" in out and b"Reused, TLSv1.3" in out, f"{out[-1500:]}")
    check(out.count(b"HTTP/1.1 200") == 1, f"{out[-1500:]}")
    check(upstream.deliveries("/early") == 0 and upstream.deliveries("/last") == 2, f"{upstream.requests}")
