"""The gateways and floors, each configured for the same work: one worker, HTTP/1.1 kept alive on both sides, bytes passed
on as they come. Where a peer has a setting that makes it better at a case, it gets it.

A peer is a function from a Job to a Start; PEERS names them in the order in which they are shown.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from .machine import version
from .ports import free_port

BENCH = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Job:
    """What a gateway is started for."""
    upstream: int  # its port
    directory: Path
    connections: int = 1200  # of clients, at most
    exchanges: int = 1200  # of those, with a request under way at one time
    stream: bool = False  # events: nothing may wait for more bytes
    reuse: bool = True  # False: a new upstream connection for each request
    log: bool = False  # a line per exchange, to a file
    tls: Path | None = None  # towards clients: a certificate and its key
    h2: bool = False  # clients speak HTTP/2, without TLS from the first byte
    upstream_h2: int = 0  # the port of the same upstream in HTTP/2 without TLS, for whoever speaks it; 0: none
    single: bool = False  # one process without a supervisor, for counting instructions


@dataclass
class Start:
    argv: list
    port: int | None = None  # None: the program prints it, as port=N or host:N
    environment: dict = field(default_factory=dict)
    out: Path | None = None
    err: Path | None = None


@dataclass(frozen=True)
class Peer:
    name: str
    start: callable
    kind: str = "peer"  # peer, ours, floor; way: a peer in another way, for the cases that name it
    version: str | None = None


def _write(job, name, text):
    path = job.directory / name
    path.write_text(text, encoding="utf-8")
    return path


def nginx(job):
    port, directory = free_port(), job.directory
    log = f"{directory}/nginx.access combined buffer=64k flush=1s" if job.log else "off"
    user = "user root;" if os.geteuid() == 0 else ""
    keepalive = "keepalive 512; keepalive_requests 100000000;" if job.reuse else ""
    tls = f"ssl_certificate {job.tls}; ssl_certificate_key {job.tls}; ssl_protocols TLSv1.2 TLSv1.3;" if job.tls else ""
    temporary = "".join(f"{kind}_temp_path {directory}/nginx-{kind};" for kind in
                        ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    # It begins to close connections when less than a sixteenth of the slots is free.
    slots = (job.connections + job.exchanges) * 11 // 10 + 100
    path = _write(job, "nginx.conf", f"""
worker_processes 1; daemon off; master_process {"off" if job.single else "on"}; {user}
pid {directory}/nginx.pid; error_log {directory}/nginx.log;
events {{ worker_connections {slots}; }}
http {{
  access_log {log}; {temporary}
  keepalive_timeout 300s; keepalive_requests 100000000; client_max_body_size 0;
  upstream up {{ server 127.0.0.1:{job.upstream}; {keepalive} }}
  server {{
    listen 127.0.0.1:{port} backlog=4096{" ssl" if job.tls else ""}{" http2" if job.h2 else ""};
    {tls}
    location / {{
      proxy_pass http://up; proxy_http_version 1.1;
      proxy_set_header Connection "{"" if job.reuse else "close"}";
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_read_timeout 600s; proxy_max_temp_file_size 0; proxy_request_buffering off; proxy_next_upstream off;
      {"proxy_buffering off;" if job.stream else ""}
    }}
  }}
}}
""")
    return Start(["nginx", "-e", f"{directory}/nginx.log", "-c", path], port)


def _haproxy(job, option="", server=""):
    port = free_port()
    tls = f"ssl crt {job.tls} ssl-min-ver TLSv1.2" if job.tls else ""
    h2 = ("alpn h2" if job.tls else "proto h2") if job.h2 else ""
    log = ("log stdout format raw local0", "log global\n  option httplog") if job.log else ("", "")
    path = _write(job, "haproxy.cfg", f"""
global
  nbthread 1
  no strict-limits
  maxconn {job.connections + 100}
  {log[0]}
defaults
  mode http
  timeout connect 5s
  timeout client 600s
  timeout server 600s
  {log[1]}
  {option}
frontend clients
  bind 127.0.0.1:{port} backlog 4096 {tls} {h2}
  default_backend upstream
backend upstream
  http-reuse {"always" if job.reuse else "never"}
  {"" if job.reuse else "option http-server-close"}
  option forwardfor
  server one {server or f"127.0.0.1:{job.upstream}"} pool-max-conn 512
""")
    return Start(["haproxy", "-db", "-f", path], port, out=job.directory / "haproxy.access" if job.log else None)


def haproxy(job):
    return _haproxy(job)


def haproxy_no_delay(job):
    return _haproxy(job, option="option http-no-delay")


def haproxy_h2(job):
    """HTTP/2 to the upstream."""
    return _haproxy(job, server=f"127.0.0.1:{job.upstream_h2} proto h2")


def caddy(job):
    port, directory = free_port(), job.directory
    log = f"log {{\n    output file {directory}/caddy.access {{\n      roll_disabled\n    }}\n  }}" if job.log else ""
    path = _write(job, "Caddyfile", f"""
{{
  admin off
  auto_https off
}}
http://127.0.0.1:{port}, http://bench.test:{port} {{
  bind 127.0.0.1
  {log}
  reverse_proxy 127.0.0.1:{job.upstream} {{
    {"flush_interval -1" if job.stream else ""}
    transport http {{
      keepalive {"300s" if job.reuse else "off"}
      keepalive_idle_conns 1024
      keepalive_idle_conns_per_host 512
      compression off
    }}
  }}
}}
""")
    home = {"HOME": str(directory), "XDG_DATA_HOME": str(directory), "XDG_CONFIG_HOME": str(directory), "GOMAXPROCS": "1"}
    return Start(["caddy", "run", "--config", path, "--adapter", "caddyfile"], port, home)


def h2o(job):
    port = free_port()
    user = "user: root\n" if os.geteuid() == 0 else ""
    log = f"access-log: {job.directory}/h2o.access\n" if job.log else ""
    path = _write(job, "h2o.conf", f"""
num-threads: 1
max-connections: {job.connections + 100}
http1-request-timeout: 300
{user}{log}listen: {{port: {port}, host: 127.0.0.1}}
hosts:
  default:
    paths:
      "/":
        proxy.reverse.url: "http://127.0.0.1:{job.upstream}/"
        proxy.timeout.keepalive: {4000 if job.reuse else 0}
        proxy.timeout.io: 600000
""")
    return Start(["h2o", "-c", path], port)


def node(job):
    log = [job.directory / "node.access"] if job.log else []
    return Start(["node", BENCH / "node_gateway.mjs", job.upstream, "yes" if job.reuse else "no", *log])


def direct(job):
    """No gateway at all."""
    return Start([], job.upstream)


def floor(program):
    return lambda job: Start([program, "--upstream", job.upstream])


class Hushgate:
    """One backend of our own. What the binary does not know yet is found out once, and said."""

    def __init__(self, binary, backend):
        self.binary, self.backend = binary, backend
        self.can_silence = True

    def __call__(self, job):
        silent = ["--set", "log.access=false"] if self.can_silence and not job.log else []
        if job.tls or job.upstream_h2:
            return self._with_file(job)
        return Start([self.binary, "serve", "--listen", "127.0.0.1:0", "--workers", "1", "--backend", self.backend,
                      "--upstream", f"http://127.0.0.1:{job.upstream}",
                      "--set", f"limits.maxConnections={job.connections + 100}", *silent],
                     err=job.directory / f"hushgate-{self.backend}.log")

    def _with_file(self, job):
        certificate = {"certificate": str(job.tls), "key": str(job.tls)}
        tls = {"tls": {"certificates": [certificate]}} if job.tls else {}
        upstream = {"url": f"http://127.0.0.1:{job.upstream_h2}", "protocol": "h2c"} if job.upstream_h2 else \
            f"http://127.0.0.1:{job.upstream}"
        path = _write(job, "hushgate.json", json.dumps({
            "listen": [{"address": "127.0.0.1:0", **tls}], "workers": 1,
            "io": {"backend": self.backend}, "log": {"access": job.log},
            "upstreams": {"upstream": upstream},
            "routes": [{"path": "/", "upstream": "upstream"}],
            "limits": {"maxConnections": job.connections + 100}}))
        return Start([self.binary, "serve", "-c", path], err=job.directory / f"hushgate-{self.backend}.log")


def peers_of(binary, programs, backends, can_silence):
    """{name: Peer} of all that can run here. `backends`: what the binary offers."""
    found = {}

    def add(name, start, kind, text):
        if text:
            found[name] = Peer(name, start, kind, text)

    for backend, label in (("uring", "io_uring"), ("epoll", "epoll")):
        if backend in backends:
            ours = Hushgate(binary, backend)
            ours.can_silence = can_silence
            add(f"hushgate {label}", ours, "ours", version([str(binary), "version"], r"(\d[\w.+~-]*)") or "?")
    add("nginx", nginx, "peer", version(["nginx", "-v"], r"nginx/([\d.]+)"))
    haproxy_version = version(["haproxy", "-v"], r"version ([\d.]+)")
    add("HAProxy", haproxy, "peer", haproxy_version)
    add("HAProxy no-delay", haproxy_no_delay, "way", haproxy_version)
    add("HAProxy h2", haproxy_h2, "way", haproxy_version)
    add("Caddy", caddy, "peer", version(["caddy", "version"], r"v?(\d[\d.]+)"))
    add("H2O", h2o, "peer", version(["h2o", "--version"], r"version ([\d.]+)"))
    add("Node", node, "peer", version(["node", "--version"], r"v([\d.]+)"))
    add("floor io_uring", floor(programs / "uring_tunnel"), "floor", "a tunnel of bytes, bench/floor/uring_tunnel.cc")
    add("floor epoll", floor(programs / "epoll_tunnel"), "floor", "a tunnel of bytes, bench/floor/epoll_tunnel.cc")
    add("floor connect", floor(programs / "connect_relay"), "floor",
        "an upstream connection for each request, bench/floor/connect_relay.cc")
    add("direct", direct, "floor", "no gateway")
    return found
