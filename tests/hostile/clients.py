#!/usr/bin/env python3
"""Real clients: clients.py BINARY [--modules DIRECTORY] [--silence SECONDS] [--wrk SECONDS]

npm's openai, @anthropic-ai/sdk (streams with SILENCE, 90 s, before the first event; limits.idleTimeoutMs 2 000) and ws
through a tunnel; nc half-closing; HTTP/1.0 clients; wrk with 64 connections. The packages are taken from DIRECTORY, or
installed with npm into a temporary one. A program that is not there is named and left out.
"""

import argparse
import re
import shutil
import socket
import subprocess
import tempfile

import common
from common import check

PACKAGES = ("openai", "@anthropic-ai/sdk", "ws")


def missing(program):
    if shutil.which(program):
        return False
    print(f"     {program} is not here: left out")
    return True


def sdks(binary, modules, silence):
    if missing("node") or missing("npm"):
        return
    with tempfile.TemporaryDirectory(prefix="hushgate-npm-") as fresh:
        if not modules:
            subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", fresh, *PACKAGES],
                           check=True)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            up_port = s.getsockname()[1]
        gateway = common.Gateway(binary, up_port, limits__idleTimeoutMs=2000)
        words = ["node", str(common.HERE / "sdk.js"), str(gateway.port), str(up_port), modules or fresh,
                 str(int(silence * 1000))]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, timeout=silence + 120, check=False)
        check(done.returncode == 0, "SDKs and ws as above", f"exit code {done.returncode}")
        for line in gateway.log("exchange"):
            if line["end"] != "complete":
                print(f"     log: {line}")
        check(gateway.end() == 0, "the gateway ends with 0", gateway.process.child.returncode)


def shell(command):
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60,
                          check=False)
    return done.returncode, done.stdout.decode("latin-1")


def half_closing(port):
    if missing("nc"):
        return
    for path, ends in (("/ok", "ok"), ("/late/1500", "ok"), ("/bytes/300000", None)):
        code, out = shell(f"printf 'GET {path} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' | nc -N 127.0.0.1 {port}")
        head, _, body = out.partition("\r\n\r\n")
        fine = body == ends if ends else len(body) == 300000
        check(code == 0 and head.startswith("HTTP/1.1 200 ") and fine, f"nc -N {path}: 200 with its body",
              f"exit code {code}, {head.splitlines()[:1]}, {len(body)} characters")


def old_clients(port):
    if not missing("curl"):
        code, out = shell(f"curl -0 -sv http://127.0.0.1:{port}/ok 2>&1")
        fine = "< HTTP/1." in out and " 200 " in out and out.splitlines()[-1:] == ["ok"]
        check(code == 0 and fine and "ransfer-" not in out, "curl -0: 200, not chunked",
              f"exit code {code}, {out.splitlines()[-2:]}")
        code, out = shell(f"curl -0 -s --data-binary @{common.HERE}/sdk.js http://127.0.0.1:{port}/ok")
        check((code, out) == (0, "ok"), "curl -0 with a body: ok", f"exit code {code}, {out!r}")
    # As ab -k: HTTP/1.0, keep-alive by name.
    s, kept = common.connect(port), 0
    try:
        for i in range(100):
            s.sendall(f"GET /ok/{i} HTTP/1.0\r\nHost: x\r\nConnection: Keep-Alive\r\n\r\n".encode())
            status, fields, body = common.read_head(s)
            body = body or s.recv(100)
            kept += (status, body) == (200, b"ok") and fields.get("connection", "").lower() == "keep-alive"
    except OSError as fault:
        kept = f"{kept}, then {fault!r}"
    check(kept == 100, "HTTP/1.0 with Connection: Keep-Alive (as ab -k): 100 answers on one connection", kept)
    s = common.connect(port)
    s.sendall(b"GET /ok HTTP/1.0\r\n\r\n")
    out = b""
    while data := s.recv(4096):
        out += data
    check(out.endswith(b"\r\n\r\nok"), "HTTP/1.0 without Host: answered and closed", f"{out[:20]!r} ... {out[-6:]!r}")


def wrk(gateway, seconds):
    if missing("wrk"):
        return
    begin = gateway.scheduled_ms()
    code, out = shell(f"wrk -t 2 -c 64 -d {seconds}s --latency http://127.0.0.1:{gateway.port}/ok")
    bad = re.findall(r"Socket errors.*|Non-2xx.*", out)
    rate, tail = re.search(r"Requests/sec:\s+([\d.]+)", out), re.search(r"99%\s+(\S+)", out)
    ran, waited = (after - before for after, before in zip(gateway.scheduled_ms(), begin))
    count = re.search(r"(\d+) requests in", out)
    check(code == 0 and not bad and rate, f"wrk, 64 connections, {seconds} s: no errors",
          f"{rate and rate.group(1)} requests/s, 99% within {tail and tail.group(1)}, {bad}; the gateway's threads ran "
          f"{ran:.0f} ms ({count and ran * 1e3 / int(count.group(1)):.1f} us/request), "
          f"waited for a core {waited:.0f} ms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--modules")
    parser.add_argument("--silence", type=float, default=90)
    parser.add_argument("--wrk", type=int, default=10)
    words = parser.parse_args()
    up, up_port = common.upstream()
    gateway = common.Gateway(words.binary, up_port)
    half_closing(gateway.port)
    old_clients(gateway.port)
    wrk(gateway, words.wrk)
    check(gateway.end() == 0, "the gateway ends with 0", gateway.process.child.returncode)
    up.end()
    sdks(words.binary, words.modules, words.silence)
    common.finish()


if __name__ == "__main__":
    main()
