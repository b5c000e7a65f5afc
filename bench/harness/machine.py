"""What the measurements ran on, without names or paths of the machine; cores and descriptors."""

import os
import platform
import re
import resource
import shutil
import subprocess
import time


def _first_line(path, pattern):
    try:
        with open(path, encoding="utf-8") as file:
            found = re.search(pattern, file.read(), re.MULTILINE)
    except OSError:
        return None
    return found[1].strip() if found else None


def facts():
    memory_kb = int(_first_line("/proc/meminfo", r"^MemTotal:\s+(\d+)") or 0)
    return {
        "cores": os.cpu_count(),
        "processor": _first_line("/proc/cpuinfo", r"^model name\s*:\s*(.*)$") or platform.machine(),
        "virtual": bool(re.search(r"\bhypervisor\b", _first_line("/proc/cpuinfo", r"^flags\s*:\s*(.*)$") or "")),
        "kernel": re.match(r"[\d.]+", platform.release())[0],
        "memory_gib": round(memory_kb / 1048576),
        "system": _first_line("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)') or "Linux",
    }


QUIET_CORES = 0.15  # used by others, from which on figures are not to be trusted


class Others:
    """How much of the machine others use meanwhile: all that was busy, less what we and all that we started used.

    Read when every program of ours has ended, so that it counts among our children."""

    def __init__(self):
        self._begun, self._before = time.monotonic(), self._foreign_seconds()

    def cores(self):
        seconds = max(time.monotonic() - self._begun, 0.1)
        return max(self._foreign_seconds() - self._before, 0) / seconds

    @staticmethod
    def _foreign_seconds():
        with open("/proc/stat", encoding="ascii") as file:
            words = list(map(int, file.readline().split()[1:9]))
        busy = (sum(words) - words[3] - words[4]) / os.sysconf("SC_CLK_TCK")
        return busy - sum(os.times()[:4])


def version(argv, pattern):
    """What a program says of itself, or None where it is not installed."""
    if not shutil.which(argv[0]):
        return None
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(pattern, done.stdout + done.stderr)
    return found[1] if found else "?"


def cores_for(core):
    """(the one that everything measured is pinned to, all the others or the same one where there is no other)."""
    usable = os.sched_getaffinity(0)
    if core not in usable:
        raise SystemExit(f"bench: there is no core {core}; there are {sorted(usable)}")
    others = usable - {core}
    return {core}, others or {core}


def raise_descriptors(wanted):
    """For us and all that we start; how many there are now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in ((max(wanted, hard), max(wanted, hard)), (hard, hard)):
        if soft >= wanted and soft == hard:
            break
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
            break
        except (ValueError, OSError):
            continue
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
