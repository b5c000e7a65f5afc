"""Programs that people use, as servers and clients of a case."""

import asyncio
import os
import shutil
from pathlib import Path

from support import Skip, check

HERE = Path(__file__).resolve().parent


def need(program):
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")
    if not path:
        raise Skip(f"{program} is not installed")
    return path


async def output_of(*command, given=None, seconds=60, directory=None, environment=None):
    """(exit code, what it printed)"""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE if given is not None else asyncio.subprocess.DEVNULL, cwd=directory,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env={**os.environ, **(environment or {})})
    try:
        out, _ = await asyncio.wait_for(process.communicate(given), seconds)
    except (asyncio.TimeoutError, asyncio.CancelledError):
        process.kill()
        await process.wait()
        raise
    return process.returncode, out


class Running:
    """A server that prints its port on its first line, ended with the block."""

    def __init__(self, *command, directory=None):
        self.command, self.directory = command, directory

    async def __aenter__(self):
        self.process = await asyncio.create_subprocess_exec(
            *self.command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, cwd=self.directory)
        line = await asyncio.wait_for(self.process.stdout.readline(), 30)
        check(line.strip().isdigit(), f"{self.command} said {line!r}")
        self.port = int(line)
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_):
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


NGINX = """
daemon off; worker_processes 1; pid {d}/nginx.pid; error_log {d}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log off; client_body_temp_path {d}/b; proxy_temp_path {d}/p; fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u;
  scgi_temp_path {d}/s; types {{ text/html html; }}
  {http}
}}
"""


class Nginx:
    """nginx with the given http block on `port`, ended with the block."""

    def __init__(self, directory, port, http):
        self.directory, self.port, self.http = directory, port, http
        self.url = f"http://127.0.0.1:{port}"

    async def __aenter__(self):
        path = os.path.join(self.directory, f"nginx{self.port}.conf")
        home = os.path.join(self.directory, f"nginx{self.port}")
        os.makedirs(home, exist_ok=True)
        os.chmod(self.directory, 0o755)
        with open(path, "w", encoding="utf-8") as file:
            file.write(NGINX.format(d=home, http=self.http))
        self.process = await asyncio.create_subprocess_exec(
            need("nginx"), "-c", path, "-p", home, stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL)
        for _ in range(200):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return self
            except OSError:
                await asyncio.sleep(0.05)
        check(False, "nginx did not start")

    async def __aexit__(self, *_):
        if self.process.returncode is None:
            self.process.terminate()
        await self.process.wait()
