"""CONTRACT sections 5 and 8: on a terminal the log is for people, and a stop says who is being waited for."""

import asyncio
import json
import os
import pty
import signal

from support import Fault, Skip, case, check, configuration, connect, request_bytes, response_bytes
from support.gateway import ADDRESS


class Terminal:
    """The program with standard output and standard error on a terminal."""

    def __init__(self):
        self.text = ""
        self._changed = asyncio.Event()

    async def start(self, t, config):
        path = os.path.join(t.directory, "terminal.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        try:
            self.master, slave = pty.openpty()
        except OSError as error:
            raise Skip(f"no terminals here: {error}") from error
        self.process = await asyncio.create_subprocess_exec(t.binary, "serve", "-c", path, stdin=slave, stdout=slave,
                                                            stderr=slave)
        os.close(slave)
        asyncio.get_running_loop().add_reader(self.master, self._read)
        found = await self.until(ADDRESS.search)
        self.port = int(found.group(2))

    def _read(self):
        try:
            data = os.read(self.master, 65536)
        except OSError:  # the other end has gone
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self.master)
        self.text += data.decode("utf-8", "replace")
        self._changed.set()

    async def until(self, found, seconds=20):
        """What `found(text)` gives, once it gives something."""
        loop = asyncio.get_running_loop()
        limit = loop.time() + seconds
        while not found(self.text):
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), max(limit - loop.time(), 0.001))
            except asyncio.TimeoutError as late:
                raise Fault(f"not said within {seconds} s: {self.text[-600:]}") from late
        return found(self.text)

    async def close(self):
        asyncio.get_running_loop().remove_reader(self.master)
        if self.process.returncode is None:
            self.process.kill()
        code = await self.process.wait()
        os.close(self.master)
        return code


@case
async def on_a_terminal_the_log_is_readable_and_a_stop_says_who_is_waited_for(t):
    upstream = await t.upstream()
    terminal = Terminal()
    await terminal.start(t, configuration(upstream))
    try:
        quick, slow = [await connect("127.0.0.1", terminal.port) for _ in range(2)]
        quick.send(request_bytes(target="/quick"))
        peer = await upstream.connection()
        await peer.request()
        peer.send(response_bytes())
        await quick.response()
        quick.close()
        line = await terminal.until(lambda text: [x for x in text.splitlines() if "/quick" in x])
        check("{" not in line[0] and "200" in line[0], f"not for people: {line}")

        slow.send(request_bytes("POST", "/slow", body=b"x"))
        peer = await upstream.connection()
        await peer.request()
        before = len(terminal.text)
        terminal.process.send_signal(signal.SIGINT)
        await terminal.until(lambda text: "waiting for" in text[before:])
        peer.send(response_bytes())
        check((await slow.response()).status == 200, "not served")
        slow.close()
        code = await asyncio.wait_for(terminal.process.wait(), 20)
        check(code == 0, f"exit code {code}: {terminal.text[-600:]}")
    finally:
        await terminal.close()
