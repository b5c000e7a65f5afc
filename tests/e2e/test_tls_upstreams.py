"""TLS towards upstreams: who is believed, what is said of those who are not, how connections are used and end."""

import asyncio

from support import CHUNKED_HEAD, LAST_CHUNK, PATIENT_POOL, authority, case, check, chunk_bytes, error_of, \
    has_last_chunk, now, not_before, request_bytes, response_bytes, self_signed, server_context
from support.tls import TlsWire

GET, POST = request_bytes(target="/now"), request_bytes("POST", "/now", body=b"x")
HASTY = {"retryBackoffMs": 1}  # nothing here becomes better by waiting


def upstreams(url, trusted, **settings):
    """The setting of that name: one for everything, whose certificate is signed by `trusted`."""
    tls = {**({"ca": trusted.certificate} if trusted else {}), **settings.pop("tls", {})}
    return {"u": {"url": getattr(url, "url", url), "tls": tls, **settings}}


def failures(gateway):
    return [line for line in gateway.log if line.get("event") == "upstream_tls_failed"]


async def refused(t, upstream, trusted, kind, words, status=502, tries=1, **settings):
    """A POST fails with `kind`, nothing of it is sent, and the log says why."""
    limits = {**HASTY, **settings.pop("limits", {})}
    gateway = await t.gateway("http://unused", upstreams=upstreams(upstream, trusted, **settings), limits=limits)
    response = await t.ask(gateway, POST)
    error_of(response, status, kind)
    check(response.get("x-should-retry") == "true", f"{kind}: {response}")
    check(await gateway.until(lambda: len(failures(gateway)) >= tries), f"{words}: {gateway.log}")
    check(len(failures(gateway)) == tries, f"{words}: {tries} tries became {len(failures(gateway))}")
    for line in failures(gateway):
        check(line["detail"] == words if isinstance(words, str) else words(line["detail"]), f"not {words}: {line['detail']}")
        check(line["upstream"] == "u" and line["endpoint"].startswith("127.0.0.1:"), f"{line}")
    line = await gateway.exchange("/now")
    check(line["end"] == kind and line.get("attempts", 0) == 0, f"{line}")
    await gateway.stop()


def begins(*parts):
    """The sentence has these parts in this order; what is between them differs from day to day."""

    def holds(text):
        at = 0
        for part in parts:
            at = text.find(part, at)
            if at < 0:
                return False
            at += len(part)
        return text.startswith(parts[0]) and text.endswith(parts[-1])

    return holds


@case
async def a_certificate_that_does_not_verify_is_told_and_never_retried(t):
    trusted, other = await authority(t.directory), await authority(t.directory, "other")
    between = await other.intermediate("between")
    file, kind = f"the CA file {trusted.certificate}", "tls_certificate_error"
    rows = [
        (await trusted.issue("expired", days=-1),
         begins("the certificate of localhost has expired (CN=expired, notAfter ", "Z)")),
        (await trusted.issue("elsewhere", ("DNS:a.test", "DNS:b.test")),
         "the certificate is for a.test, b.test, not for localhost"),
        (await trusted.issue("nameless", ()), "the certificate is for nameless, not for localhost"),
        (await self_signed(t.directory, "alone"), f"self-signed certificate (CN=alone), not in {file}"),
        (await other.issue("unknown"), "unable to get local issuer certificate: the chain ends at CN=unknown, issued by "
         f"CN=other,O=End to end, which is not in {file}; an intermediate certificate may be missing"),
        ((await other.issue("rooted")).with_chain(other),
         f"the chain ends at the root CN=other,O=End to end, which is not in {file}"),
        ((await between.issue("chained")).with_chain(between), "unable to get local issuer certificate: the chain ends at "
         f"CN=between, issued by CN=other,O=End to end, which is not in {file}"),
    ]
    for own, words in rows:
        upstream = await t.tls_answering(server_context(own))
        await refused(t, upstream, trusted, kind, words)
        check(not upstream.requests and len(upstream.wires) == 1, f"{own}: {len(upstream.wires)} connections")


@case
async def the_systems_roots_are_what_is_trusted_by_default(t):
    trusted = await authority(t.directory)
    upstream = await t.tls_answering(server_context(await trusted.issue("server")))
    await refused(t, upstream, None, "tls_certificate_error", begins(
        "unable to get local issuer certificate: the chain ends at CN=server, issued by CN=authority,O=End to end, which "
        "is not in the system's trusted roots", "an intermediate certificate may be missing"))
    gateway = await t.gateway(upstream, start={"environment": {"SSL_CERT_FILE": trusted.certificate}})
    check((await t.ask(gateway, POST)).status == 200, "its root is among the system's, and it is not served")


@case
async def an_upstream_without_common_ground_is_told(t):
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    rows = [
        ({"versions": ("1.0", "1.0")}, "the upstream speaks no TLS version that is accepted here (protocol_version alert)"),
        ({"versions": ("1.2", "1.2"), "ciphers": "ECDHE-ECDSA-AES128-SHA"},
         "no common cipher, or the upstream lacks something else that it wants (handshake_failure alert)"),
        ({"alpn": ["spdy/1"]}, None),
        ({"clients": trusted, "versions": ("1.2", "1.2")},
         "no common cipher, or the upstream lacks something else that it wants (handshake_failure alert)"),
    ]
    for options, words in rows:
        upstream = await t.tls_answering(server_context(own, **options))
        if words:
            await refused(t, upstream, trusted, "tls_protocol_error", words, tries=3)
        else:  # Python's servers go on without ALPN where nothing is common
            gateway = await t.gateway("http://unused", upstreams=upstreams(upstream, trusted))
            check((await t.ask(gateway, POST)).status == 200, f"{options}: not served")


@case
async def what_does_not_speak_tls_is_told(t):
    trusted = await authority(t.directory)

    async def http(wire):
        await wire.until(lambda: wire.buffer or wire.end)
        wire.send(response_bytes(b"bad", "400 Bad Request"))
        await wire.ended()

    async def greets(wire):
        wire.send(b"220 mail.test ESMTP\r\n")
        await wire.ended()

    async def leaves(wire):
        await wire.until(lambda: wire.buffer or wire.end)

    async def resets(wire):
        await wire.until(lambda: wire.buffer or wire.end)
        wire.reset()

    async def breaks(wire):  # a ServerHello with nonsense in it
        await wire.until(lambda: wire.buffer or wire.end)
        wire.send(b"\x16\x03\x03\x00\x06\x02\x00\x00\x02\x03\x03")
        await wire.ended()

    kind = "tls_protocol_error"
    rows = [(http, kind, "it does not speak TLS (its first bytes look like HTTP)"),
            (greets, kind, "it does not speak TLS (its first bytes are 32 32 30 20 6d)"),
            (leaves, kind, "the upstream closed the connection during the handshake, without having said anything"),
            (resets, kind, "Connection reset by peer during the handshake"),
            (breaks, kind, "the upstream broke the protocol: length mismatch")]
    for script, kind, words in rows:
        upstream = await t.upstream(script)
        await refused(t, f"https://localhost:{upstream.port}", trusted, kind, words, tries=3)


@case
async def a_handshake_that_stalls_is_a_timeout_of_connecting(t):
    trusted = await authority(t.directory)
    upstream = await t.upstream()  # accepts, and says nothing
    since = now()
    await refused(t, f"https://localhost:{upstream.port}", trusted, "connection_timeout",
                  "the TLS handshake did not end in time", status=504, limits={"connectTimeoutMs": 700})
    not_before(since, now(), 0.7, "the 504")
    check(len(upstream.connections) == 1, "a timeout was retried")


@case
async def a_client_certificate_that_an_upstream_does_not_want_is_told(t):
    trusted, other = await authority(t.directory), await authority(t.directory, "other")
    own, mine = await trusted.issue("server"), await other.issue("mine")
    upstream = await t.tls_answering(server_context(own, clients=trusted, versions=("1.2", "1.2")))
    await refused(t, upstream, trusted, "tls_protocol_error",
                  "the upstream does not accept our certificate (unknown_ca alert)", tries=3, tls=mine.paths)


@case
async def a_client_certificate_that_is_refused_behind_the_handshake_is_told_too(t):
    trusted, other = await authority(t.directory), await authority(t.directory, "other")
    own, mine = await trusted.issue("server"), await other.issue("mine")
    upstream = await t.tls_answering(server_context(own, clients=trusted, versions=("1.3", "1.3")))
    rows = [({}, "the upstream wants a client certificate (certificate_required alert)"),
            (mine.paths, "the upstream does not accept our certificate (unknown_ca alert)")]
    for tls, words in rows:
        gateway = await t.gateway("http://unused", upstreams=upstreams(upstream, trusted, tls=tls))
        response = await t.ask(gateway, POST)
        error_of(response, 502, "connection_terminated")
        check(response.get("x-should-retry") == "false", f"{response}")
        check(await gateway.until(lambda: failures(gateway)), f"{gateway.log}")
        check([line["detail"] for line in failures(gateway)] == [words], f"not {words}: {failures(gateway)}")
    check(not upstream.requests, f"{upstream.requests}")


@case
async def a_client_certificate_is_shown_and_the_name_is_asked_for(t):
    trusted = await authority(t.directory)
    asked = []
    for version in ("1.2", "1.3"):
        context = server_context(await trusted.issue("server", ("DNS:inside.test",)), clients=trusted,
                                 versions=(version, version), alpn=["http/1.1"])
        context.sni_callback = lambda _, name, __: asked.append(name)
        upstream = await t.tls_answering(context)
        mine = await trusted.issue("mine", ())
        gateway = await t.gateway("http://unused", upstreams=upstreams(
            f"https://127.0.0.1:{upstream.port}", trusted, tls={"serverName": "inside.test", **mine.paths}))
        check((await t.ask(gateway, POST)).status == 200, f"{version}: {failures(gateway)}")
        wire = upstream.connections[0]
        subject = dict(pair[0] for pair in wire.tls.getpeercert()["subject"])
        check(subject["commonName"] == "mine", f"{subject}")
        check(wire.tls.selected_alpn_protocol() == "http/1.1", f"{wire.tls.selected_alpn_protocol()}")
        request = upstream.requests[0][0]
        check(request.get("Host") == f"127.0.0.1:{upstream.port}", f"{request}")
    check(asked == ["inside.test"] * 2, f"{asked}")


@case
async def without_verification_anybody_is_served_and_each_start_warns(t):
    upstream = await t.tls_answering(server_context(await self_signed(t.directory, "alone", ("DNS:a.test",))))
    gateway = await t.gateway("http://unused", upstreams=upstreams(
        upstream, None, tls={"dangerouslySkipVerification": True}))
    check((await t.ask(gateway, POST)).status == 200, f"{failures(gateway)}")
    warnings = [line["detail"] for line in gateway.log if line.get("level") == "warning"]
    check(any("dangerouslySkipVerification" in text for text in warnings), f"{warnings}")


@case
async def gets_share_connections_and_posts_have_their_own_by_resumed_sessions(t):
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    for version in ("1.2", "1.3"):
        upstream = await t.tls_answering(server_context(own, versions=(version, version)))
        gateway = await t.gateway("http://unused", upstreams=upstreams(upstream, trusted), upstream=PATIENT_POOL)
        for _ in range(5):
            check((await t.ask(gateway, GET)).status == 200, f"{failures(gateway)}")
        check(len(upstream.connections) == 1, f"{version}: {len(upstream.connections)} connections for 5 GETs")
        for _ in range(8):
            check((await t.ask(gateway, POST)).status == 200, f"{failures(gateway)}")
        check(len(upstream.connections) == 9, f"{version}: {len(upstream.connections)} connections")
        check(all(ordinal == 1 for request, _, ordinal in upstream.requests if request.method == "POST"), "reused")
        reused = [wire.tls.session_reused for wire in upstream.connections]
        check(reused == [False] + [True] * 8, f"{version}: {reused}")
        await gateway.stop()
        line = next(line for line in gateway.log if line.get("event") == "worker_stopped")
        check((line["tls_connects_full"], line["tls_connects_resumed"]) == (1, 8), f"{line}")


@case
async def a_pooled_connection_that_went_stale_fails_nobody(t):
    trusted = await authority(t.directory)
    upstream = await t.tls_upstream(server_context(await trusted.issue("server")))
    gateway = await t.gateway("http://unused", upstreams=upstreams(upstream, trusted), upstream=PATIENT_POOL)
    for leave in ("close_notify", "fin", "reset", "late"):
        wire = await t.client(gateway)
        wire.send(GET)
        peer = await upstream.connection()
        await peer.request()
        peer.send(response_bytes(b"first"))
        await wire.response()
        if leave != "late":
            getattr(peer, leave)()
            await asyncio.sleep(0.1)
        wire.send(GET)
        if leave == "late":  # it takes the request and leaves
            await peer.request()
            peer.close()
        peer = await upstream.connection()
        await peer.request()
        peer.send(response_bytes(b"second", fields=[("Connection", "close")]))
        check((await wire.response()).body == b"second", f"{leave}: not served")
        peer.close()


@case
async def an_end_without_close_notify_is_a_cut(t):
    trusted = await authority(t.directory)
    upstream = await t.tls_upstream(server_context(await trusted.issue("server")))
    gateway = await t.gateway("http://unused", upstreams=upstreams(upstream, trusted))
    delimited = b"HTTP/1.1 200 OK\r\n\r\n"
    rows = [(delimited + b"whole", TlsWire.close_notify, True), (delimited + b"cut", TlsWire.fin, False),
            (delimited + b"cut", TlsWire.reset, False), (CHUNKED_HEAD + chunk_bytes(b"cut"), TlsWire.close_notify, False),
            (CHUNKED_HEAD + chunk_bytes(b"cut"), TlsWire.fin, False),
            (CHUNKED_HEAD + chunk_bytes(b"whole") + LAST_CHUNK, TlsWire.fin, True)]
    for n, (sent, leave, whole) in enumerate(rows):
        wire = await t.client(gateway)
        wire.send(request_bytes("POST", f"/{n}", body=b"x"))
        peer = await upstream.connection()
        await peer.request()
        peer.send(sent)
        await wire.take_until(b"whole" if whole else b"cut")
        leave(peer)
        if whole:
            check(await wire.until(lambda: has_last_chunk(wire.buffer)), f"{n}: not ended")
        else:
            await wire.ended()
            check(not has_last_chunk(wire.buffer), f"{n}: what was cut ended whole")
        line = await gateway.exchange(f"/{n}")
        check((line["end"] == "complete") == whole, f"{n}: {line}")
        peer.close()


@case
async def a_request_that_a_client_cuts_is_no_whole_one(t):
    trusted = await authority(t.directory)
    upstream = await t.tls_upstream(server_context(await trusted.issue("server")))
    gateway = await t.gateway("http://unused", upstreams=upstreams(upstream, trusted))
    wire = await t.client(gateway)
    wire.send(request_bytes("POST", "/up", fields=[("Transfer-Encoding", "chunked")]) + chunk_bytes(b"part"))
    peer = await upstream.connection()
    await peer.request_head()
    await peer.take_until(b"part\r\n")
    wire.fin()
    end = await peer.ended(5)
    check(end != "close_notify" and not has_last_chunk(peer.buffer), f"{end} {bytes(peer.buffer)}")


@case(seconds=120)
async def many_posts_resume_and_spares_spare_the_handshake(t):
    trusted = await authority(t.directory)
    posts = 150
    for spare in (0, 2):
        upstream = await t.tls_answering(server_context(await trusted.issue("server")))
        gateway = await t.gateway("http://unused", upstreams=upstreams(upstream, trusted, spare=spare))
        wire = await t.client(gateway)
        for n in range(posts):
            wire.send(POST)
            check((await wire.response("POST")).status == 200, f"POST {n} failed")
        check(upstream.deliveries("/now") == posts, f"{upstream.deliveries('/now')} POSTs arrived")
        check(all(ordinal == 1 for _, _, ordinal in upstream.requests), "a POST met a used connection")
        wire.close()
        await gateway.stop()
        line = next(line for line in gateway.log if line.get("event") == "worker_stopped")
        full, used = line["tls_connects_full"], line.get("spares_used", 0)
        check(full <= 1 + spare and "tls_connects_failed" not in line, f"{line}")
        check(posts <= full + line["tls_connects_resumed"] <= posts + spare + 1, f"{line}")
        check(used > posts / 2 if spare else used == 0, f"{line}")
