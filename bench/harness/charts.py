"""Which charts there are, and of what."""

from . import figures, show, svg


def draw(outcome):
    """{file name: (svg, what it shows)} of what was measured."""
    drawn = {}
    for name, make in (("cpu-per-get", _cpu_per_get), ("stream-latency", _stream_latency),
                       ("memory-per-client", _memory_per_client)):
        made = make(outcome)
        if made:
            drawn[name] = made
    return drawn


def _rows(outcome, case, **variant):
    for result in outcome["results"]:
        if result["case"] == case and not result["log"] and variant.items() <= result["variant"].items():
            return result["rows"]
    return {}


def _kind(outcome, name):
    kind = outcome["peers"].get(name, {}).get("kind", "peer")
    return "peer" if kind == "way" else kind


def _cpu_per_get(outcome):
    rows = _rows(outcome, "get", connections=64, bytes=90)
    lines = []
    for name, rounds in rows.items():
        user, system, both = (figures.of(rounds, metric) for metric in ("user_us", "system_us", "cpu_us"))
        if both:
            lines.append((name, _kind(outcome, name), [user.median, system.median], f"{show.number(both.median)} µs"))
    # One that is far slower would leave nothing to see of the others.
    usual = sorted(sum(line[2]) for line in lines)[len(lines) // 2] if lines else 0
    left_out = [line for line in lines if sum(line[2]) > 4 * usual]
    lines = [line for line in lines if line not in left_out]
    if not lines:
        return None
    beyond = _beyond(left_out)
    title = "CPU per proxied GET"
    return svg.bars(title, f"64 connections, 90 bytes, one core; first part: user, second: system{beyond}", lines), title


def _beyond(lines):
    """What a caption says of lines that are left out."""
    return f". Not shown: {', '.join(f'{name} {text}' for name, _, _, text in lines)}" if lines else ""


def _stream_latency(outcome):
    rows = _rows(outcome, "sse", streams=1000)
    lines = []
    for name, rounds in rows.items():
        low, high = figures.of(rounds, "p50_us"), figures.of(rounds, "p99_us")
        if low and high and low.median > 0:
            lines.append((name, _kind(outcome, name), low.median, high.median,
                          f"{_time(low.median)} / {_time(high.median)}"))
    if not lines:
        return None
    ticks = [(10, "10 µs"), (100, "100 µs"), (1000, "1 ms"), (10000, "10 ms"), (100000, "100 ms"), (1000000, "1 s")]
    title = "From the upstream's write to the client's read, 1 000 event streams"
    return svg.ranges(title, "10 events a second each, one core; left: p50, right: p99; logarithmic", lines, ticks), title


def _time(us):
    return f"{show.number(us / 1000)} ms" if us >= 1000 else f"{show.number(us)} µs"


def _memory_per_client(outcome):
    rows = _rows(outcome, "idle")
    lines = []
    for name, rounds in rows.items():
        slope = figures.of(rounds, "slope_bytes")
        if slope:
            lines.append((name, _kind(outcome, name), [slope.median], f"{show.number(slope.median)} B"))
    usual = sorted(line[2][0] for line in lines)[len(lines) // 2] if lines else 0
    left_out = [line for line in lines if line[2][0] > 4 * usual]
    lines = [line for line in lines if line not in left_out]
    if not lines:
        return None
    beyond = _beyond(left_out)
    title = "Memory per idle kept-alive client"
    return svg.bars(title, f"PSS between 2 000 and 7 000 connections{beyond}", lines), title
