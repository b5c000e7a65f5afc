#!/usr/bin/env python3
"""Proves that the simulation can fail.

Each patch in this folder breaks the gateway in one small way and says in its first lines which
invariant that is against. The patch is applied to a copy of the sources, the simulation is built
and lives seeds from a fresh random start until it objects: within LIMIT seconds, with the
invariant that the patch names, in each of STARTS starts.

usage: tests/mutants/run.py [--starts N] [--limit SECONDS] [--table FILE] [NAME...]

Ends with "N passed, N failed"; a mutant that survives one start has failed.
"""
import argparse
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COPY = ROOT / "build" / "mutants" / "tree"
BUILD = ROOT / "build" / "mutants" / "build"
PARTS = ["src", "tests/swarm", "packaging", "CMakeLists.txt"]


class Mutant:
    """A patch: `Title:` and `Caught by:` lines, then a unified diff."""

    def __init__(self, path):
        self.name = path.stem
        self.text = path.read_text()
        self.title = self.line("Title")
        self.invariants = re.findall(r"I\d+|crash|peer", self.line("Caught by"))

    def line(self, key):
        found = re.search(rf"^{key}: (.+)$", self.text, re.MULTILINE)
        if not found:
            sys.exit(f"{self.name}.patch lacks its line '{key}: ...'")
        return found.group(1)

    def apply(self, *options):
        subprocess.run(["patch", "--quiet", "--no-backup-if-mismatch", "-p1", *options],
                       cwd=COPY, check=True, input=self.text, text=True)


def copy_sources():
    """Copies what differs, so that the build directory stays warm between runs (by content: a time of
    change may be older than what was built from the version before)."""
    COPY.mkdir(parents=True, exist_ok=True)
    subprocess.run(["rsync", "-rlp", "--checksum", "--delete", "--relative", *PARTS, f"{COPY}/"], cwd=ROOT, check=True)


def build():
    subprocess.run(["cmake", "-S", COPY, "-B", BUILD, "-G", "Ninja", "-DCMAKE_CXX_COMPILER=clang++-19",
                    "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1",
                    "-DHUSHGATE_TESTS=OFF"], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(["ninja", "--quiet", "-C", BUILD, "swarm"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the build failed:\n{done.stdout[-3000:]}")


def live(limit):
    """One fresh start: (seconds, invariant), the invariant None if nobody objected."""
    began = time.monotonic()
    done = subprocess.run([BUILD / "swarm", "--seconds", str(limit), "--no-shrink"],
                          capture_output=True, text=True)
    took = time.monotonic() - began
    found = re.search(r"^seed \d+, turn \d+: (\w+):", done.stdout, re.MULTILINE)
    if found:
        return took, found.group(1)
    return took, None if done.returncode == 0 else "crash"


def try_mutant(mutant, starts, limit):
    """Every start's (seconds, invariant)."""
    mutant.apply()
    try:
        build()
        return [live(limit) for _ in range(starts)]
    finally:
        mutant.apply("--reverse")


def row(mutant, lives):
    caught = [seconds for seconds, invariant in lives if invariant]
    by = sorted({invariant for _, invariant in lives if invariant})
    median = f"{statistics.median(caught):.1f} s" if len(caught) == len(lives) else "-"
    slowest = f"{max(caught):.1f} s" if caught else "-"
    return f"| {mutant.name} | {mutant.title} | {', '.join(by) or 'nobody'} | {median} | {slowest} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--limit", type=int, default=120, help="seconds that a start may take")
    parser.add_argument("--table", type=pathlib.Path, help="write the table there too")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    mutants = [Mutant(path) for path in sorted(HERE.glob("*.patch"))
               if not options.names or path.stem in options.names]
    if not mutants:
        sys.exit(f"no mutant is named {' or '.join(options.names)}")
    if not shutil.which("rsync") or not shutil.which("patch"):
        sys.exit("rsync and patch are needed")
    copy_sources()
    build()
    lines = ["| mutant | what is broken | caught by | median | slowest |", "|---|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    failed = 0
    for mutant in mutants:
        lives = try_mutant(mutant, options.starts, options.limit)
        lines.append(row(mutant, lives))
        print(lines[-1], flush=True)
        failed += not all(invariant in mutant.invariants for _, invariant in lives)
    if options.table:
        options.table.write_text("\n".join(lines) + "\n")
    print(f"{len(mutants) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
