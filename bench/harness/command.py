"""The command: what is asked for, the run, and what becomes of its results."""

import argparse
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

from . import machine, micro, processes, report, show
from .cases import Run
from .cases.counted import counted
from .cases.h2 import h2
from .cases.http import bulk, fresh, get, latency, post
from .cases.idle import idle
from .cases.streams import streams
from .cases.tls import tls
from .field import Field
from .offer import offer_of
from .peers import peers_of
from .machine import QUIET_CORES
from .profile import FULL, QUICK

PROJECT = Path(__file__).resolve().parent.parent.parent
CASES = {
    "get": (get, "GET kept alive on both sides: connections x sizes of answers"),
    "post": (post, "POST, a new upstream connection each"),
    "sse": (streams, "event streams: 1 000 and 8 000"),
    "idle": (idle, "memory and CPU of 10 000 idle clients"),
    "fresh": (fresh, "a new client connection for each request"),
    "bulk": (bulk, "1 GB down and up"),
    "tls": (tls, "TLS to clients: GET, full and resumed handshakes"),
    "h2": (h2, "HTTP/2: GET on either side, POST over a shared upstream connection, connections for 10 000 POSTs"),
    "latency": (latency, "latency at a fixed rate, on one core and on all"),
    "counted": (counted, "instructions and allocations per GET, under valgrind"),
    "micro": (micro.micro, "microbenchmarks of the parts (not with --quick unless named)"),
}


def _arguments(words):
    cases = "\n".join(f"  {name:10}{text}" for name, (_, text) in CASES.items())
    parser = argparse.ArgumentParser(
        prog="./dev bench", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures hushgate beside nginx, HAProxy, Caddy, H2O, a Node gateway and bare relays.",
        epilog=f"cases:\n{cases}\n\nA full run takes about 20 minutes, a quick one about 3. Keep the machine quiet meanwhile.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, shorter ones, less of each case")
    parser.add_argument("--case", nargs="+", action="extend", choices=CASES, metavar="NAME", help="only these")
    parser.add_argument("--rounds", type=int, metavar="N", help="alternations of what the table of targets shows")
    parser.add_argument("--core", type=int, default=0, metavar="N", help="what is measured runs there (default 0)")
    parser.add_argument("--peers", nargs="+", metavar="NAME", help="only these, as 'hushgate epoll' nginx")
    parser.add_argument("--program", type=Path, default=PROJECT / "build/release/hushgate", metavar="FILE",
                        help="the hushgate that is measured (default: the release build, built first)")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md and its charts")
    parser.add_argument("--again", action="store_true",
                        help="measure nothing: show (and --write) what earlier runs found, kept in build/bench")
    asked = parser.parse_args(words)
    if asked.rounds is not None and not 1 <= asked.rounds <= 100:
        parser.error("--rounds wants 1 to 100")
    return asked


def _profile(asked):
    profile = QUICK if asked.quick else FULL
    if asked.rounds:
        profile = type(profile)(**{**vars(profile), "rounds": asked.rounds,
                                   "side_rounds": min(asked.rounds, profile.side_rounds)})
    return profile


def _interrupted(*_):
    raise KeyboardInterrupt


def main(words):
    asked = _arguments(words)
    place = PROJECT / "build" / "bench"
    kept = place / "results.json"
    if asked.again:
        outcome = json.loads(kept.read_text(encoding="utf-8"))
    else:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _interrupted)
        try:
            outcome = _measure(asked, place)
        except KeyboardInterrupt:
            print("\nbench: interrupted; nothing was kept", file=sys.stderr)
            return 130
        finally:
            processes.end_all()
        outcome = _keep(outcome, kept)
    print(show.targets(outcome))
    if asked.write:
        report.write(outcome, PROJECT / "docs")
        print("written: docs/benchmarks.md and docs/benchmarks/")
    return 0


def _measure(asked, place):
    core, others = machine.cores_for(asked.core)
    if core != others:
        os.sched_setaffinity(0, others)
    descriptors = machine.raise_descriptors(40000)
    directory = place / "run"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    programs = place / "bench"
    if not asked.program.is_file():
        raise SystemExit(f"bench: there is no {asked.program}")
    offer = offer_of(asked.program.resolve(), directory, core)
    peers = peers_of(asked.program.resolve(), programs, offer.backends, offer.can_silence)
    if asked.peers:
        unknown = set(asked.peers) - set(peers)
        if unknown:
            raise SystemExit(f"bench: not here: {', '.join(sorted(unknown))}; there are: {', '.join(peers)}")
        peers = {name: peer for name, peer in peers.items() if name in asked.peers}
    profile = _profile(asked)
    field = Field(peers, programs, directory, core, others)
    for sentence in offer.sentences:
        field.note(sentence)
    run = Run(field, profile)
    names = asked.case or [name for name in CASES if not (asked.quick and name == "micro")]
    results, begun, others_used = [], time.monotonic(), {}
    for name in CASES:
        if name not in names:
            continue
        since, meanwhile = time.monotonic(), machine.Others()
        print(f"== {name}: {CASES[name][1]}", flush=True)
        for result in CASES[name][0](run):
            print(show.result(result.as_json()), flush=True)
            results.append(result.as_json())
        others_used[name] = round(meanwhile.cores(), 2)
        if others_used[name] > QUIET_CORES:
            print(f"  ! not quiet: others used {others_used[name]:.1f} cores meanwhile; do not quote this", flush=True)
        print(f"   ({time.monotonic() - since:.0f} s)", flush=True)
    print(f"== all of it: {time.monotonic() - begun:.0f} s")
    return {"machine": machine.facts(), "profile": vars(profile), "core": asked.core, "descriptors": descriptors,
            "shared": core == others, "cases": names, "notes": field.faults,
            "peers": {name: {"version": peer.version, "kind": peer.kind} for name, peer in peers.items()},
            "silenced": offer.can_silence, "others": others_used, "results": results}


def _keep(outcome, kept):
    """Cases that were measured replace those kept from earlier runs with the same profile and participants."""
    if kept.exists():
        before = json.loads(kept.read_text(encoding="utf-8"))
        same = all(before.get(key) == outcome[key] for key in ("profile", "peers", "machine", "core"))
        if same:
            outcome["results"] += [result for result in before["results"] if result["case"] not in outcome["cases"]]
            outcome["notes"] = list(dict.fromkeys(outcome["notes"] + before["notes"]))
            outcome["others"] = {**before.get("others", {}), **outcome["others"]}
            outcome["cases"] = [name for name in CASES if name in outcome["cases"] + before["cases"]]
            outcome["results"].sort(key=lambda result: list(CASES).index(result["case"]))
    kept.write_text(json.dumps(outcome, indent=1), encoding="utf-8")
    return outcome
