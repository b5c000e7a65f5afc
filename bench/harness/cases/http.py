"""GET, POST, connections that live for one request, large bodies, latency at a fixed rate: all by http_load."""

import json

from ..ports import ask
from ..processes import Failed
from . import Result

_PATIENCE_SECONDS = 40
_PER_GB = 1e9
_MOST_BYTES_AT_ONCE = 100_000_000  # of answers: the slowest would take half a minute to finish with more


def load(field, gateway, *arguments, cores=None, measured_ms, program="http_load"):
    """Runs it once. Its figures, with the gateway's CPU per answer."""
    program = field.tool(program, "--port", gateway.port, *arguments, cores=cores)
    try:
        program.read_line(_PATIENCE_SECONDS)  # ready: warm, and nothing is under way
        before = gateway.cpu()
        program.write_line()
        figures = json.loads(program.read_line(_PATIENCE_SECONDS + measured_ms / 1000))
        after = gateway.cpu()
    finally:
        program.end()
    answered = figures["answered"]
    if not answered:
        raise Failed("nothing was answered")
    if figures["failed"]:
        field.note(f"{gateway.name}: {figures['failed']} of {figures['due']} requests failed ({' '.join(map(str, arguments))})")
    figures["per_s"] = answered / figures["seconds"]
    if after:
        figures.update({name: value / answered for name, value in after.since(before).items()})
    return figures


def _large(figures, size):
    """What a GB costs, for answers of which the bytes matter more than the number."""
    if "cpu_us" in figures:
        figures["cpu_s_per_gb"] = figures["cpu_us"] / 1e6 * _PER_GB / size
    figures["gb_per_s"] = figures["per_s"] * size / _PER_GB
    return figures


def get(run):
    """GET, kept alive on both sides, all on one core, closed loop."""
    field, profile, results = run.field, run.profile, []
    with field.upstream() as upstream:
        with field.gateways(run.http_peers("floor io_uring", "floor epoll"), upstream=upstream) as gateways:
            for connections in profile.get_connections:
                for size in profile.get_bytes:
                    if connections * size > _MOST_BYTES_AT_ONCE:
                        continue
                    key = connections == 64 and size in (90, 1048576)
                    results.append(_get(run, gateways, connections, size, key, log=False))
        with field.gateways(run.side_peers(), upstream=upstream, log=True) as gateways:
            results.append(_get(run, gateways, 64, 90, True, log=True))
            results.append(_get(run, gateways, 64, 1048576, True, log=True))
    return results


def _get(run, gateways, connections, size, key, log):
    profile = run.profile
    span = profile.key_ms if key else profile.side_ms
    rounds = profile.rounds if key else profile.side_rounds

    def measure(gateway):
        return _large(load(run.field, gateway, "--connections", connections, "--path", f"/{size}", "--warmup-ms",
                           profile.warmup_ms, "--seconds-ms", span, measured_ms=span), size)

    rows = run.field.alternate(gateways, rounds, measure)
    title = f"{connections} connections, answers of {size} bytes{', access logs on' if log else ''}"
    return Result("get", title, rows, {"connections": connections, "bytes": size}, log)


def post(run):
    """POST of 200 bytes, clients kept alive, a new upstream connection for each, which the upstream ends."""
    field, profile, results = run.field, run.profile, []

    def measure(gateway):
        before = json.loads(ask(upstream, "/stats"))
        figures = load(field, gateway, "--post", 200, "--warmup-ms", profile.warmup_ms, "--seconds-ms",
                       profile.key_ms, measured_ms=profile.key_ms)
        after = json.loads(ask(upstream, "/stats"))
        opened = after["accepted"] - before["accepted"] - 1
        asked = after["requests"] - before["requests"]
        if opened < asked:
            field.note(f"{gateway.name} made {opened} upstream connections for {asked} POSTs")
        return figures

    with field.upstream("upstream", "--close", 1) as upstream:
        for log in (False, True):
            names = run.side_peers() if log else run.http_peers("floor connect")
            with field.gateways(names, upstream=upstream, reuse=False, log=log) as gateways:
                rows = field.alternate(gateways, profile.rounds, measure)
            title = f"64 connections, POST of 200 bytes{', access logs on' if log else ''}"
            results.append(Result("post", title, rows, {}, log))
    return results


def fresh(run):
    """GET on a new client connection each, which the gateway ends; kept alive towards the upstream."""
    field, profile = run.field, run.profile

    def measure(gateway):
        return load(field, gateway, "--fresh", 1, "--warmup-ms", profile.warmup_ms, "--seconds-ms", profile.side_ms,
                    measured_ms=profile.side_ms)

    with field.upstream() as upstream, field.gateways(run.side_peers(), upstream=upstream) as gateways:
        rows = field.alternate(gateways, profile.side_rounds + 1, measure)
    return [Result("fresh", "64 clients, a connection for each GET", rows)]


def bulk(run):
    """One body, down and up, over one connection."""
    field, profile, results = run.field, run.profile, []
    size = profile.bulk_bytes
    ways = {"download": ("--path", f"/{size}"), "upload": ("--post", size)}
    with field.upstream() as upstream:
        with field.gateways(run.side_peers("floor io_uring", "floor epoll"), upstream=upstream) as gateways:
            for way, arguments in ways.items():
                def measure(gateway, arguments=arguments):
                    return _large(load(field, gateway, "--connections", 1, "--requests", 1, *arguments,
                                       measured_ms=20_000), size)
                rows = field.alternate(gateways, profile.side_rounds, measure)
                results.append(Result("bulk", f"{way} of {size / 1e9:g} GB", rows, {"way": way, "bytes": size}))
    return results


def latency(run):
    """GET at one rate for all, open loop: on one core, and with all cores for everybody."""
    field, profile, results = run.field, run.profile, []
    everywhere = field.core | field.others
    rate = None
    for place, cores in (("one core", field.core), ("all cores", everywhere)):
        with field.upstream(cores=cores) as upstream, \
                field.gateways(run.side_peers("floor epoll", "direct"), cores=cores, upstream=upstream) as gateways:
            rate = rate or _rate(run, gateways)

            def measure(gateway, cores=cores):
                figures = load(field, gateway, "--warmup-ms", profile.warmup_ms, "--seconds-ms", profile.key_ms,
                               "--rate", rate, cores=cores, measured_ms=profile.key_ms)
                figures["kept_up"] = figures["answered"] / max(figures["due"], 1)
                return figures

            rows = field.alternate(gateways, profile.side_rounds + 1, measure)
            results.append(Result("latency", f"{rate} requests a second, 64 connections, {place}", rows,
                                  {"rate": rate, "place": place}))
    return results


def _rate(run, gateways):
    """Two fifths of what nginx can do on one core, or of what the first gateway can: below everybody's saturation
    whose cost is anywhere near."""
    chosen = next((gateway for gateway in gateways if gateway.name == "nginx"), gateways[0])
    figures = load(run.field, chosen, "--warmup-ms", 200, "--seconds-ms", 500, measured_ms=500)
    return max(500, int(figures["per_s"] * 0.4 / 500) * 500)
