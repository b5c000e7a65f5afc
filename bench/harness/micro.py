"""Microbenchmarks: bench/micro with Google Benchmark, built when they are asked for."""

import json
import subprocess

from .cases import Result
from .processes import Failed, Program

_MIN_SECONDS = 0.1
_LIMIT_SECONDS = 180
_REPETITIONS = 3


def micro(run):
    """Median nanoseconds of each part, and of others' parsers on the same bytes, on one core."""
    field = run.field
    binary = field.programs / "micro"
    done = subprocess.run(["ninja", "--quiet", "-C", field.programs.parent, "micro"], check=False)
    if done.returncode != 0:
        field.note("the microbenchmarks do not compile")
        return []
    out = field.directory / "micro.json"
    program = Program("micro", [binary, f"--benchmark_min_time={_MIN_SECONDS}", f"--benchmark_repetitions={_REPETITIONS}",
                                "--benchmark_report_aggregates_only=true", f"--benchmark_out={out}",
                                "--benchmark_out_format=json"],
                      cores=field.core, directory=field.directory, out=field.directory / "micro.txt")
    try:
        program.wait(_LIMIT_SECONDS)
    except Failed as fault:
        field.note(str(fault))
        return []
    finally:
        program.end()
    rows = {}
    for entry in json.loads(out.read_text(encoding="utf-8"))["benchmarks"]:
        if entry.get("aggregate_name") != "median":
            continue
        figures = {"ns": entry["cpu_time"]}
        if "bytes_per_second" in entry:
            figures["ns_per_byte"] = 1e9 / entry["bytes_per_second"]
        rows[_label(entry["run_name"])] = [figures]
    return [Result("micro", "one operation", rows)]


def _label(name):
    """`part/who/argument` as `part, argument: who`."""
    part, who, *argument = name.split("/")
    return f"{', '.join([part, *argument])}: {who}"
