"""Who takes part in a case: an upstream and gateways in front of it, taking turns."""

import re
import shutil
import sys
import time
from contextlib import contextmanager

from .peers import Job
from .ports import accepts, answers
from .processes import Failed, Program

_START_SECONDS = 15


class Gateway:
    """A running gateway."""

    def __init__(self, name, program, port):
        self.name, self.program, self.port = name, program, port

    def cpu(self):
        return self.program.cpu() if self.program else None

    def pss(self):
        return self.program.pss() if self.program else 0


class Field:
    """Starts programs where and how a measurement wants them. One per run of the harness."""

    def __init__(self, peers, programs, directory, core, others):
        self.peers, self.programs, self.directory = peers, programs, directory
        self.core, self.others = core, others
        self.faults = []  # sentences, for the report

    def note(self, sentence):
        print(f"  ! {sentence}", file=sys.stderr, flush=True)
        if sentence not in self.faults:
            self.faults.append(sentence)

    def tool(self, name, *arguments, cores=None):
        """One of our load programs."""
        return Program(name, [self.programs / name, *arguments], cores=cores or self.core, directory=self.directory)

    @contextmanager
    def upstream(self, name="upstream", *arguments, cores=None):
        program = self.tool(name, *arguments, cores=cores)
        try:
            yield _said_port(program)
        finally:
            program.end()

    def names(self, wanted):
        return [name for name in self.peers if name in wanted]

    def start(self, name, job, cores=None, ready_path="/90"):
        """A gateway that has answered; Failed says why there is none."""
        start = self.peers[name].start(job)
        if not start.argv:
            return Gateway(name, None, start.port)
        program = Program(name, start.argv, cores=cores or self.core, directory=job.directory,
                          environment=start.environment, out=start.out, err=start.err)
        try:
            port = start.port or _said_port(program)
            until = time.monotonic() + _START_SECONDS
            while not (answers(port, ready_path) if ready_path else accepts(port)):
                if not program.running():
                    raise Failed(f"{name} ended at its start: {program.last_words()}")
                if time.monotonic() > until:
                    raise Failed(f"{name} does not answer: {program.last_words()}")
                time.sleep(0.02)
            return Gateway(name, program, port)
        except Failed:
            program.end()
            raise

    @contextmanager
    def gateways(self, names, cores=None, ready_path="/90", **job):
        """All of them at once, each with a directory of its own; those that fail are noted and left out."""
        started = []
        try:
            for name in self.names(names):
                try:
                    started.append(self.start(name, self.job(name, **job), cores, ready_path))
                except Failed as fault:
                    self.note(str(fault))
            yield started
        finally:
            for gateway in started:
                if gateway.program:
                    gateway.program.end()

    def job(self, name, **job):
        directory = self.directory / name.replace(" ", "-")
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        return Job(directory=directory, **job)

    def alternate(self, gateways, rounds, measure, rows=None):
        """{name: [figures of each round]}. Each round begins with another one, so that no place is always the same's.

        `rows`: continued, if given. What fails is noted, and is None in its round."""
        rows = {} if rows is None else rows
        for turn in range(rounds):
            begin = turn % max(len(gateways), 1)
            for gateway in gateways[begin:] + gateways[:begin]:
                try:
                    figures = measure(gateway)
                except Failed as fault:
                    self.note(f"{gateway.name}: {fault}")
                    figures = None
                rows.setdefault(gateway.name, []).append(figures)
        return {name: rows[name] for name in self.peers if name in rows}


def _said_port(program):
    """From a line such as `port=4711` or `hushgate: listening on 127.0.0.1:4711`."""
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        found = re.search(r"(?:port=|:)(\d{2,5})$", program.read_line(_START_SECONDS).strip())
        if found:
            return int(found[1])
    raise Failed(f"{program.name} said no port")
