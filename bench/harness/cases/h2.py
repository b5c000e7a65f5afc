"""HTTP/2 on either side: GET by h2load, POST over a shared upstream connection, and how many connections POSTs take."""

import json
import re

from ..ports import ask
from ..processes import Failed, Program
from . import Result
from .http import load
from .tls import certificate

_CONNECTIONS, _STREAMS = 4, 16
_POSTS = 10_000
_PATIENCE_SECONDS = 20
_TO_H1 = ("nginx", "HAProxy")
_TO_H2 = ("HAProxy h2",)
_UNITS = {"us": 1, "ms": 1e3, "s": 1e6}


def h2(run):
    """All on one core."""
    field = run.field
    with field.upstream() as h1_port, field.upstream("h2_upstream") as h2_port:
        return [*_gets(run, "h2", _TO_H2, upstream=h1_port, upstream_h2=h2_port),
                *_gets(run, "h1", _TO_H1, upstream=h1_port),
                _posts(run, h1_port, h2_port),
                *_counts(run, h1_port, h2_port)]


def _with_ours(run, peers):
    return [name for name, peer in run.field.peers.items() if peer.kind == "ours" or name in peers]


def _gets(run, to, peers, **upstreams):
    field, results = run.field, []
    for tls in (False, True):
        pem = certificate(field.directory) if tls else None
        with field.gateways(_with_ours(run, peers), ready_path=None, tls=pem, h2=True, **upstreams) as gateways:
            rows = field.alternate(gateways, run.profile.rounds, lambda gateway, tls=tls: _h2load(run, gateway, tls))
        title = f"GET, HTTP/2 to {'HTTP/2' if to == 'h2' else 'HTTP/1.1'}, clients {'inside TLS' if tls else 'in the clear'}"
        results.append(Result("h2", title, rows, {"to": to, "tls": tls}))
    return results


def _h2load(run, gateway, tls):
    """The figures of one run. The CPU is that between h2load's own words about the span that it counts."""
    profile = run.profile
    program = Program("h2load", [
        "h2load", "-c", _CONNECTIONS, "-m", _STREAMS, "-D", f"{profile.key_ms}ms", f"--warm-up-time={profile.warmup_ms}ms",
        f"{'https' if tls else 'http'}://127.0.0.1:{gateway.port}/90"], cores=run.field.core, directory=run.field.directory)
    try:
        spoken = _until(program, r"Application protocol: (\S+)")[1]
        if spoken != ("h2" if tls else "h2c"):
            raise Failed(f"spoke {spoken}")
        _until(program, "Main benchmark duration is started")
        before = gateway.cpu()
        _until(program, "Main benchmark duration is over")
        after = gateway.cpu()
        counts = _until(program, r"requests: .* (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout")
        mean = _until(program, r"time for request: +\S+ +\S+ +([\d.]+)(us|ms|s)\b")
    finally:
        program.end()
    answered, *bad = map(int, counts.groups())
    if not answered:
        raise Failed("nothing was answered")
    if any(bad):
        run.field.note(f"{gateway.name}: {sum(bad)} requests failed beside {answered}")
    return {"answered": answered, "failed": sum(bad), "per_s": answered * 1000 / profile.key_ms,
            "mean_us": float(mean[1]) * _UNITS[mean[2]],
            **{name: value / answered for name, value in after.since(before).items()}}


def _until(program, pattern):
    """The match in the first line that has one."""
    while not (found := re.search(pattern, program.read_line(_PATIENCE_SECONDS))):
        pass
    return found


def _posts(run, h1_port, h2_port):
    profile = run.profile

    def measure(gateway):
        return load(run.field, gateway, "--post", 200, "--warmup-ms", profile.warmup_ms, "--seconds-ms", profile.key_ms,
                    measured_ms=profile.key_ms)

    with run.field.gateways(_with_ours(run, _TO_H1 + _TO_H2), upstream=h1_port, upstream_h2=h2_port) as gateways:
        rows = run.field.alternate(gateways, profile.rounds, measure)
    return Result("h2", "POST of 200 bytes on connections that are shared or used again", rows, {"way": "post"})


def _counts(run, h1_port, h2_port):
    """Once each: gateways that have sent nothing yet."""
    def opened():
        h1, over_h2 = json.loads(ask(h1_port, "/stats")), json.loads(ask(h2_port, "/stats"))
        return h1["accepted"] + over_h2["accepted"]

    def measure(gateway):
        before = opened()
        figures = load(run.field, gateway, "--post", 200, "--requests", _POSTS, measured_ms=20_000)
        figures["opened"] = opened() - before - 1  # the question's own
        return figures

    results = []
    for to, peers, port in (("h2", _TO_H2, h2_port), ("h1", _TO_H1, 0)):
        with run.field.gateways(_with_ours(run, peers), ready_path=None, upstream=h1_port, upstream_h2=port) as gateways:
            rows = run.field.alternate(gateways, 1, measure)
        title = f"{_POSTS} POSTs to {'HTTP/2' if to == 'h2' else 'HTTP/1.1'}: upstream connections, and what they cost"
        results.append(Result("h2", title, rows, {"way": "count", "to": to}))
    return results
