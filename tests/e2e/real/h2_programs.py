"""What the HTTP/2 cases start besides programs.py: HAProxy, nghttpx, packages of npm."""

import asyncio
import os
import sys

from programs import HERE, need, output_of
from support import Skip, check
from support.upstream import free_port


class Daemon:
    """A program that listens on `port` once it runs, ended with the block."""

    def __init__(self, port, *command):
        self.port, self.command = port, command

    async def __aenter__(self):
        self.process = await asyncio.create_subprocess_exec(
            *self.command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL)
        for _ in range(200):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return self
            except OSError:
                await asyncio.sleep(0.05)
        check(False, f"{self.command[0]} did not start")

    async def __aexit__(self, *_):
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


def nghttpx(target, *, to="http/1.1"):
    """In front of the port `target`, to which it speaks `to`."""
    port = free_port()
    return Daemon(port, need("nghttpx"), "--conf=/dev/null", f"--frontend=127.0.0.1,{port};no-tls", "--workers=1",
                  f"--backend=127.0.0.1,{target};;proto={to}", "--errorlog-file=/dev/null", "--log-level=FATAL")


HAPROXY = """
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend f
  bind 127.0.0.1:{port} {accepts}
  default_backend b
backend b
  server s 127.0.0.1:{target} {speaks}
"""


def haproxy(directory, target, *, accepts="proto h2", speaks=""):
    port = free_port()
    path = os.path.join(directory, f"haproxy{port}.cfg")
    with open(path, "w", encoding="utf-8") as file:
        file.write(HAPROXY.format(port=port, target=target, accepts=accepts, speaks=speaks))
    return Daemon(port, need("haproxy"), "-db", "-f", path)


async def npm(t, *packages):
    """Installs them in the case's directory; skips it where they can't be had."""
    code, out = await output_of(need("npm"), "install", "--no-audit", "--no-fund", "--prefer-offline", *packages, seconds=150,
                                directory=t.directory)
    if code != 0:
        raise Skip(f"{packages} can't be had here: {out.decode('utf-8', 'replace').strip()[-120:]!r}")


def script(t, name):
    """A program of this folder, copied to where npm has put its packages."""
    path = os.path.join(t.directory, name)
    with open(HERE / name, encoding="utf-8") as source, open(path, "w", encoding="utf-8") as file:
        file.write(source.read())
    return path


async def python_with(module):
    """An interpreter that has it: Debian's packages are of its own."""
    for interpreter in dict.fromkeys((sys.executable, "/usr/bin/python3")):
        if os.path.exists(interpreter):
            code, _ = await output_of(interpreter, "-c", f"import {module}")
            if code == 0:
                return interpreter
    raise Skip(f"the package {module} is not installed")
