"""Cases: coroutine functions that get a Case, in which they open what they need and which closes all of it."""

import asyncio
import contextlib
import json
import shutil
import tempfile
import time

from .gateway import Gateway, configuration
from .message import Fault, check
from .tls import TlsUpstream, tls_answering, tls_connect
from .upstream import Upstream, answering

now = time.monotonic
EARLY = 0.05  # a loop's clock may be so old when it stamps, on a loaded machine
LATE = 6.0  # an upper bound on everything that has a budget, beyond it and its period
REGISTRY = []


class Skip(Exception):
    """The case can't be run on this machine; the text says why."""


class Entry:
    def __init__(self, function, seconds, threads, alone):
        self.function, self.seconds, self.threads, self.alone = function, seconds, threads, alone
        module = function.__module__.removeprefix("test_")
        self.name = f"{module}: {function.__name__.replace('_', ' ')}"


def case(function=None, *, seconds=60, threads=False, alone=False):
    """`seconds`: its bound. `threads`: also run under --tsan. `alone`: nothing runs beside it."""

    def register(function):
        REGISTRY.append(Entry(function, seconds, threads, alone))
        return function

    return register(function) if function else register


class Case:
    def __init__(self, binary, workers):
        self.binary, self.workers = binary, workers
        self.directory = tempfile.mkdtemp(prefix="hushgate-e2e-")
        self.gateways = []
        self._upstreams = []
        self._wires = []
        self._tasks = []

    async def gateway(self, upstream, /, *, start=None, **settings):
        """`settings`: keys of the file. `start`: what Gateway.start takes."""
        config = upstream if isinstance(upstream, dict) else configuration(upstream, **settings)
        if self.workers:
            config["workers"] = self.workers
        return await self.run(config, **(start or {}))

    async def run(self, config, **start):
        gateway = Gateway(self.binary, self.directory)
        self.gateways.append(gateway)
        return await gateway.start(config, **start)

    async def upstream(self, script=None, **listen):
        return await self.listening(Upstream(script), **listen)

    async def answering(self, answer=None, **listen):
        upstream = Upstream()
        upstream.script = answering(upstream, answer)
        return await self.listening(upstream, **listen)

    async def tls_upstream(self, context, script=None, **listen):
        return await self.listening(TlsUpstream(context, script), **listen)

    async def tls_answering(self, context, answer=None, **listen):
        return await self.listening(tls_answering(context, answer), **listen)

    async def listening(self, upstream, **listen):
        """Any Upstream, closed with the case."""
        self._upstreams.append(await upstream.listen(**listen))
        return upstream

    async def client(self, gateway, **options):
        wire = await gateway.client(**options)
        self._wires.append(wire)
        return wire

    async def tls_client(self, gateway, context, *, of=0, **options):
        """A client whose handshake is under way. `of`: which of the gateway's addresses."""
        wire = await tls_connect(*gateway.addresses[of], context, **options)
        self._wires.append(wire)
        return wire

    async def tls_ask(self, gateway, context, request, **options):
        """As ask(), over TLS; returns the wire too, which has come to its end."""
        wire = await self.tls_client(gateway, context, **options)
        why = await wire.handshake()
        check(why is None, f"no handshake: {why}")
        wire.send(request)
        response = await wire.response(request.split(b" ", 1)[0].decode())
        wire.close_notify()
        wire.close()
        return response, wire

    async def ask(self, gateway, request, method=None):
        """One request on a connection of its own, which is closed behind it."""
        wire = await gateway.client()
        self._wires.append(wire)
        wire.send(request)
        response = await wire.response(method or request.split(b" ", 1)[0].decode())
        wire.close()
        return response

    def later(self, coroutine):
        """Runs beside the case; cancelled with it."""
        task = asyncio.ensure_future(coroutine)
        self._tasks.append(task)
        return task

    async def finish(self):
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for wire in self._wires:
            wire.close()
        faults = []
        for gateway in self.gateways:
            if gateway.process is None:
                continue
            try:
                if gateway.exit_code is None:
                    await gateway.stop()
                else:
                    gateway.verify()
            except Fault as fault:
                faults.append(fault)
        for upstream in self._upstreams:
            await upstream.close()
            faults += upstream.faults
        if faults:
            raise faults[0]

    def discard(self):
        for gateway in self.gateways:
            gateway.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


async def play(entry, binary, workers):
    """Runs one case. Returns (verdict, text)."""
    test = Case(binary, workers)
    try:
        async with asyncio.timeout(entry.seconds) as bound:
            await entry.function(test)
        async with asyncio.timeout(60):
            await test.finish()
        return "ok", ""
    except Skip as skip:
        with contextlib.suppress(Exception):
            await asyncio.wait_for(test.finish(), 60)
        return "skip", str(skip)
    except Exception as error:  # the verdict of a case, whatever went wrong
        text = str(error) if isinstance(error, Fault) else f"{type(error).__name__}: {error}"
        if bound.expired():
            text = f"did not end within {entry.seconds} s"
        where = error.__traceback__
        while where and where.tb_next and "support" not in where.tb_next.tb_frame.f_code.co_filename:
            where = where.tb_next
        line = f" (line {where.tb_lineno})" if where else ""
        with contextlib.suppress(Exception):
            await asyncio.wait_for(test.finish(), 60)
        for gateway in test.gateways:
            if gateway.exit_code not in (None, 0) or gateway.strange:
                text += f" [exit code {gateway.exit_code}: {' | '.join(gateway.strange[:25])}]"
        return "FAIL", text + line
    finally:
        test.discard()


def not_before(since, until, budget, what="it"):
    """`budget` seconds were kept from `since`, and not much more."""
    check(until is not None, f"{what} did not happen")
    took = until - since
    check(took >= budget - EARLY, f"{what} came after {took:.3f} s, budget {budget} s")
    check(took <= budget + 1.0 + LATE, f"{what} came only after {took:.3f} s, budget {budget} s")


def error_of(response, status, kind=None, *, of_request=True):
    """Checks that a response is an error answer of hushgate's own, and returns its object. Without a request there is
    nothing that an id could name."""
    check(response.status == status, f"not {status}: {response}")
    check(response.get("Content-Type") == "application/json", f"not JSON: {response}")
    error = json.loads(response.body)["error"]
    check(set(error) == {"type", "message", "request_id"}, f"error object: {error}")
    check(all(isinstance(value, str) for value in error.values()), f"error object: {error}")
    check(error["type"] and error["message"] and (error["request_id"] or not of_request), f"error object: {error}")
    check(response.get("Proxy-Status") is not None, f"no Proxy-Status: {response}")
    if kind:
        check(error["type"] == kind, f"type {error['type']}, not {kind}")
    return error
