"""The files of TLS: what `check` and a reload say of bad ones, and certificates that are replaced under load."""

import asyncio
import json
import os

from programs import output_of
from support import authority, case, check, client_context, configuration, now, request_bytes, server_context, tls_listen
from test_reload import events, reload, reloaded

GET = request_bytes(target="/now")
NEW_WITHIN = 1.0  # seconds, of which the files' coming to rest takes most
REPLACEMENTS = 50


def spoil(path, content):
    with open(path, "wb") as file:
        file.write(content)
    return path


async def bad_files(t):
    """(trusted, a good certificate, rows of (certificate, key, what is said of it))"""
    trusted = await authority(t.directory)
    good, other = await trusted.issue("good"), await trusted.issue("other")
    d = t.directory
    locked = os.path.join(d, "locked.key")
    code, out = await output_of("openssl", "pkey", "-in", good.key, "-aes128", "-passout", "pass:x", "-out", locked)
    check(code == 0, f"{out}")
    pem = good.read()[0]
    rows = [
        (f"{d}/none.pem", good.key, f"{d}/none.pem the certificate cannot be read: No such file or directory; "
         "the name of a file that exists"),
        (good.certificate, f"{d}/none.key", f"{d}/none.key the key cannot be read: No such file or directory; "
         "the name of a file that exists"),
        (good.certificate, other.key, f"{other.key} the key does not belong to the first certificate of "
         f"{good.certificate} (CN=good); the key that the certificate was requested with; the certificate before its chain"),
        (good.certificate, locked, f"{locked} the key is encrypted; a key without a pass phrase (openssl pkey -in KEY "
         "-out PLAIN)"),
        (good.certificate, good.certificate, f"{good.certificate} no private key is in it; a PEM file with BEGIN PRIVATE "
         "KEY"),
        (good.key, good.key, f"{good.key} no certificate is in it; a PEM file with BEGIN CERTIFICATE"),
        (spoil(f"{d}/half.pem", pem + pem[:len(pem) // 2]), good.key, f"{d}/half.pem what follows behind 1 certificate(s) "
         "is no whole certificate; a PEM file as its authority has issued it"),
        (spoil(f"{d}/empty.pem", b""), good.key, f"{d}/empty.pem no certificate is in it; a PEM file with BEGIN "
         "CERTIFICATE"),
    ]
    return trusted, good, rows


def listen_with(certificate, key):
    return [{"address": "127.0.0.1:0", "tls": {"certificates": [{"certificate": certificate, "key": key}]}}]


@case
async def check_says_what_is_wrong_with_a_file_and_a_reload_changes_nothing(t):
    trusted, good, rows = await bad_files(t)
    upstream = await t.answering()
    gateway = await t.gateway(upstream, listen=tls_listen(good))
    for certificate, key, words in rows:
        line = await reload(gateway, configuration(upstream, listen=listen_with(certificate, key)))
        check(line["event"] == "reload_failed" and line["faults"] == 1, f"{line}")
        said = events(gateway, "reload_fault")[-1]["detail"]
        check(said == f"listen[0].tls: {words}", f"{said}\nwanted {words}")
        code, out = await output_of(t.binary, "check", "-c", gateway.path)
        text = out.decode()
        check(code == 1 and f"listen[0].tls: {words}\n" in text, f"check: {code} {text}")
    check((await t.tls_ask(gateway, client_context(trusted), GET))[0].status == 200, "not served")
    none, key = rows[0][0], rows[1][1]
    tls = {"ca": none, "certificate": good.certificate, "key": key}
    line = await reload(gateway, configuration(upstream, listen=tls_listen(good),
                                               upstreams={"u": {"url": "https://localhost:1", "tls": tls}}))
    check(line["event"] == "reload_failed" and line["faults"] == 2, f"{line} {events(gateway, 'reload_fault')}")
    await reloaded(gateway, configuration(upstream, listen=tls_listen(good), limits={"graceMs": 1234}))
    check((await t.tls_ask(gateway, client_context(trusted), GET))[0].status == 200, "not served")


@case
async def a_start_with_bad_files_fails_and_says_every_one(t):
    _, _, rows = await bad_files(t)
    path = os.path.join(t.directory, "bad.json")
    certificates = [{"certificate": certificate, "key": key} for certificate, key, _ in rows]
    spoil(path, json.dumps(configuration("http://127.0.0.1:1", listen=[
        {"address": "127.0.0.1:0", "tls": {"certificates": certificates}}])).encode())
    code, out = await output_of(t.binary, "serve", "-c", path)
    text = out.decode()
    check(code == 1, f"exit code {code}")
    for _, _, words in rows:
        check(f"listen[0].tls: {words}" in text, f"not told: {words}\n{text}")


@case
async def certificates_that_end_soon_are_warned_of(t):
    trusted = await authority(t.directory)
    soon, over = await trusted.issue("soon", days=5), await trusted.issue("over", days=-1)
    gateway = await t.gateway(await t.answering(), listen=tls_listen(soon, over))
    check(await gateway.until(lambda: len(events(gateway, "certificate")) == 2), "not told of both")
    said = [line["detail"] for line in events(gateway, "certificate")]
    check("(CN=soon) expires at 2" in said[0] and "(CN=over) has expired at 2" in said[1], f"{said}")


@case
async def tls_comes_changes_and_goes_by_a_reload(t):
    trusted, clients = await authority(t.directory), await authority(t.directory, "clients")
    own, mine = await trusted.issue("server"), await clients.issue("mine", ())
    upstream = await t.answering()
    gateway = await t.gateway(upstream)
    check((await t.ask(gateway, GET)).status == 200, "not served")
    await reloaded(gateway, configuration(upstream, listen=tls_listen(own)))
    kept = await t.tls_client(gateway, client_context(trusted))
    check(await kept.handshake() is None, "no TLS")
    await reloaded(gateway, configuration(upstream, listen=tls_listen(
        own, clientCertificates="required", clientCa=clients.certificate)))
    stranger = await t.tls_client(gateway, client_context(trusted))
    await stranger.handshake()
    await stranger.refused()
    check((await t.tls_ask(gateway, client_context(trusted, own=mine), GET))[0].status == 200, "not served")
    await reloaded(gateway, configuration(upstream))
    check((await t.ask(gateway, GET)).status == 200, "not served in cleartext")
    kept.send(GET)
    check((await kept.response()).status == 200, "the connection from before is gone")


@case
async def a_renewed_certificate_of_an_upstreams_authority_is_taken(t):
    trusted, other = await authority(t.directory), await authority(t.directory, "other")
    file = trusted.copy(t.directory, "ca")
    upstream = await t.tls_answering(server_context(await other.issue("server")))
    gateway = await t.gateway("http://unused", upstreams={
        "u": {"url": upstream.url, "tls": {"ca": file.certificate}}})
    check((await t.ask(gateway, GET)).status == 502, "an unknown authority is believed")
    other.copy(t.directory, "ca")
    check(await gateway.until(lambda: events(gateway, "tls_reloaded")), f"{gateway.log[-3:]}")
    check((await t.ask(gateway, GET)).status == 200, f"{gateway.log[-3:]}")


@case
async def a_key_that_does_not_come_with_its_certificate_changes_nothing(t):
    trusted = await authority(t.directory)
    own, next_one = await trusted.issue("server"), await trusted.issue("next")
    gateway = await t.gateway(await t.answering(), listen=tls_listen(own))
    spoil(own.certificate, next_one.read()[0])
    check(await gateway.until(lambda: events(gateway, "reload_fault")), f"{gateway.log[-3:]}")
    said = events(gateway, "reload_fault")[-1]["detail"]
    check("the key does not belong to the first certificate of" in said, said)
    _, wire = await t.tls_ask(gateway, client_context(trusted), GET)
    check(wire.tls.getpeercert()["subject"][0][0][1] == "server", "half of it was taken")
    spoil(own.key, next_one.read()[1])
    check(await gateway.until(lambda: events(gateway, "tls_reloaded")), f"{gateway.log[-3:]}")
    _, wire = await t.tls_ask(gateway, client_context(trusted), GET)
    check(wire.tls.getpeercert()["subject"][0][0][1] == "next", "not taken")


async def write_both(own, renewed):
    """One behind the other, each in its place."""
    certificate, key = renewed.read()
    spoil(own.certificate, certificate)
    await asyncio.sleep(0.02)
    spoil(own.key, key)


async def rename_both(own, renewed):
    for path, content in zip((own.certificate, own.key), renewed.read()):
        os.replace(spoil(path + ".new", content), path)


async def serial_of(certificate):
    _, out = await output_of("openssl", "x509", "-in", certificate.certificate, "-noout", "-serial")
    return out.decode().strip().partition("=")[2]


async def seconds_until_shown(t, gateway, context, serial):
    """One ask counts for half a second at most: a machine that stood still meanwhile says nothing of the gateway."""
    took = 0
    while took < 10:
        since = now()
        _, wire = await t.tls_ask(gateway, context, GET)
        took += min(now() - since, 0.5)
        if wire.tls.getpeercert()["serialNumber"] == serial:
            return took
    told = [line for line in gateway.log if line["event"] != "exchange"]
    raise AssertionError(f"not shown: {told[-5:]}")


async def keeps_asking(t, gateway, context, over, counted, *, keeps_connection):
    """Until it is over; nothing may fail."""
    wire = None
    while not over.is_set():
        if keeps_connection:
            if not wire:
                wire = await t.tls_client(gateway, context)
                check(await wire.handshake() is None, "no handshake")
            wire.send(GET)
            response = await wire.response()
        else:
            response, _ = await t.tls_ask(gateway, context, GET)
        check(response.status == 200, f"{response}")
        counted.append(1)
        await asyncio.sleep(0.005)


@case(seconds=150, threads=True)
async def certificates_are_replaced_again_and_again_under_load(t):
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    renewed = [await trusted.issue(f"renewed{n}") for n in range(2)]
    serials = [await serial_of(one) for one in renewed]
    context = client_context(trusted)
    gateway = await t.gateway(await t.answering(), listen=tls_listen(own), workers=2)
    over, counted = asyncio.Event(), []
    clients = [asyncio.ensure_future(keeps_asking(t, gateway, context, over, counted, keeps_connection=keeps))
               for keeps in (True, False) * 2]
    took = []
    for n in range(REPLACEMENTS):
        await (write_both, rename_both)[n // 2 % 2](own, renewed[n % 2])
        took.append(await seconds_until_shown(t, gateway, context, serials[n % 2]))
    over.set()
    faults = [end for end in await asyncio.gather(*clients, return_exceptions=True) if end]
    check(not faults, f"{len(faults)} failed: {faults[:3]}")
    check(not events(gateway, "reload_failed"), f"{events(gateway, 'reload_fault')}")
    check(len(events(gateway, "tls_reloaded")) == REPLACEMENTS, f"{len(events(gateway, 'tls_reloaded'))} reloads")
    check(max(took) <= NEW_WITHIN, f"a new certificate was shown after {max(took):.2f} s")
    check(len(counted) > REPLACEMENTS * 10, f"only {len(counted)} requests")
