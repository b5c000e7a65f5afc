"""TLS towards clients: what is spoken, what is refused, whose certificate is shown, how connections end."""

import asyncio
import hashlib
import ssl

from support import CHUNKED_HEAD, LAST_CHUNK, authority, case, check, chunk_bytes, client_context, has_last_chunk, \
    not_before, now, request_bytes, response_bytes, server_context, tls_listen

GET = request_bytes(target="/now")
LAST_GET = request_bytes(target="/last", fields=[("Connection", "close")])
STRONG = ("ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384",
          "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305")
# No forward secrecy, CBC, finite-field DH, no authentication, no encryption.
WEAK = ("AES128-GCM-SHA256", "AES256-SHA256", "AES128-SHA", "ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES256-SHA384",
        "ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES128-CCM8", "DHE-RSA-AES128-GCM-SHA256", "AECDH-AES128-SHA",
        "ADH-AES128-GCM-SHA256", "ECDHE-RSA-NULL-SHA", "NULL-SHA256")


async def served(t, upstream=None, **tls):
    """(gateway with one certificate for localhost, the authority behind it)"""
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    gateway = await t.gateway(upstream or await t.answering(), listen=tls_listen(own, **tls))
    return gateway, trusted


def failures(gateway):
    return [line["detail"] for line in gateway.log if line.get("event") == "client_tls_failed"]


async def told(gateway, words):
    """Waits for a failure whose sentence has these words."""
    check(await gateway.until(lambda: any(words in text for text in failures(gateway))),
          f"no {words!r} in {failures(gateway)}")


@case
async def protocols_from_1_2_on_are_spoken(t):
    gateway, trusted = await served(t)
    for version, name in (("1.2", "TLSv1.2"), ("1.3", "TLSv1.3")):
        response, wire = await t.tls_ask(gateway, client_context(trusted, versions=(version, version)), GET)
        check(response.body == b"ok" and wire.tls.version() == name, f"{version}: {response} {wire.tls.version()}")
    for version in ("1.0", "1.1"):
        wire = await t.tls_client(gateway, client_context(trusted, versions=(version, version)))
        why = await wire.handshake()
        check(why == "TLSV1_ALERT_PROTOCOL_VERSION", f"{version}: {why}")
        await wire.ended()
    await told(gateway, "the client offers no TLS version that is accepted here")
    check((await t.tls_ask(gateway, client_context(trusted), GET))[0].status == 200, "not served on")


@case
async def the_lowest_version_can_be_1_3(t):
    gateway, trusted = await served(t, minVersion="1.3")
    wire = await t.tls_client(gateway, client_context(trusted, versions=("1.2", "1.2")))
    why = await wire.handshake()
    check(why == "TLSV1_ALERT_PROTOCOL_VERSION", f"{why}")
    check((await t.tls_ask(gateway, client_context(trusted), GET))[1].tls.version() == "TLSv1.3", "not 1.3")


@case
async def weak_ciphers_are_refused_and_strong_ones_taken(t):
    trusted = await authority(t.directory)
    both = [await trusted.issue("ec"), await trusted.issue("rsa", kind="rsa")]
    gateway = await t.gateway(await t.answering(), listen=tls_listen(*both))
    for cipher in STRONG:
        context = client_context(trusted, versions=("1.2", "1.2"), ciphers=cipher)
        _, wire = await t.tls_ask(gateway, context, GET)
        check(wire.tls.cipher()[0] == cipher, f"{cipher}: {wire.tls.cipher()}")
    tried = 0
    for cipher in WEAK:
        try:
            context = client_context(trusted, versions=("1.2", "1.2"), ciphers=f"{cipher}:@SECLEVEL=0")
        except ssl.SSLError:
            continue  # this side does not have it
        wire = await t.tls_client(gateway, context)
        why = await wire.handshake()
        check(why == "SSLV3_ALERT_HANDSHAKE_FAILURE", f"{cipher}: {why}")
        tried += 1
    check(tried >= 8, f"only {tried} tried")
    await told(gateway, "no common cipher")


@case
async def without_http2_http_1_1_is_agreed_on_by_alpn(t):
    trusted = await authority(t.directory)
    listener = {**tls_listen(await trusted.issue("server"))[0], "http2": False}
    gateway = await t.gateway(await t.answering(), listen=[listener])
    for offered, wanted in ((["http/1.1"], "http/1.1"), (["h2", "http/1.1"], "http/1.1"), (["http/1.0"], "http/1.0"),
                            (["http/1.0", "http/1.1"], "http/1.1"), (None, None)):
        response, wire = await t.tls_ask(gateway, client_context(trusted, alpn=offered), GET)
        check(response.status == 200, f"{response}")
        check(wire.tls.selected_alpn_protocol() == wanted, f"{offered}: {wire.tls.selected_alpn_protocol()}")
    wire = await t.tls_client(gateway, client_context(trusted, alpn=["h2"]))
    why = await wire.handshake()
    check("application protocol" in why.lower().replace("_", " "), why)
    await told(gateway, "no common application protocol")


@case
async def the_certificate_is_chosen_by_name_wildcards_too_else_the_first(t):
    trusted = await authority(t.directory)
    between = await trusted.intermediate("between")
    listed = [await trusted.issue("first", ("DNS:first.test", "DNS:also.test")),
              await trusted.issue("star", ("DNS:*.star.test",)), await trusted.issue("exact", ("DNS:a.star.test",)),
              (await between.issue("behind", ("DNS:behind.test",))).with_chain(between)]
    gateway = await t.gateway(await t.answering(), listen=tls_listen(*listed))
    context = client_context(trusted)
    context.check_hostname = False
    rows = [("first.test", "first"), ("also.test", "first"), ("b.star.test", "star"), ("a.star.test", "exact"),
            ("A.Star.TEST", "exact"), ("behind.test", "behind"), ("star.test", "first"), ("x.y.star.test", "first"),
            ("unknown.test", "first"), (None, "first")]
    for name, wanted in rows:
        response, wire = await t.tls_ask(gateway, context, GET, name=name)
        subject = dict(pair[0] for pair in wire.tls.getpeercert()["subject"])
        check(subject["commonName"] == wanted and response.status == 200, f"{name}: {subject}")


@case
async def the_upstream_hears_that_it_was_https(t):
    upstream = await t.answering()
    gateway, trusted = await served(t, upstream)
    await t.tls_ask(gateway, client_context(trusted), request_bytes(fields=[("X-Forwarded-Proto", "http")]))
    request = upstream.requests[0][0]
    check(request.get("X-Forwarded-Proto") == "https", f"{request}")
    check((await gateway.exchange("/")).get("status") == 200, f"{gateway.log}")


SPOOFED = request_bytes(fields=[("X-Client-Cert-Subject", "CN=admin"), ("x-client-cert-subject", "CN=root")])


async def of_clients(t, policy, **more):
    """(gateway, upstream, what a client with the given certificate starts with, certificates by name)"""
    trusted, other = await authority(t.directory), await authority(t.directory, "other")
    mine = {"good": await trusted.issue("good", (), subject="/O=Org/CN=alice"),
            "expired": await trusted.issue("expired", (), days=-1), "foreign": await other.issue("foreign", ()),
            None: None}
    upstream = await t.answering()
    listen = tls_listen(await trusted.issue("server"), clientCertificates=policy, clientCa=trusted.certificate)
    gateway = await t.gateway(upstream, listen=listen, **more)

    def context(name, **options):
        return client_context(trusted, own=mine[name], **options)

    return gateway, upstream, context


def subjects(upstream):
    return upstream.requests[-1][0].all("X-Client-Cert-Subject")


async def refused(t, gateway, context):
    wire = await t.tls_client(gateway, context)
    await wire.handshake()
    if not wire.refusal:
        wire.send(GET)  # TLS 1.3 tells the client only now
    why = await wire.refused()
    check(wire.received == 0, f"answered: {bytes(wire.buffer)}")
    return why


@case
async def an_optional_client_certificate_is_passed_on_and_copies_are_not(t):
    gateway, upstream, context = await of_clients(t, "optional")
    for version in ("1.2", "1.3"):
        versions = (version, version)
        await t.tls_ask(gateway, context(None, versions=versions), SPOOFED)
        check(subjects(upstream) == [], f"{version}: {subjects(upstream)}")
        good = context("good", versions=versions)
        _, wire = await t.tls_ask(gateway, good, SPOOFED)
        check(subjects(upstream) == ["CN=alice,O=Org"], f"{version}: {subjects(upstream)}")
        _, wire = await t.tls_ask(gateway, good, SPOOFED, session=wire.tls.session)
        check(wire.tls.session_reused, f"{version}: not resumed")
        check(subjects(upstream) == ["CN=alice,O=Org"], f"{version}, resumed: {subjects(upstream)}")
        why = await refused(t, gateway, context("foreign", versions=versions))
        check("UNKNOWN_CA" in why, f"{version}: {why}")
        why = await refused(t, gateway, context("expired", versions=versions))
        check("EXPIRED" in why, f"{version}: {why}")
    await told(gateway, "the client's certificate has expired (CN=expired, notAfter ")
    check(len(upstream.requests) == 6, f"{upstream.requests}")


@case
async def a_required_client_certificate_is_insisted_on(t):
    gateway, upstream, context = await of_clients(t, "required")
    for version in ("1.2", "1.3"):
        why = await refused(t, gateway, context(None, versions=(version, version)))
        check("CERTIFICATE_REQUIRED" in why or "HANDSHAKE_FAILURE" in why, f"{version}: {why}")
        await refused(t, gateway, context("foreign", versions=(version, version)))
        await t.tls_ask(gateway, context("good", versions=(version, version)), SPOOFED)
        check(subjects(upstream) == ["CN=alice,O=Org"], f"{version}: {subjects(upstream)}")
    await told(gateway, "the client gave no certificate")
    check(len(upstream.requests) == 2, f"{upstream.requests}")


@case
async def without_client_certificates_only_a_trusted_proxy_may_say_the_subject(t):
    upstream = await t.answering()
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    for proxies, kept in (([], []), (["127.0.0.1"], ["CN=admin", "CN=root"])):
        gateway = await t.gateway(upstream, listen=tls_listen(own) + ["127.0.0.1:0"], client={"trustedProxies": proxies})
        await t.tls_ask(gateway, client_context(trusted, own=own), SPOOFED)
        check(subjects(upstream) == kept, f"TLS: {subjects(upstream)}")
        gateway.addresses.reverse()
        await t.ask(gateway, SPOOFED)
        check(subjects(upstream) == kept, f"cleartext: {subjects(upstream)}")


@case
async def what_is_no_tls_is_closed_and_told(t):
    gateway, trusted = await served(t)
    rows = [(request_bytes(), "it does not speak TLS (its first bytes look like HTTP)"),
            (b"\x00\x01\x02\x03\x04\x05\x06\x07\x08", "it does not speak TLS (its first bytes are 00 01 02 03 04)"),
            (b"\x16\x03\x01\xff\xff" + b"\x01" * 300, ""), (b"\x16\x03\x01\x00\x05hello" * 4, ""),
            (b"\x15\x03\x01\x00\x02\x02\x28", "unexpected message"), (b"\x17\x03\x03\x00\x10" + b"x" * 16, "")]
    for sent, words in rows:
        before = len(failures(gateway))
        wire = await t.client(gateway)
        wire.send(sent)
        await wire.ended(5)
        check(not wire.buffer.startswith(b"HTTP"), f"answered in cleartext: {bytes(wire.buffer)}")
        check(await gateway.until(lambda: len(failures(gateway)) > before), f"no word of {sent[:8]}")
        check(words in failures(gateway)[-1], f"{sent[:8]}: {failures(gateway)[-1]}")
    check((await t.tls_ask(gateway, client_context(trusted), GET))[0].status == 200, "not served on")


@case
async def a_handshake_that_stands_still_ends_with_the_idle_timeout(t):
    trusted = await authority(t.directory)
    gateway = await t.gateway(await t.answering(), listen=tls_listen(await trusted.issue("server")),
                              limits={"idleTimeoutMs": 800})

    async def drip(wire):
        for byte in b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"r" * 200:
            wire.send(bytes([byte]))
            await asyncio.sleep(0.1)

    since = now()
    silent, slow = await t.client(gateway), await t.client(gateway)
    t.later(drip(slow))
    kept = await t.tls_client(gateway, client_context(trusted))  # shakes hands, and asks nothing
    check(await kept.handshake() is None, "no handshake")
    for wire in (silent, slow, kept):
        await wire.ended()
        not_before(since, wire.end_at, 0.8, "the end")
    check(kept.end == "close_notify" and kept.received == 0, f"{kept.end} {bytes(kept.buffer)}")


@case
async def a_client_that_says_or_shows_its_end_is_gone(t):
    upstream = await t.upstream()
    trusted = await authority(t.directory)
    gateway = await t.gateway(upstream, listen=tls_listen(await trusted.issue("server")),
                              client={"halfClose": "serve"})
    for leave in ("close_notify", "fin", "reset"):
        wire = await t.tls_client(gateway, client_context(trusted))
        check(await wire.handshake() is None, "no handshake")
        wire.send(request_bytes(target=f"/{leave}"))
        peer = await upstream.connection()
        await peer.request()
        getattr(wire, leave)()
        await peer.ended(5)
        line = await gateway.exchange(f"/{leave}")
        check(line["end"] == "client_gone", f"{leave}: {line}")


@case
async def a_cut_response_is_seen_to_be_cut(t):
    upstream = await t.upstream()
    gateway, trusted = await served(t, upstream)
    for version in ("1.1", "1.0"):
        for whole in (True, False):
            wire = await t.tls_client(gateway, client_context(trusted))
            check(await wire.handshake() is None, "no handshake")
            wire.send(request_bytes(version=version, fields=[("Connection", "close")]))
            peer = await upstream.connection()
            await peer.request()
            peer.send(CHUNKED_HEAD + chunk_bytes(b"part") + (LAST_CHUNK if whole else b""))
            await wire.take_until(b"part")
            peer.close()
            end = await wire.ended()
            if version == "1.1":
                check(has_last_chunk(wire.buffer) == whole, f"{bytes(wire.buffer)}")
            else:  # nothing else tells its end
                check((end == "close_notify") == whole, f"whole: {whole}: ended by {end}")
            check(await wire.until(lambda: wire.tcp_end), "the connection below stays")


@case
async def a_connection_serves_many_requests_also_pipelined_ones(t):
    upstream = await t.answering(lambda request: response_bytes(request.target.encode()))
    gateway, trusted = await served(t, upstream)
    wire = await t.tls_client(gateway, client_context(trusted))
    check(await wire.handshake() is None, "no handshake")
    for n in range(3):
        wire.send(request_bytes(target=f"/{n}"))
        check((await wire.response()).body == b"/%d" % n, "another response")
    wire.send(b"".join(request_bytes(target=f"/{n}") for n in range(20)) + LAST_GET)
    for n in range(20):
        check((await wire.response()).body == b"/%d" % n, "another response")
    check((await wire.response()).body == b"/last", "another response")
    check(await wire.ended() == "close_notify", f"{wire.end}")


@case
async def bodies_go_through_tls_on_both_sides_unchanged(t):
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    data = bytes(range(256)) * 20_000

    def answer(request):
        return response_bytes(hashlib.sha256(request.body).hexdigest().encode() + data)

    upstream = await t.tls_answering(server_context(own), answer)
    gateway = await t.gateway(upstream, listen=tls_listen(own),
                              upstreams={"u": {"url": upstream.url, "tls": {"ca": trusted.certificate}}})
    wire = await t.tls_client(gateway, client_context(trusted))
    check(await wire.handshake() is None, "no handshake")
    for chunked in (False, True):
        wire.send(request_bytes("POST", "/up", body=data, chunked=chunked))
        response = await wire.response("POST")
        check(response.body == hashlib.sha256(data).hexdigest().encode() + data, "not the bytes that were sent")


@case
async def a_tunnel_goes_through_tls_on_both_sides(t):
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    upstream = await t.tls_upstream(server_context(own))
    gateway = await t.gateway(upstream, listen=tls_listen(own),
                              upstreams={"u": {"url": upstream.url, "tls": {"ca": trusted.certificate}}})
    for ender in ("client", "upstream", "client cut", "upstream cut"):
        wire = await t.tls_client(gateway, client_context(trusted))
        check(await wire.handshake() is None, "no handshake")
        wire.send(request_bytes(target="/ws", fields=[("Connection", "Upgrade"), ("Upgrade", "websocket")]))
        peer = await upstream.connection()
        await peer.request()
        peer.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nearly;")
        check((await wire.response()).status == 101, "no tunnel")
        await wire.take_until(b"early;")
        for n in range(10):
            wire.send(b"ping %d;" % n)
            await peer.take_until(b"ping %d;" % n)
            peer.send(b"pong %d;" % n * 500)
            await wire.take_until(b"pong %d;" % n * 500)
        one, other = (wire, peer) if ender.startswith("client") else (peer, wire)
        one.fin() if ender.endswith("cut") else one.close_notify()
        end = await other.ended(5)
        check(not ender.endswith("cut") or end != "close_notify", f"{ender}: {end}")
