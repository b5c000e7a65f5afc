"""docs/benchmarks.md and its charts, written from what was measured and from nothing else."""

import re

from . import charts, figures, show, targets
from .machine import QUIET_CORES
from .words import ABOUT, CASES, NOTES

_NAMES = {"get": "GET, kept alive on both sides", "post": "POST, a new upstream connection each",
          "sse": "Event streams", "idle": "Idle clients", "fresh": "A new client connection for each request",
          "bulk": "Large bodies", "tls": "Inside TLS", "h2": "HTTP/2", "latency": "Latency at a fixed rate",
          "counted": "Counted, not timed", "micro": "The parts"}


def write(outcome, docs):
    pictures = docs / "benchmarks"
    pictures.mkdir(exist_ok=True)
    drawn = charts.draw(outcome)
    for old in pictures.glob("*.svg"):
        old.unlink()
    for name, (svg, _) in drawn.items():
        (pictures / f"{name}.svg").write_text(svg, encoding="utf-8")
    parts = [_head(outcome), _targets(outcome, log=False), _targets(outcome, log=True), _charts(drawn)]
    parts += [_case(outcome, case) for case in _NAMES]
    parts.append(_notes(outcome))
    text = "\n\n".join(part for part in parts if part) + "\n"
    (docs / "benchmarks.md").write_text(text, encoding="utf-8")


def _table(heading, lines):
    def row(cells):
        return "| " + " | ".join(cells) + " |"
    marks = ["---"] + ["--:"] * (len(heading) - 1)
    return "\n".join([row(heading), row(marks), *map(row, lines)])


def _head(outcome):
    machine, profile = outcome["machine"], outcome["profile"]
    kind = "virtual machine" if machine["virtual"] else "machine"
    peers = ", ".join(f"{name} {peer['version']}" for name, peer in outcome["peers"].items()
                      if peer["kind"] == "peer")
    ours = next((peer["version"] for peer in outcome["peers"].values() if peer["kind"] == "ours"), "?")
    quick = "" if profile["name"] == "full" else \
        "\n\n**This was a quick look (`--quick`): few and short rounds. Its figures are rough.**"
    loud = {case: cores for case, cores in outcome.get("others", {}).items() if cores > QUIET_CORES}
    if loud:
        cases = ", ".join(f"{case} {cores:.1f}" for case, cores in loud.items())
        quick += (f"\n\n**The machine was not quiet: others used so many cores meanwhile: {cases}. Do not quote these figures: "
                  "ratios move too.**")
    return f"""# Benchmarks

Written by `./dev bench --write`; do not edit it here. `./dev bench` measures again, in about 20 minutes (`--quick`: 3);
[bench/](../bench/README.md) has the programs and says how to add a case.

Measured on a {kind} with {machine["cores"]} cores ({machine["processor"]}), {machine["memory_gib"]} GiB, Linux
{machine["kernel"]}, {machine["system"]}: hushgate {ours}, {peers}.{quick}

{ABOUT}"""


def _targets(outcome, log):
    lines = show.targets_lines(outcome, log)
    if not lines:
        return ""
    title = "Targets, access logs on for all" if log else "Targets, access logs off for all"
    silent = "" if log or outcome["silenced"] else \
        "\n\nThis hushgate could not turn its access log off: its figures are with the log here too."
    heading = [show_text or "ratio or figure" for show_text in show.targets_heading()]
    return f"## {title}{silent}\n\n{_table(heading, lines)}\n\n{_how_targets(outcome)}"


def _how_targets(outcome):
    profile = outcome["profile"]
    return (f"Medians of {profile['rounds']} alternations (idle clients {profile['idle_rounds']}), with the least and the "
            "largest of them; a ratio is taken within each round. `beside it`: the same ratio of those named.")


def _charts(drawn):
    if not drawn:
        return ""
    pictures = "\n\n".join(f"![{text}](benchmarks/{name}.svg)" for name, (_, text) in drawn.items())
    return f"## At a glance\n\n{pictures}"


def _case(outcome, case):
    results = [result for result in outcome["results"] if result["case"] == case]
    if not results:
        return ""
    parts = [f"## {_NAMES[case]}", CASES[case].format(**_values(outcome))]
    parts += [_result(result) for result in results]
    return "\n\n".join(parts)


def _values(outcome):
    profile = outcome["profile"]
    return {"key_s": profile["key_ms"] / 1000, "side_s": profile["side_ms"] / 1000, "rounds": profile["rounds"],
            "side_rounds": profile["side_rounds"], "more_rounds": profile["side_rounds"] + 1,
            "stream_s": profile["stream_ms"] / 1000, "idle_s": profile["idle_seconds"],
            "idle_rounds": profile["idle_rounds"], "requests": profile["instruction_requests"],
            "gb": profile["bulk_bytes"] / 1e9}


def _result(result):
    names = show.columns(result)
    first = names[0] if names else None
    lines = []
    for peer, rounds in result["rows"].items():
        cells = [f"**{peer}**" if peer.startswith("hushgate ") else peer]
        for name in names:
            found = figures.of(rounds, name)
            if found is None:
                cells.append("–")
            else:
                cells.append(show.with_range(found, name) if name == first else show.number(found.median, name))
        lines.append(cells)
    title = result["title"][0].upper() + result["title"][1:]
    return f"**{title}**\n\n{_table(['', *[show.HEADINGS[name] for name in names]], lines)}"


def _notes(outcome):
    said = [_without_places(sentence) for sentence in outcome["notes"]]
    missed = _shortfalls(outcome)
    parts = [NOTES]
    if missed:
        parts.insert(0, "## What falls short\n\n" + "\n".join(f"- {line}" for line in missed))
    if said:
        parts.append("What the harness noted in this run:\n\n" + "\n".join(f"- {line}" for line in said))
    return "\n\n".join(parts)


def _shortfalls(outcome):
    lines = []
    for log in (False, True):
        for target, verdicts, _ in targets.table(outcome["results"], log):
            for backend, verdict in verdicts.items():
                if verdict.met is False:
                    sign = "≥" if target.at_least else "≤"
                    logs = "on" if log else "off"
                    lines.append(f"{target.label}, {backend}, logs {logs}: {show.number(verdict.found.median)}, wanted "
                                 f"{sign} {verdict.limit:g}")
    return lines


def _without_places(sentence):
    """No path of this machine, and none of the codes that terminals take."""
    return re.sub(r"(?<![\w.])/[\w.+-]+(?:/[\w.+-]+)+", "…", re.sub(r"\x1b\[[\d;]*m", "", sentence)).replace("|", "/")
