"""Results for a terminal, and the form of figures everywhere."""

from . import figures
from . import targets as aims

COLUMNS = {
    "get": ("cpu_us", "user_us", "system_us", "cpu_s_per_gb", "per_s", "p50_us", "p99_us", "p999_us"),
    "post": ("cpu_us", "user_us", "system_us", "per_s", "p50_us", "p99_us", "p999_us"),
    "fresh": ("cpu_us", "user_us", "system_us", "per_s", "p50_us", "p99_us", "p999_us"),
    "tls": ("cpu_us", "user_us", "system_us", "per_s", "p50_us", "p99_us", "p999_us"),
    "h2": ("opened", "cpu_us", "user_us", "system_us", "per_s", "mean_us", "p50_us", "p99_us"),
    "sse": ("cpu_us", "user_us", "system_us", "p50_us", "p99_us", "p999_us", "kept_up", "bytes_per_stream"),
    "idle": ("slope_bytes", "total_bytes", "rest_bytes", "cpu_us_per_s"),
    "bulk": ("cpu_s_per_gb", "gb_per_s"),
    "latency": ("p50_us", "p99_us", "p999_us", "kept_up", "cpu_us"),
    "counted": ("instructions", "allocations"),
    "micro": ("ns", "ns_per_byte"),
}
HEADINGS = {
    "cpu_us": "CPU µs", "user_us": "user µs", "system_us": "system µs", "cpu_s_per_gb": "CPU s/GB", "per_s": "per s",
    "p50_us": "p50 µs", "p99_us": "p99 µs", "p999_us": "p99.9 µs", "kept_up": "delivered",
    "bytes_per_stream": "B/stream", "slope_bytes": "B/connection, slope", "total_bytes": "B/connection, all",
    "rest_bytes": "at rest", "cpu_us_per_s": "idle CPU µs/s", "gb_per_s": "GB/s", "instructions": "instructions",
    "allocations": "allocations", "ns": "ns", "ns_per_byte": "ns/B", "mean_us": "mean µs", "opened": "connections",
}


def number(value, metric=""):
    """Three figures that matter, thousands apart."""
    if value is None:
        return "–"
    if metric == "kept_up":
        return f"{100 * value:.1f} %" if value < 0.9995 else "all"
    if metric == "rest_bytes":
        return f"{value / 1048576:.1f} MB"
    if abs(value) >= 100:
        return f"{value:,.0f}".replace(",", " ")
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value else "0"


def columns(result):
    """Those of a case that somebody has a figure for."""
    small = result["case"] == "get" and result["variant"]["bytes"] < 100_000
    names = [name for name in COLUMNS[result["case"]] if not (small and name == "cpu_s_per_gb")]
    return [name for name in names
            if any(figures.of(rounds, name) for rounds in result["rows"].values())]


def with_range(found, metric=""):
    text = number(found.median, metric)
    low, high = number(found.low, metric), number(found.high, metric)
    return text if low == high else f"{text} ({low}..{high})"


def result(table):
    """One table, medians only."""
    names = columns(table)
    lines = [[table["title"], *[HEADINGS[name] for name in names]]]
    for peer, rounds in table["rows"].items():
        found = [figures.of(rounds, name) for name in names]
        lines.append([peer, *[number(spread.median if spread else None, name) for name, spread in zip(names, found)]])
    return _aligned(lines)


def targets_lines(outcome, log):
    """[[label, io_uring, target, epoll, target, beside]] as texts."""
    lines = []
    for target, verdicts, beside in aims.table(outcome["results"], log):
        cells = [target.label]
        for backend in aims.BACKENDS:
            verdict = verdicts[backend]
            unit = f" {target.unit}" if target.unit else ""
            cells.append(with_range(verdict.found) + unit if verdict.found else "–")
            if verdict.limit is None:
                cells.append("–")
            else:
                mark = {True: "met", False: "**missed**", None: "not measured"}[verdict.met]
                cells.append(f"{'≥' if target.at_least else '≤'} {verdict.limit:g}{unit}, {mark}")
        cells.append(", ".join(f"{name} {number(found.median)}" for name, found in beside.items()))
        lines.append(cells)
    return lines


def targets_heading():
    return ["", "io_uring", "target", "epoll", "target", "beside it"]


def targets(outcome):
    parts = []
    for log in (False, True):
        lines = targets_lines(outcome, log)
        if lines:
            parts.append(f"== targets, access logs {'on' if log else 'off'}: median (min..max)")
            parts.append(_aligned([targets_heading(), *lines]).replace("**", ""))
    return "\n".join(parts)


def _aligned(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("   " + "  ".join(
        cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths))).rstrip()
        for line in lines)
