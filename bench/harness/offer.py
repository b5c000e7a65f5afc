"""What the hushgate that is measured offers: found out by starting it, since it is older or newer than this harness."""

import time
from dataclasses import dataclass

from .ports import free_port
from .processes import Failed, Program

_START_SECONDS = 10


@dataclass(frozen=True)
class Offer:
    backends: tuple
    can_silence: bool
    sentences: tuple  # what it lacks


def offer_of(binary, directory, core):
    backends, sentences = [], []
    for backend in ("uring", "epoll"):
        refusal = _refusal(binary, directory, core, "--backend", backend)
        if refusal is None:
            backends.append(backend)
        else:
            sentences.append(f"hushgate is not measured on {backend}: {refusal}")
    if not backends:
        raise SystemExit(f"bench: {sentences[-1]}")
    silence = _refusal(binary, directory, core, "--set", "log.access=false")
    if silence is not None:
        sentences.append("this hushgate cannot turn its access log off: its figures are with the log, everywhere")
    return Offer(tuple(backends), silence is None, tuple(sentences))


def _refusal(binary, directory, core, *arguments):
    """None if it starts with these arguments, else what it says."""
    log = directory / "offer.log"
    program = Program("hushgate", [binary, "serve", "--listen", "127.0.0.1:0", "--workers", "1", "--upstream",
                                   f"http://127.0.0.1:{free_port()}", *arguments],
                      cores=core, directory=directory, err=log)
    try:
        program.read_line(_START_SECONDS)
        # A backend that the kernel refuses may end it after its listeners were there.
        time.sleep(0.05)
        return None if program.running() else program.last_words()
    except Failed:
        return program.last_words() or "it does not start"
    finally:
        program.end()
