#!/usr/bin/env python3
"""The black-box kit against the real program: kit.py [--tls] BINARY [SCRIPT...]

The kit is a folder of its own, named by HUSHGATE_KIT or beside the project as shared/kit. Each of its scripts checks a
gateway that forwards everything to one port; its cases are counted from what it prints.

--tls: the gateway's listener speaks TLS, and the scripts reach it through tls_wrap.py where they do not speak it
themselves. What cannot pass a wrapper is named in NOT_WRAPPED.
"""

import argparse
import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE)]

from support.certificates import authority  # noqa: E402
from support.gateway import ADDRESS, SANITIZER, configuration  # noqa: E402
from support.tls import tls_listen  # noqa: E402
from support.upstream import free_port  # noqa: E402

# name: (settings of the gateway, arguments, seconds, the lines that count: passed and failed)
NAMED = {"upstreams": {"u": "http://localhost:{up}"}}  # so that the case of a name with two families can run
SCRIPTS = {
    "matrix.py": ({}, "--proxy {address} --upstream-port {up}", 240, None),
    "bugcases.py": (NAMED, "--proxy-port {port} --upstream-port {up} --dual --heavy --emfile --budget 400 "
                            "--reload-cmd 'kill -HUP {pid}'", 500,
                    (r"^ *\d+ PASS ", r"^ *\d+ FAIL ")),
    "smuggle.py": ({"upstream": {"host": "client"}}, "--proxy {address} --backend-port {up}", 900,
                   (r"^OK ", r"^DIFF ")),
    "resp.py": ({"limits": {"upstreamTimeoutMs": 3000}}, "--proxy {address} --backend-port {up}", 900,
                (r"^OK ", r"^DIFF ")),
    "h2smuggle.py": ({"upstream": {"host": "client"}}, "--proxy {address} --backend-port {up}", 300,
                     (r"^OK ", r"^DIFF ")),
}
SPEAK_TLS = ("smuggle.py", "h2smuggle.py")  # those that have --tls themselves
QUICK_OVER_TLS = ("matrix.py", "resp.py", "h2smuggle.py")
# A FIN means over TLS that the client is gone. The reset behind an upload that is not wanted, once lingering ends, may
# overtake in the wrapper what the client has not read. And a wrapper in between is who runs out of descriptors.
NOT_WRAPPED = ("half-closed-large-download", "early-413-while-uploading")
NOT_WRAPPED_OPTION = " --emfile"
MATRIX_TOTAL = re.compile(r"^(\d+) of (\d+) as promised$", re.MULTILINE)


def place():
    for path in (os.environ.get("E2E_KIT") or os.environ.get("HUSHGATE_KIT"), HERE.parent.parent.parent / "shared" / "kit"):
        if path and Path(path, "lifecycle.py").is_file():
            return Path(path)
    return None


async def certified(directory):
    """(the authority's file, the setting `listen` with a certificate of its)"""
    trusted = await authority(directory)
    return trusted.certificate, tls_listen(await trusted.issue("server"))


class Served:
    """A gateway for one script, forwarding everything to `up`. `speaks_tls`: the script does, to a listener with it."""

    def __init__(self, binary, up, settings, tls=False, speaks_tls=False):
        self.directory = tempfile.TemporaryDirectory(prefix="hushgate-kit-")
        self.wrapper = None
        if tls:
            trusted, listen = asyncio.run(certified(self.directory.name))
            settings = {**settings, "listen": listen}
        path = os.path.join(self.directory.name, "gateway.json")
        with open(path, "w", encoding="utf-8") as file:
            text = json.dumps(configuration(f"http://127.0.0.1:{up}", **settings))
            file.write(text.replace("{up}", str(up)))
        self.log_path = os.path.join(self.directory.name, "log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen([binary, "serve", "-c", path], stdout=subprocess.PIPE, stderr=log,
                                            stdin=subprocess.DEVNULL, text=True)
        self.address = None
        for line in self.process.stdout:
            found = ADDRESS.search(line)
            if found:
                self.address = ":".join(found.groups())
                break
        if tls and not speaks_tls and self.address:
            self.wrapper = subprocess.Popen([sys.executable, str(HERE / "tls_wrap.py"), self.address, trusted],
                                            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
            self.address = f"127.0.0.1:{int(self.wrapper.stdout.readline())}"

    def stop(self):
        """What is wrong with how it ended, or an empty string."""
        if self.wrapper:
            self.wrapper.kill()
            self.wrapper.wait()
            self.wrapper.stdout.close()
        self.process.terminate()
        try:
            code = self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            try:
                code = self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                code = "none: it did not stop"
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            reports = [line for line in file if SANITIZER.search(line)]
        self.process.stdout.close()
        self.directory.cleanup()
        return "" if code == 0 and not reports else f"exit code {code} {' '.join(reports[:3])}"


def output_of(command, seconds):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds,
                              stdin=subprocess.DEVNULL, check=False)
        return done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        out = late.stdout or ""
        return (out.decode("utf-8", "replace") if isinstance(out, bytes) else out), "too late"


def interpreter():
    """One that has the package hpack, which some cases need: Debian's packages are of its own Python."""
    for path in (sys.executable, shutil.which("python3", path="/usr/bin")):
        if path and subprocess.run([path, "-c", "import hpack"], capture_output=True, check=False).returncode == 0:
            return path
    return sys.executable


def lines_of(patterns, text):
    passed, failed = (re.findall(pattern + ".*$", text, re.MULTILINE) for pattern in patterns)
    return len(passed), failed


def run_script(kit, name, binary, tls=False):
    """(passed, lines that failed) of one script with a gateway of its own."""
    settings, arguments, seconds, patterns = SCRIPTS[name]
    up = free_port()
    speaks_tls = name in SPEAK_TLS
    gateway = Served(binary, up, settings, tls, speaks_tls)
    if tls:
        arguments = arguments + " --tls" if speaks_tls else arguments.replace(NOT_WRAPPED_OPTION, "")
    if not gateway.address:
        return 0, [f"the gateway did not start: {gateway.stop()}"]
    port = gateway.address.rsplit(":", 1)[1]
    words = shlex.split(arguments.format(address=gateway.address, port=port, up=up, pid=gateway.process.pid))
    text, code = output_of([interpreter(), str(kit / name), *words], seconds)
    if patterns:
        passed, failed = lines_of(patterns, text)
    else:
        total = MATRIX_TOTAL.search(text)
        passed = int(total.group(1)) if total else 0
        failed = [line for line in text.splitlines() if "WRONG" in line]
        failed += ["..."] * (int(total.group(2)) - passed - len(failed) if total else 0)
    if tls:
        failed = [line for line in failed if not any(name in line for name in NOT_WRAPPED)]
    ended = gateway.stop()
    if ended:
        failed.append(f"the gateway ended badly: {ended}")
    if code not in (0, 1) or passed == 0:
        failed.append(f"the script ended with {code}: {text[-300:]}")
    return passed, failed


def run_lifecycle(kit, binary):
    text, code = output_of([sys.executable, str(kit / "lifecycle.py"), binary], 300)
    passed, failed = lines_of((r"^ok ", r"^FAIL "), text)
    if code not in (0, 1) or passed == 0:
        failed.append(f"the script ended with {code}: {text[-300:]}")
    return passed, failed


def run(binary, tally, tls=False, only=()):
    kit = place()
    if not kit:
        print("kit: no folder with it (HUSHGATE_KIT); its cases are left out", flush=True)
        return
    label = "kit over TLS" if tls else "kit"
    for name in only or [*([] if tls else ["lifecycle.py"]), *SCRIPTS]:
        begin = time.monotonic()
        passed, failed = run_lifecycle(kit, binary) if name == "lifecycle.py" else run_script(kit, name, binary, tls)
        for line in failed:
            print(f"FAIL {label} {name}: {line}", flush=True)
        print(f"{label} {name}: {passed} passed, {len(failed)} failed ({time.monotonic() - begin:.0f} s)", flush=True)
        tally.passed += passed
        tally.failed += len(failed)


class _Tally:
    passed = failed = 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("scripts", nargs="*", help="by default all")
    parser.add_argument("--tls", action="store_true")
    arguments = parser.parse_args()
    tally = _Tally()
    run(os.path.abspath(arguments.binary), tally, arguments.tls, arguments.scripts)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
