"""Programs that are started for a measurement, what they cost, and their certain end.

Every program is a child in a session of its own, so that Ctrl-C reaches only us; we end each by its pid, and the kernel
ends it if we are killed.
"""

import ctypes
import os
import select
import signal
import subprocess
import time

_PR_SET_PDEATHSIG = 1
_END_SECONDS = 5
_libc = ctypes.CDLL(None, use_errno=True)


class Failed(Exception):
    """A program did not do what it was started for; the sentence says what."""


def _family(pid):
    """The pid and all that descend from it."""
    pids, at = [pid], 0
    while at < len(pids):
        try:
            tasks = os.listdir(f"/proc/{pids[at]}/task")
        except OSError:
            tasks = []
        for task in tasks:
            try:
                with open(f"/proc/{pids[at]}/task/{task}/children", encoding="ascii") as file:
                    pids += [int(child) for child in file.read().split()]
            except OSError:
                pass
        at += 1
    return pids


class Program:
    """A child process. `cores`: where it may run. `out` and `err`: paths, or None for a pipe (out) or out's place (err)."""

    def __init__(self, name, argv, *, cores, directory, environment=None, out=None, err=None):
        self.name = name
        self.directory = directory
        self.err_path = err or directory / f"{name.replace(' ', '-')}.err"
        parent = os.getpid()

        def prepare():
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:
                os._exit(1)
            os.sched_setaffinity(0, cores)

        with open(self.err_path, "wb") as err_file:
            out_file = open(out, "wb") if out else subprocess.PIPE
            try:
                self.child = subprocess.Popen(
                    [str(word) for word in argv], stdin=subprocess.PIPE, stdout=out_file, stderr=err_file,
                    cwd=directory, env={**os.environ, **(environment or {})}, start_new_session=True,
                    preexec_fn=prepare)
            except OSError as error:
                raise Failed(f"{name} could not be started: {error}") from error
            finally:
                if out:
                    out_file.close()
        self._line_rest = b""
        _running.append(self)

    @property
    def pid(self):
        return self.child.pid

    def running(self):
        return self.child.poll() is None

    def last_words(self):
        text = self.err_path.read_text(encoding="utf-8", errors="replace") if self.err_path.exists() else ""
        return " / ".join(text.strip().splitlines()[-3:])[:400]

    def read_line(self, seconds):
        """The next line of its standard output."""
        until = time.monotonic() + seconds
        out = self.child.stdout
        while b"\n" not in self._line_rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([out], [], [], left)[0]:
                raise Failed(f"{self.name} said nothing for {seconds:.0f} s; {self.last_words()}")
            piece = os.read(out.fileno(), 65536)
            if not piece:
                self.child.wait()
                raise Failed(f"{self.name} ended ({self.child.returncode}); {self.last_words()}")
            self._line_rest += piece
        line, self._line_rest = self._line_rest.split(b"\n", 1)
        return line.decode()

    def write_line(self, line=""):
        try:
            self.child.stdin.write(line.encode() + b"\n")
            self.child.stdin.flush()
        except OSError as error:
            raise Failed(f"{self.name} no longer listens: {self.last_words()}") from error

    def wait(self, seconds):
        try:
            return self.child.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{self.name} did not end within {seconds} s") from error

    def end(self):
        """SIGTERM, and SIGKILL to whatever of the family is left 5 s later."""
        if self in _running:
            _running.remove(self)
        family = _family(self.pid) if self.running() else []
        if self.running():
            self.child.terminate()
            try:
                self.child.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                for pid in family:
                    _kill(pid)
                self.child.wait()
        for pid in family[1:]:
            _wait_for_end(pid)
        for pipe in (self.child.stdin, self.child.stdout):
            if pipe:
                try:
                    pipe.close()
                except OSError:
                    pass

    # What it has cost so far, with all its processes and threads.

    def cpu(self):
        """(user, system) in microseconds. The sum is exact (schedstat); how it divides is sampled by the kernel's tick."""
        total_ns = user = system = 0
        for pid in _family(self.pid):
            try:
                with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                    words = file.read().rsplit(")", 1)[1].split()
                user += int(words[11])
                system += int(words[12])
                for task in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
                        total_ns += int(file.read().split()[0])
            except (OSError, IndexError):
                pass
        return Cpu(total_ns / 1000, user, system)

    def pss(self):
        """Bytes of memory, shared pages divided among those who share them."""
        sum_bytes = 0
        for pid in _family(self.pid):
            try:
                with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                    sum_bytes += sum(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
            except OSError:
                pass
        return sum_bytes


class Cpu:
    """A reading: total microseconds, and the ticks that say how they divide."""

    def __init__(self, total_us, user_ticks, system_ticks):
        self.total_us, self.user_ticks, self.system_ticks = total_us, user_ticks, system_ticks

    def since(self, before):
        """{cpu_us, user_us, system_us} between two readings."""
        user, system = self.user_ticks - before.user_ticks, self.system_ticks - before.system_ticks
        total = self.total_us - before.total_us
        share = user / (user + system) if user + system else 0
        return {"cpu_us": total, "user_us": total * share, "system_us": total * (1 - share)}


_running = []


def end_all():
    while _running:
        _running[-1].end()


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _wait_for_end(pid):
    """Of a grandchild, which is not ours to wait for: it follows its parent, or is made to."""
    until = time.monotonic() + _END_SECONDS
    while os.path.exists(f"/proc/{pid}"):
        if time.monotonic() > until:
            _kill(pid)
            return
        time.sleep(0.02)
