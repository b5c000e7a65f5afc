"""The proxies under test, each started with the same budgets in its own words, forwarding everything to one port.

Programs are found in PATH, or where HUSHGATE, NGINX, HAPROXY and CADDY say; who is not there is left out.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NAMES = ("hushgate", "nginx", "haproxy", "caddy")
VARIANTS = (*NAMES, "nginx-no-pool", "haproxy-retry", "caddy-write")


@dataclass
class Budgets:
    """Seconds. idle: between requests; request: to send one; send: to take a response; upstream: its silence."""

    idle: int = 60
    request: int = 60
    send: int = 60
    upstream: int = 600
    defaults: bool = False  # the proxy's own, whatever they are


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def program(name):
    family = name.split("-", maxsplit=1)[0]
    beside = {"hushgate": str(ROOT / "build" / "release" / "hushgate")}
    return os.environ.get(family.upper()) or shutil.which(family) or shutil.which(beside.get(family, family))


def hushgate(port, up, b, _variant):
    limits = {} if b.defaults else {
        "idleTimeoutMs": b.idle * 1000, "requestTimeoutMs": b.request * 1000, "sendTimeoutMs": b.send * 1000,
        "upstreamTimeoutMs": b.upstream * 1000}
    config = {"listen": f"127.0.0.1:{port}", "workers": 1, "upstreams": {"u": f"http://127.0.0.1:{up}"},
              "limits": limits}
    return "hushgate.json", json.dumps(config, indent=2), ["serve", "-c", "{file}"]


def nginx(port, up, b, variant):
    pooled = variant != "nginx-no-pool"
    times = "" if b.defaults else (
        f"keepalive_timeout {b.idle}s; client_header_timeout {b.request}s; client_body_timeout {b.request}s;\n"
        f"send_timeout {b.send}s; proxy_read_timeout {b.upstream}s;")
    pool = 'proxy_http_version 1.1; proxy_set_header Connection "";' if pooled else ""
    text = f"""daemon off; worker_processes 1; pid {{dir}}/pid; error_log {{dir}}/error.log; user root;
events {{{{ worker_connections 8192; }}}}
http {{{{
  access_log off; proxy_buffering off; proxy_request_buffering off; client_max_body_size 0;
  client_body_temp_path {{dir}}/body; proxy_temp_path {{dir}}/proxy; fastcgi_temp_path {{dir}}/f;
  uwsgi_temp_path {{dir}}/u; scgi_temp_path {{dir}}/s; {times}
  upstream u {{{{ server 127.0.0.1:{up}; {"keepalive 64;" if pooled else ""} }}}}
  server {{{{ listen 127.0.0.1:{port}; location / {{{{ proxy_pass http://u; {pool} }}}} }}}}
}}}}
"""
    return "nginx.conf", text, ["-p", "{dir}", "-c", "{file}"]


def haproxy(port, up, b, variant):
    times = "timeout connect 5s\n  " + (
        "timeout client 60s\n  timeout server 60s" if b.defaults else  # it has none; these are its manual's
        f"timeout http-request {b.request}s\n  timeout http-keep-alive {b.idle}s\n  timeout client {b.send}s\n"
        f"  timeout server {b.upstream}s")
    retry = "retries 3\n  retry-on all-retryable-errors" if variant == "haproxy-retry" else ""
    text = f"""global
  nbthread 1
  maxconn 8000
defaults
  mode http
  {times}
  {retry}
frontend f
  bind 127.0.0.1:{port}
  default_backend b
backend b
  server s 127.0.0.1:{up}
"""
    return "haproxy.cfg", text, ["-db", "-f", "{file}"]


def caddy(port, up, b, variant):
    write = f"write {b.send}s" if variant == "caddy-write" else ""
    times = "" if b.defaults else (
        f"servers {{\n timeouts {{\n read_header {b.request}s\n read_body {b.request}s\n idle {b.idle}s\n {write}\n }}\n }}")
    text = f"{{\n admin off\n auto_https off\n {times}\n}}\n:{port} {{\n bind 127.0.0.1\n reverse_proxy 127.0.0.1:{up}\n}}\n"
    return "Caddyfile", text, ["run", "--adapter", "caddyfile", "--config", "{file}"]


@contextlib.contextmanager
def running(name, up, budgets):
    """The proxy's port and its log (a path), while it runs."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="promises-") as directory:
        maker = {"hushgate": hushgate, "nginx": nginx, "haproxy": haproxy, "caddy": caddy}[name.split("-", maxsplit=1)[0]]
        file, text, words = maker(port, up, budgets, name)
        path = os.path.join(directory, file)
        Path(path).write_text(text.replace("{dir}", directory).replace("{{", "{").replace("}}", "}")
                              if file == "nginx.conf" else text, encoding="utf-8")
        words = [word.format(file=path, dir=directory) for word in words]
        log = os.path.join(directory, "log")
        with open(log, "wb") as out:
            process = subprocess.Popen([program(name), *words], stdout=subprocess.DEVNULL, stderr=out,
                                       stdin=subprocess.DEVNULL, env={**os.environ, "HOME": directory})
        try:
            await_port(port, process, log)
            yield port, log
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def await_port(port, process, log):
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise SystemExit(f"the proxy did not start:\n{Path(log).read_text(encoding='utf-8', errors='replace')}")


def present(names):
    """Those that can run, in order; who cannot is told."""
    for name in names:
        if name not in VARIANTS:
            raise SystemExit(f"no such proxy: {name}; there are {', '.join(VARIANTS)}")
        if not program(name):
            print(f"{name}: not installed, left out", flush=True)
    return [name for name in names if program(name)]
