"""Clients that have asked once and stay: what each costs in memory, and all of them in CPU."""

import time

from . import Result

_PATIENCE_SECONDS = 60
_SETTLE_SECONDS = 0.3
_WARM, _FEW, _MANY, _ALL = 100, 2000, 7000, 10000


def idle(run):
    """Each round with gateways started afresh, one at a time."""
    field, profile = run.field, run.profile
    rows = {}
    with field.upstream() as upstream:
        for _ in range(profile.idle_rounds):
            for name in field.names(run.side_peers()):
                with field.gateways([name], upstream=upstream, connections=_ALL + 100, exchanges=100) as gateways:
                    field.alternate(gateways, 1, lambda gateway: _measure(run, gateway), rows)
    ordered = {name: rows[name] for name in field.peers if name in rows}
    return [Result("idle", f"{_ALL} kept-alive clients", ordered, {"connections": _ALL})]


def _measure(run, gateway):
    crowd = run.field.tool("crowd", "--port", gateway.port)

    def gather(count):
        crowd.write_line(str(count))
        crowd.read_line(_PATIENCE_SECONDS)
        time.sleep(_SETTLE_SECONDS)
        return gateway.pss()

    try:
        gather(_WARM)
        rest = gather(0)
        few, many, everyone = gather(_FEW), gather(_MANY), gather(_ALL)
        before, begun = gateway.cpu(), time.monotonic()
        time.sleep(run.profile.idle_seconds)
        cost = gateway.cpu().since(before)["cpu_us"] / (time.monotonic() - begun)
        gather(0)
    finally:
        crowd.end()
    return {"rest_bytes": rest, "slope_bytes": (many - few) / (_MANY - _FEW), "total_bytes": everyone / _ALL,
            "cpu_us_per_s": cost}
