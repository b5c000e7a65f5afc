"""The table of targets: hushgate against its peers, each backend in its column."""

from dataclasses import dataclass

from . import figures

BACKENDS = {"io_uring": "hushgate io_uring", "epoll": "hushgate epoll"}


@dataclass(frozen=True)
class Target:
    """`against`: peers of which the best counts, round by round; empty: the figure itself. `limits`: by backend."""
    label: str
    case: str
    variant: dict
    metric: str
    against: tuple
    limits: dict
    at_least: bool = False
    unit: str = ""  # of the figure itself
    floors: tuple = ()  # whose ratio stands beside it
    logged: bool = True  # belongs in the table with access logs on too


_EVERY_PEER = ("nginx", "HAProxy", "Caddy", "H2O", "Node")


def _both(limit):
    return {"io_uring": limit, "epoll": limit}


_GET = {"connections": 64, "bytes": 90}
_STREAMS = {"streams": 1000}

TARGETS = (
    Target("CPU per GET, 64 connections, ÷ nginx", "get", _GET, "cpu_us", ("nginx",), {"io_uring": 0.72, "epoll": 0.87},
           floors=("floor io_uring", "floor epoll")),
    Target("chain throughput ÷ nginx", "get", _GET, "per_s", ("nginx",), {"io_uring": 1.20, "epoll": 1.08}, at_least=True,
           floors=("floor io_uring", "floor epoll")),
    Target("CPU per POST on a new connection ÷ the better of nginx and HAProxy", "post", {}, "cpu_us",
           ("nginx", "HAProxy"), {"io_uring": 0.92, "epoll": 0.95}, floors=("floor connect",)),
    Target("CPU per GET inside TLS ÷ the better of nginx and HAProxy", "tls", {"way": "get"}, "cpu_us",
           ("nginx", "HAProxy"), _both(0.95), logged=False),
    Target("CPU per full TLS handshake and its GET ÷ the better of nginx and HAProxy", "tls", {"way": "full"}, "cpu_us",
           ("nginx", "HAProxy"), _both(1.05), logged=False),
    Target("the same, resumed", "tls", {"way": "resumed"}, "cpu_us", ("nginx", "HAProxy"), _both(1.05), logged=False),
    Target("CPU per GET, HTTP/2 on both sides, ÷ HAProxy", "h2", {"to": "h2", "tls": False}, "cpu_us", ("HAProxy h2",),
           _both(1.0), logged=False),
    Target("the same, clients inside TLS", "h2", {"to": "h2", "tls": True}, "cpu_us", ("HAProxy h2",), _both(1.0),
           logged=False),
    Target("CPU per GET, HTTP/2 to HTTP/1.1, ÷ the better of nginx and HAProxy", "h2", {"to": "h1", "tls": False}, "cpu_us",
           ("nginx", "HAProxy"), _both(0.95), logged=False),
    Target("the same, clients inside TLS", "h2", {"to": "h1", "tls": True}, "cpu_us", ("nginx", "HAProxy"), _both(0.95),
           logged=False),
    Target("CPU per POST over a shared HTTP/2 connection ÷ the best of nginx's and HAProxy's pools", "h2", {"way": "post"},
           "cpu_us", ("nginx", "HAProxy", "HAProxy h2"), {}, logged=False),
    Target("CPU per SSE event, 1 000 streams, ÷ nginx", "sse", _STREAMS, "cpu_us", ("nginx",),
           {"io_uring": 0.82, "epoll": 0.88}, floors=("floor io_uring", "floor epoll")),
    Target("SSE latency p99, 1 000 streams, ÷ nginx", "sse", _STREAMS, "p99_us", ("nginx",), _both(1.0),
           floors=("HAProxy", "direct")),
    Target("memory per idle client connection, slope 2 000 → 7 000", "idle", {}, "slope_bytes", (), _both(512), unit="B",
           logged=False),
    Target("memory per idle client connection, all ÷ 10 000", "idle", {}, "total_bytes", (), _both(512), unit="B",
           logged=False),
    Target("memory per open SSE stream, 1 000 streams", "sse", _STREAMS, "bytes_per_stream", (), _both(3072), unit="B"),
    Target("answers of 1 MB, CPU per GB ÷ the best peer", "get", {"connections": 64, "bytes": 1048576}, "cpu_s_per_gb",
           _EVERY_PEER, _both(1.0), floors=("floor io_uring", "floor epoll")),
    Target("instructions in user space per GET ÷ nginx", "counted", {}, "instructions", ("nginx",),
           {"epoll": 0.7}, logged=False),
    Target("allocations per GET, warm", "counted", {}, "allocations", (), {"epoll": 0}, unit="", logged=False),
)


@dataclass(frozen=True)
class Verdict:
    """One cell: what was found (None: not measured), and whether it is within the limit."""
    found: figures.Spread | None
    limit: float | None
    met: bool | None


def find(results, target, log):
    """The result that a target is about, or None."""
    for result in results:
        if result["case"] == target.case and result["log"] == log and \
                target.variant.items() <= result["variant"].items():
            return result
    return None


def value(rows, name, target):
    """The spread of one participant's figure or ratio."""
    mine = figures.per_round(rows.get(name), target.metric)
    if not any(figure is not None for figure in mine):
        return None
    if not target.against:
        return figures.spread(mine)
    theirs = [figures.per_round(rows.get(peer), target.metric) for peer in target.against]
    if target.at_least:
        theirs = [[-figure if figure is not None else None for figure in rounds] for rounds in theirs]
    best = [abs(figure) if figure is not None else None for figure in figures.least(*theirs)]
    return figures.ratio(mine, best)


def judge(rows, backend, target):
    found, limit = value(rows, BACKENDS[backend], target), target.limits.get(backend)
    if found is None or limit is None:
        return Verdict(found, limit, None)
    # A figure is judged as it is shown.
    shown = round(found.median, 2)
    return Verdict(found, limit, shown >= limit if target.at_least else shown <= limit)


def table(results, log):
    """[(target, {backend: Verdict}, {floor: Spread})] of what was measured."""
    lines = []
    for target in TARGETS:
        result = find(results, target, log)
        if not result or (log and not target.logged):
            continue
        rows = result["rows"]
        beside = {name: value(rows, name, target) for name in target.floors}
        lines.append((target, {backend: judge(rows, backend, target) for backend in BACKENDS},
                      {name: found for name, found in beside.items() if found}))
    return lines
