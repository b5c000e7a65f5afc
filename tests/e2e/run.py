#!/usr/bin/env python3
"""End-to-end cases: the real program between scripted upstreams and raw clients.

  run.py BINARY [--only REGEX] [--backend NAME] [--tsan] [--jobs N] [--no-kit] [--list]

A line per case, and "N passed, N failed" at the end. Every case starts a gateway of its own; the program must end with
exit code 0 and without a sanitizer's report. --backend: the program's io.backend (else its own default). --tsan: only
the cases in which workers meet, with several of them.
"""

import argparse
import asyncio
import contextlib
import importlib
import os
import re
import resource
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE / "real")]

from support.case import REGISTRY, play  # noqa: E402

JOBS = 4  # cases that run at once; most of them wait most of the time
TSAN_WORKERS = 3


def load():
    for path in sorted(HERE.glob("test_*.py")) + sorted((HERE / "real").glob("test_*.py")):
        importlib.import_module(path.stem)


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def tell(self, verdict, name, text, seconds):
        self.passed += verdict == "ok"
        self.failed += verdict == "FAIL"
        self.skipped += verdict == "skip"
        print(f"{verdict:4} {name} ({seconds:.1f} s){': ' + text if text else ''}", flush=True)


async def run_all(entries, binary, workers, jobs, tally):
    slots = asyncio.Semaphore(jobs)

    async def one(entry):
        async with slots:
            start = time.monotonic()
            verdict, text = await play(entry, binary, workers)
            tally.tell(verdict, entry.name, text, time.monotonic() - start)

    # The long ones first, so that none is waited for at the end.
    beside = sorted((e for e in entries if not e.alone), key=lambda e: -e.seconds)
    await asyncio.gather(*(one(entry) for entry in beside))
    for entry in entries:
        if entry.alone:
            await one(entry)


def leave_settings_out():
    """Names that begin with HUSHGATE_ are settings to the program, and it warns of those it does not know."""
    if "HUSHGATE_KIT" in os.environ:
        os.environ["E2E_KIT"] = os.environ["HUSHGATE_KIT"]
    for name in [name for name in os.environ if name.startswith("HUSHGATE_")]:
        del os.environ[name]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--only", default="")
    parser.add_argument("--backend", choices=("auto", "uring", "epoll"))
    parser.add_argument("--tsan", action="store_true")
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--no-kit", action="store_true")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    leave_settings_out()
    if arguments.backend:
        os.environ["HUSHGATE_IO_BACKEND"] = arguments.backend

    load()
    entries = [entry for entry in REGISTRY if re.search(arguments.only, entry.name)]
    if arguments.tsan:
        entries = [entry for entry in entries if entry.threads]
    if arguments.list:
        print("\n".join(entry.name for entry in entries))
        return 0
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, most), most))
    binary = os.path.abspath(arguments.binary)
    if not os.access(binary, os.X_OK):
        print(f"{arguments.binary}: no such program")
        print("0 passed, 1 failed")
        return 1

    with contextlib.suppress(OSError):
        os.nice(-10)  # what is measured here is time, whatever else this machine does
    tally = Tally()
    asyncio.run(run_all(entries, binary, TSAN_WORKERS if arguments.tsan else None, arguments.jobs, tally))
    if not (arguments.tsan or arguments.no_kit or arguments.only):
        import kit
        kit.run(binary, tally)
        if not arguments.backend:  # once is enough
            kit.run(binary, tally, tls=True, only=kit.QUICK_OVER_TLS)
    if tally.skipped:
        print(f"{tally.skipped} skipped, each with its reason above")
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 0 if tally.passed and not tally.failed else 1


if __name__ == "__main__":
    sys.exit(main())
