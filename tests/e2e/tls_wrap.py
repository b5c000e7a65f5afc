#!/usr/bin/env python3
"""Plaintext in, TLS out: tls_wrap.py HOST:PORT AUTHORITY. Listens on a free port of 127.0.0.1 and prints it.

So that clients without TLS can meet a listener with it. A reset is carried over as a reset. A FIN of the client becomes
close_notify and a FIN, which means that it is gone: a half-close cannot pass. Of the other side's ends, close_notify
becomes a FIN, and a cut a reset. What the kernels' buffers hold is held twice, so amounts and moments are less exact.
"""

import asyncio
import contextlib
import resource
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE)]

from support.message import Fault  # noqa: E402
from support.tls import client_context, tls_connect  # noqa: E402
from support.wire import Wire  # noqa: E402

FOREVER = 1e6  # seconds
BACKLOG = 4096


async def carry(source, sink):
    """Until the source ends; returns how, or None if the sink has gone."""
    while True:
        await source.until(lambda: source.buffer or source.end or sink.lost, FOREVER)
        if source.buffer and not sink.lost:
            data = bytes(source.buffer)
            source.buffer.clear()
            source.pause()
            await sink.push(data, FOREVER)
            source.resume()
        elif source.end:
            return source.end
        else:
            return None


async def sent(wire):
    while wire.unsent():
        await asyncio.sleep(0.005)


async def inwards(plain, secure):
    end = await carry(plain, secure)
    if end == "fin":
        await sent(secure)
        secure.close_notify()
        secure.fin()
        await plain.until(lambda: plain.lost, FOREVER)
    secure.reset()


async def outwards(secure, plain):
    end = await carry(secure, plain)
    await sent(plain)
    if end == "close_notify":
        plain.fin()
        await secure.until(lambda: secure.tcp_end, FOREVER)
        if secure.tcp_end == "fin":
            await plain.until(lambda: plain.end, FOREVER)
            return plain.close()
    plain.reset()


async def wrap(plain, target, context):
    try:
        secure = await tls_connect(*target, context)
    except OSError:
        return plain.reset()
    if await secure.handshake(FOREVER) is not None:
        secure.close()
        return plain.reset()
    await asyncio.gather(inwards(plain, secure), outwards(secure, plain))
    secure.close()


async def serve(target, context):
    tasks = set()

    def begin(plain):
        async def run():
            with contextlib.suppress(Fault, OSError):
                await wrap(plain, target, context)

        task = asyncio.ensure_future(run())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Wire(on_open=begin), "127.0.0.1", 0, backlog=BACKLOG)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


class Trusted:
    def __init__(self, path):
        self.certificate = path


def main():
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    host, port = sys.argv[1].rsplit(":", 1)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve((host, int(port)), client_context(Trusted(sys.argv[2]))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
