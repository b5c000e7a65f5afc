"""Server-sent events: many open streams, each with an event every 100 ms."""

import json
import time

from .. import figures
from . import Result

_PATIENCE_SECONDS = 25
_LOGGED = ("nginx", "HAProxy")  # a line per stream: there is little to see
_HOPELESS_US_PER_S = 2_000_000
_WARM = 50  # streams before memory at rest is read
_SETTLE_SECONDS = 0.5


def streams(run):
    """1 000 streams on one core; 8 000 with the gateway on its core and the load on the others."""
    field, profile, results = run.field, run.profile, []
    everybody = run.http_peers("HAProxy no-delay", "floor io_uring", "floor epoll", "direct")
    results.append(_measure(run, 1000, everybody, profile.rounds, log=False, apart=False))
    logged = [name for name in field.names(everybody) if field.peers[name].kind == "ours" or name in _LOGGED]
    results.append(_measure(run, 1000, logged, profile.rounds, log=True, apart=False))
    side = run.side_peers("HAProxy no-delay", "floor io_uring", "floor epoll", "direct")
    able = [name for name in field.names(side) if _able(run, name, results[0].rows.get(name))]
    results.append(_measure(run, 8000, able, profile.side_rounds, log=False, apart=True))
    return results


def _able(run, name, rounds):
    """Whether 8 000 streams are worth the try: far beyond one core nothing is measured but queues."""
    cost = figures.of(rounds, "cpu_us")
    if cost is None or cost.median * 80_000 < _HOPELESS_US_PER_S:
        return True
    run.field.note(f"{name} is left out of 8 000 streams: at {cost.median:.0f} µs an event they would take "
                   f"{cost.median * 80_000 / 1e6:.1f} cores")
    return False


def _measure(run, count, names, rounds, log, apart):
    field, profile, at_rest = run.field, run.profile, {}
    elsewhere = field.others if apart else field.core

    def client(gateway, streams):
        return field.tool("sse_client", "--port", gateway.port, "--upstream", upstream, "--streams", streams, "--seconds-ms",
                          profile.stream_ms, cores=elsewhere)

    # Memory at rest, when a gateway has done all of it once.
    def rest(gateway):
        program = client(gateway, _WARM)
        try:
            program.read_line(_PATIENCE_SECONDS)
        finally:
            program.end()
        time.sleep(_SETTLE_SECONDS)
        return gateway.pss()

    def measure(gateway):
        if gateway.name not in at_rest:
            at_rest[gateway.name] = rest(gateway)
        program = client(gateway, count)
        try:
            program.read_line(_PATIENCE_SECONDS)  # ready: every stream is open, and events flow
            before = gateway.cpu()
            program.write_line()
            found = json.loads(program.read_line(_PATIENCE_SECONDS))
            after = gateway.cpu()
            memory = gateway.pss()
        finally:
            program.end()
        events = max(found["events"], 1)
        found["kept_up"] = found["events"] / (count * 10 * found["seconds"])
        if after:
            found.update({name: value / events for name, value in after.since(before).items()})
            found["bytes_per_stream"] = (memory - at_rest[gateway.name]) / (count - _WARM)
        return found

    with field.upstream("sse_upstream", "--period-ms", 100, cores=elsewhere) as upstream:
        with field.gateways(names, upstream=upstream, connections=count + 100, exchanges=count + 100, stream=True, log=log,
                            ready_path="/ready") as gateways:
            rows = field.alternate(gateways, rounds, measure)
    place = "the load on other cores" if apart else "all on one core"
    title = f"{count} streams, 10 events a second each, {place}{', access logs on' if log else ''}"
    return Result("sse", title, rows, {"streams": count}, log)
