"""RFC 9113 towards clients: the rows of h2/rows.py, by section, in cleartext and over TLS; what a listener speaks."""

import re

from h2.client import connect
from h2.conform import SMALL, answer_to, upstream_script
from h2.rows import ROWS
from support import authority, case, check, client_context, request_bytes, tls_listen


async def conforms(t, sections):
    """All rows of these sections are answered as allowed."""
    rows = [row for row in ROWS if re.fullmatch(sections, row.section)]
    check(rows, f"no row of {sections}")
    gateway = await t.gateway(await t.upstream(upstream_script, receive_buffer=SMALL))
    wrong = []
    for row in rows:
        wire = await t.client(gateway)
        answer = await answer_to(row, wire)
        wire.close()
        if answer not in row.allowed:
            wrong.append(f"{row.section} {row.text}: {answer}, not {sorted(row.allowed)}")
    check(not wrong, f"{len(wrong)} of {len(rows)}: " + " | ".join(wrong))


@case(seconds=120)
async def starting_http2(t):
    await conforms(t, r"3\..*")


@case(seconds=120)
async def frames_and_their_sizes(t):
    await conforms(t, r"4\.[12]")


@case(seconds=120)
async def field_section_compression(t):
    await conforms(t, r"4\.3")


@case(seconds=120)
async def stream_states_and_numbers(t):
    await conforms(t, r"5\.1.*")


@case(seconds=120)
async def priority_and_extensions(t):
    await conforms(t, r"5\.[35]")


@case(seconds=120)
async def data_and_headers(t):
    await conforms(t, r"6\.[12]")


@case(seconds=120)
async def priority_and_reset_frames(t):
    await conforms(t, r"6\.[34]")


@case(seconds=120)
async def settings_frames(t):
    await conforms(t, r"6\.5.*")


@case(seconds=120)
async def push_promise_ping_and_goaway_frames(t):
    await conforms(t, r"6\.[678]")


@case(seconds=120)
async def windows(t):
    await conforms(t, r"6\.9.*")


@case(seconds=120)
async def continuation_frames(t):
    await conforms(t, r"6\.10")


@case(seconds=120)
async def message_framing_and_content_length(t):
    await conforms(t, r"8\.1.*")


@case(seconds=120)
async def field_names_and_values(t):
    await conforms(t, r"8\.2.*")


@case(seconds=120)
async def pseudo_fields_and_connect(t):
    await conforms(t, r"8\.[35].*|8441")


@case
async def no_more_streams_than_allowed_are_served_at_once(t):
    gateway = await t.gateway(await t.upstream(upstream_script), limits={"maxStreams": 3})
    client = await connect(t, gateway)
    await client.want(lambda: client.settings_seen, "SETTINGS")
    check(client.settings.get(3) == 3, f"{client.settings}")
    streams = [client.begin(path="/wait") for _ in range(4)]
    last = await client.done(streams[3])
    if not client.goaways:
        check(last.error in ("REFUSED_STREAM", "PROTOCOL_ERROR"), f"{last}")
        check(not any(stream.finished for stream in streams[:3]), f"{streams}")
    else:  # a stream error may be taken for one of the connection (section 5.4.1)
        check(await client.ended() == "PROTOCOL_ERROR" and client.refused(last), f"{client}")


@case
async def as_many_streams_as_allowed_are_served_again_and_again(t):
    gateway = await t.gateway(await t.upstream(upstream_script), limits={"maxStreams": 3})
    client = await connect(t, gateway)
    for _ in range(3):
        streams = [client.begin(path="/wait") for _ in range(3)]
        client.reset(streams[0])
        await client.good(path="/now")
        for stream in streams[1:]:
            client.reset(stream)


@case
async def one_listener_speaks_both_in_cleartext_and_over_tls(t):
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    upstream = await t.answering()
    gateway = await t.gateway(upstream, listen=["127.0.0.1:0", *tls_listen(own)])
    client = await connect(t, gateway)
    await client.good()
    wire = await t.client(gateway)
    wire.send(request_bytes())
    check((await wire.response()).status == 200, "HTTP/1.1 in cleartext")
    client = await connect(t, gateway, context=client_context(trusted, alpn=["h2", "http/1.1"]), of=1)
    await client.good()
    for offers in (["http/1.1"], None):
        wire = await t.tls_client(gateway, client_context(trusted, alpn=offers), of=1)
        check(await wire.handshake() is None, "no handshake")
        check(wire.tls.selected_alpn_protocol() == (offers and offers[0]), f"{wire.tls.selected_alpn_protocol()}")
        wire.send(request_bytes())
        check((await wire.response()).status == 200, "HTTP/1.1 over TLS")
    check(len(upstream.requests) == 5, f"{upstream.requests}")


@case
async def a_listener_without_http2_speaks_http1_only(t):
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    listen = [{"address": "127.0.0.1:0", "http2": False}, {**tls_listen(own)[0], "http2": False}]
    gateway = await t.gateway(await t.answering(), listen=listen)
    wire = await t.tls_client(gateway, client_context(trusted, alpn=["h2", "http/1.1"]), of=1)
    check(await wire.handshake() is None and wire.tls.selected_alpn_protocol() == "http/1.1", "ALPN offers h2")
    wire = await t.client(gateway)
    wire.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    check((await wire.response()).status in (400, 501, 505), "a preface was taken")


@case
async def every_row_over_tls_that_ends_the_connection_does_so_in_order(t):
    trusted = await authority(t.directory)
    own = await trusted.issue("server")
    gateway = await t.gateway(await t.upstream(upstream_script), listen=tls_listen(own))
    for row in [row for row in ROWS if row.section in ("6.7", "6.5", "4.2")]:
        wire = await t.tls_client(gateway, client_context(trusted, alpn=["h2"]))
        check(await wire.handshake() is None, "no handshake")
        answer = await answer_to(row, wire)
        check(answer in row.allowed, f"{row.section} {row.text}: {answer}")
        wire.close()
