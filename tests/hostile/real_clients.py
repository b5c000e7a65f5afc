#!/usr/bin/env python3
"""Real clients through the examples: real_clients.py BINARY [--modules FOLDER] [--python PROGRAM] [CLIENT...]

Starts examples/models, supabase, web and vite with BINARY and lets clients loose on them: npm (openai, @anthropic-ai/sdk,
@supabase/supabase-js, ws, eventsource, undici, axios), curl, java, python (requests, httpx, aiohttp) and chromium (puppeteer-core).
npm's packages are taken from FOLDER, a node_modules, or installed with npm into a temporary one; Python's from PROGRAM's, which is
Debian's /usr/bin/python3 unless said otherwise (python3-requests, python3-httpx, python3-aiohttp). What is not here is named and
left out.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common
from common import check

HERE = Path(__file__).resolve().parent / "real_clients"
EXAMPLES = HERE.parents[2] / "examples"
PACKAGES = ("openai", "@anthropic-ai/sdk", "@supabase/supabase-js", "ws", "eventsource", "undici", "axios", "puppeteer-core", "vite@6")
PORTS = {"supabase": 8700, "models": 8710, "web": 8720, "vite": 8730}
SHIFT = 20000 + os.getpid() % 500 * 40  # of their ports
THINK_MS = 5000
SECONDS = 300  # for a client


class Example:
    """One of them, running; its log is kept for the end."""

    def __init__(self, name, binary, folder, environment):
        self.name, self.log_path = name, os.path.join(folder, f"{name}.log")
        self.url = f"http://127.0.0.1:{PORTS[name] + SHIFT}"
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [str(EXAMPLES / name / "run")], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "HUSHGATE": os.path.abspath(binary), "EXAMPLES_SHIFT": str(SHIFT), **environment})
        for _ in range(600):
            if self.process.poll() is not None:
                raise SystemExit(f"FAIL {name} ended: {Path(self.log_path).read_text(encoding='utf-8')[-800:]}")
            if "listening on" in Path(self.log_path).read_text(encoding="utf-8"):
                return
            time.sleep(0.1)
        raise SystemExit(f"FAIL {name} does not serve")

    def end(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(60)
        lines = Path(self.log_path).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.startswith('{"time"') and line.endswith("}")]


def modules_of(given, folder):
    if given or not shutil.which("npm"):
        return given
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, *PACKAGES], check=True)
    return os.path.join(folder, "node_modules")


def commands(urls, modules, python):
    models, stack, web, vite = urls
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or ""
    has = modules and os.path.isdir(os.path.join(modules, "puppeteer-core"))
    return {
        "npm": modules and shutil.which("node") and ["node", str(HERE / "npm.mjs"), models, stack, web, str(THINK_MS), modules],
        "curl": shutil.which("curl") and ["bash", str(HERE / "curl.sh"), models, stack, web],
        "java": shutil.which("javac") and ["java", str(HERE / "Client.java"), models, stack, web],
        "python": shutil.which(python) and [python, str(HERE / "python.py"), models, stack, web],
        "chromium": has and chromium and ["node", str(HERE / "chromium.mjs"), models, stack, web, vite, modules, chromium],
    }


def run_client(name, command):
    if not command:
        print(f"     {name} is not here: left out")
        return 0, 0
    begin = time.monotonic()
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=SECONDS, check=False)
        out, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        out, code = (late.stdout or b"").decode("utf-8", "replace"), "too late"
    print(out.rstrip("\n"))
    lines = out.splitlines()
    good, bad = (sum(line.startswith(word) for line in lines) for word in ("ok ", "FAIL "))
    check(code == 0 and good and not bad, f"{name}: all of its checks", f"{good} ok, {bad} failed, exit code {code}, "
          f"{time.monotonic() - begin:.0f} s")
    return good, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("clients", nargs="*")
    parser.add_argument("--modules")
    parser.add_argument("--python", default="/usr/bin/python3")
    words = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended
    with tempfile.TemporaryDirectory(prefix="hushgate-clients-") as folder:
        modules = modules_of(words.modules and os.path.abspath(words.modules), folder)
        environment = {"THINK_MS": str(THINK_MS), **({"EXAMPLES_MODULES": modules} if modules else {})}
        names = ["models", "supabase", "web"] + (["vite"] if modules and os.path.isdir(os.path.join(modules, "vite")) else [])
        running = []
        try:
            for name in names:
                running.append(Example(name, words.binary, folder, environment))
            urls = [example.url for example in running] + ["-"] * (4 - len(running))
            totals = [run_client(name, command) for name, command in commands(urls, modules, words.python).items()
                      if not words.clients or name in words.clients]
        finally:
            logs = {example.name: example.end() for example in running}
        for name, log in logs.items():
            exchanges = [line for line in log if line["event"] == "exchange"]
            ends = {}
            for line in exchanges:
                ends[line["end"]] = ends.get(line["end"], 0) + 1
            print(f"     {name}: {len(exchanges)} exchanges, ended {ends}, replays {sum(l['event'] == 'replay' for l in log)}")
            bad = [line for line in exchanges if line.get("status", 0) in (502, 503, 504)]
            check(not bad, f"{name}: no exchange that hushgate failed", f"{len(bad)} {bad[:2]}")
        print(f"     all: {sum(good for good, _ in totals)} ok, {sum(bad for _, bad in totals)} failed")
    common.finish()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
