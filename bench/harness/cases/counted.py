"""What valgrind counts: instructions in user space, and allocations, per GET.

Two runs, the second with twice as many requests; their difference is what requests cost without the start and the stop.
"""

import re
import shutil
import subprocess
import time

from ..peers import Hushgate, Peer
from ..ports import answers
from ..processes import Failed, Program
from . import Result

_START_SECONDS = 60
_LOAD_SECONDS = 120
_TOOLS = {
    "instructions": (["--tool=callgrind", "--callgrind-out-file=/dev/null"], r"Collected : (\d+)"),
    "allocations": (["--tool=memcheck", "--leak-check=no", "--undef-value-errors=no"], r"total heap usage: ([\d,]+) allocs"),
}
_COUNTED = ("hushgate epoll", "nginx", "HAProxy")


def counted(run):
    """64 connections, answers of 90 bytes, logs off; io_uring is unknown to valgrind."""
    field = run.field
    if not shutil.which("valgrind"):
        field.note("valgrind is not installed: nothing was counted")
        return []
    rows = {}
    peers = {**field.peers, "hushgate epoll": _without_debug(field)}
    with field.upstream(cores=field.others) as upstream:
        for name in field.names(_COUNTED):
            figures = {}
            for metric in _TOOLS:
                try:
                    figures[metric] = _per_request(run, peers[name], metric, upstream)
                except Failed as fault:
                    field.note(f"{metric} of {name}: {fault}")
            rows[name] = [figures]
    return [Result("counted", "64 connections, answers of 90 bytes", rows)]


def _without_debug(field):
    """Ours for valgrind, which cannot read the debug information of today's compilers."""
    peer = field.peers.get("hushgate epoll")
    if not peer:
        return None
    stripped = field.directory / "hushgate"
    done = subprocess.run(["llvm-strip-19", "--strip-debug", "-o", stripped, peer.start.binary], check=False,
                          capture_output=True, text=True)
    if done.returncode != 0:
        field.note(f"llvm-strip-19 failed: {done.stderr.strip()}")
        return peer
    ours = Hushgate(stripped, peer.start.backend)
    ours.can_silence = peer.start.can_silence
    return Peer(peer.name, ours, peer.kind, peer.version)


def _per_request(run, peer, metric, upstream):
    count = run.profile.instruction_requests
    once, twice = (_total(run, peer, metric, upstream, requests) for requests in (count, 2 * count))
    return (twice - once) / count


def _total(run, peer, metric, upstream, requests):
    field = run.field
    options, pattern = _TOOLS[metric]
    start = peer.start(field.job(peer.name, upstream=upstream, single=True))
    words = field.directory / "valgrind.txt"
    program = Program(f"{peer.name} under valgrind", ["valgrind", f"--log-file={words}", *options, *start.argv],
                      cores=field.core, directory=field.directory, environment=start.environment, out=start.out,
                      err=start.err)
    try:
        port = start.port or int(re.search(r"(\d+)$", program.read_line(_START_SECONDS).strip())[1])
        until = time.monotonic() + _START_SECONDS
        while not answers(port, seconds=10):
            if not program.running() or time.monotonic() > until:
                raise Failed(f"does not answer under valgrind: {program.last_words()}")
            time.sleep(0.1)
        load = field.tool("http_load", "--port", port, "--connections", 64, "--requests", requests, cores=field.others)
        try:
            load.read_line(_LOAD_SECONDS)
            load.write_line()
            load.read_line(_LOAD_SECONDS)
        finally:
            load.end()
        program.child.terminate()
        program.wait(_START_SECONDS)
    finally:
        program.end()
    found = re.findall(pattern, words.read_text(encoding="utf-8", errors="replace"))
    if not found:
        raise Failed("valgrind gave no count")
    return int(found[-1].replace(",", ""))
