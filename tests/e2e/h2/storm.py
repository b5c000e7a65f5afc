#!/usr/bin/env python3
"""POSTs through an upstream that sends GOAWAY at random ids, refuses and resets streams, and vanishes.

  storm.py BINARY [--posts N] [--seed N] [--client h1|h2] [--page docs/http2.md]

Each POST has a path of its own. The upstream counts one as delivered when it processes it, and never processes what it
refuses. At the end: none was delivered twice, each that was answered 2xx was delivered once, and each that was answered
otherwise was not delivered, or the gateway's log says that its fate is unknown.
"""

import argparse
import asyncio
import os
import random
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from h2 import frames as f  # noqa: E402
from h2.client import Client  # noqa: E402
from h2.page import put  # noqa: E402
from h2.upstream import H2Upstream  # noqa: E402
from support.case import Case, now  # noqa: E402
from support.message import Fault, request_bytes  # noqa: E402

LANES = 64  # POSTs at a time
CONNECTIONS = 8  # of HTTP/2 clients, which share the lanes
BODY = b"posted once"
# Per thousand requests: what happens instead of an answer.
REFUSED, GOAWAY, GRACEFUL, RESET_BEFORE, RESET_BEHIND, VANISHES_BEFORE, VANISHES_BEHIND, CUT = 40, 12, 4, 8, 8, 1, 1, 8
SLOW = 300  # ... and how many answers take up to 10 ms
RESETS = (f.CANCEL, f.INTERNAL_ERROR, f.PROTOCOL_ERROR, f.ENHANCE_YOUR_CALM)


class Storm:
    def __init__(self, seed=1, client="h2"):
        self.random = random.Random(seed)
        self.client = client
        self.delivered = {}  # path: how often
        self.answers = {}  # path: status, or None for no whole answer
        self.did = {}  # what the upstream did: how often
        self.wrong = []

    # --- the upstream's part
    def _did(self, what):
        self.did[what] = self.did.get(what, 0) + 1

    def _process(self, stream):
        path = stream.head.get(":path")
        self.delivered[path] = self.delivered.get(path, 0) + 1
        stream.processed = True
        if stream.body != BODY:
            self.wrong.append(f"{path} was delivered with {bytes(stream.body[:40])!r}")

    def _may_process(self, server, stream):
        """Not behind a GOAWAY that said that it would not."""
        return stream.number <= getattr(server, "last", f.LARGEST_WINDOW) and not server.wire.end

    def _go_away(self, server):
        """At any id from the last one that was processed on; those above are not processed from now on."""
        processed = [s.number for s in server.arrived if getattr(s, "processed", False)]
        lowest, highest = max(processed, default=0), max(s.number for s in server.arrived)
        chosen = self.random.choice([*([] if lowest else [0]), *range(lowest or 1, highest + 5, 2)])
        server.last = min(getattr(server, "last", f.LARGEST_WINDOW), chosen)
        server.send(f.goaway(server.last, self.random.choice((f.NO_ERROR, f.NO_ERROR, f.ENHANCE_YOUR_CALM))))

    async def _vanish(self, server):
        server.wire.reset() if self.random.random() < 0.5 else server.wire.close()

    async def answer(self, server, stream):
        await server.done(stream, 60)
        if not stream.ended or not self._may_process(server, stream):
            return
        at = self.random.randrange(1000)
        for what, share, act in self._acts():
            if at < share:
                self._did(what)
                if await act(server, stream):
                    return
                break
            at -= share
        if self.random.randrange(1000) < SLOW:
            await asyncio.sleep(self.random.random() * 0.01)
        if self._may_process(server, stream):
            self._process(stream)
            await server.respond(stream, body=b"done")
            if getattr(server, "last", f.LARGEST_WINDOW) != f.LARGEST_WINDOW and self._all_answered(server, stream):
                server.wire.fin()

    @staticmethod
    def _all_answered(server, stream):
        return all(getattr(s, "processed", False) or s.number > server.last for s in server.arrived)

    def _acts(self):
        async def refuse(server, stream):
            server.reset(stream, f.REFUSED_STREAM)
            return True

        async def go_away(server, stream):
            self._go_away(server)

        async def graceful(server, stream):
            if not hasattr(server, "last"):
                server.last = f.LARGEST_WINDOW
                server.send(f.goaway(server.last))

        async def reset_before(server, stream):
            server.reset(stream, self.random.choice(RESETS))
            return True

        async def reset_behind(server, stream):
            self._process(stream)
            return await reset_before(server, stream)

        async def vanish_before(server, stream):
            await self._vanish(server)
            return True

        async def vanish_behind(server, stream):
            self._process(stream)
            return await vanish_before(server, stream)

        async def cut(server, stream):
            self._process(stream)
            server.head(stream)
            server.send(f.data(stream.number, b"do"))
            return await reset_before(server, stream)

        return (("refused", REFUSED, refuse), ("GOAWAY", GOAWAY, go_away), ("graceful GOAWAY", GRACEFUL, graceful),
                ("reset before", RESET_BEFORE, reset_before), ("reset behind", RESET_BEHIND, reset_behind),
                ("vanished before", VANISHES_BEFORE, vanish_before), ("vanished behind", VANISHES_BEHIND, vanish_behind),
                ("cut answer", CUT, cut))

    # --- the clients' part
    async def _post_h1(self, t, gateway, path):
        wire = await t.client(gateway)
        try:
            wire.send(request_bytes("POST", path, body=BODY))
            response = await wire.response("POST", 30)
            return response.status
        except Fault:
            return None
        finally:
            t._wires.remove(wire)
            wire.close()

    async def _lane(self, t, gateway, clients, number, posts):
        for n in range(number, posts, LANES):
            path = f"/post/{n}"
            if self.client == "h1":
                self.answers[path] = await self._post_h1(t, gateway, path)
                continue
            stream = await clients[number % CONNECTIONS].ask("POST", path, body=BODY, seconds=30)
            self.answers[path] = stream.status if stream.ended else None
            del stream.peer.streams[stream.number]

    async def run(self, t, posts):
        """Figures; what must not be is in `wrong`."""
        upstream = await t.listening(H2Upstream(self.answer))
        gateway = await t.gateway("http://unused", upstreams={"u": upstream.setting()}, limits={"retryBackoffMs": 5})
        clients = [Client(await t.client(gateway)) for _ in range(CONNECTIONS)]
        begin = now()
        await asyncio.gather(*(self._lane(t, gateway, clients, number, posts) for number in range(LANES)))
        took = now() - begin
        await gateway.until(lambda: len(gateway.exchanges()) >= posts)
        self._judge(gateway)
        told = list(self.answers.values())
        fates = [line for line in gateway.exchanges() if line.get("fate") == "unknown"]
        return {"posts": posts, "seconds": round(took, 1), "2xx": sum(status == 200 for status in told),
                "5xx": sum(bool(status) and status >= 500 for status in told), "cut": told.count(None),
                "fate unknown": len(fates), "delivered": len(self.delivered),
                "refusals made good": sum(line.get("refusals", 0) for line in gateway.exchanges() if line["status"] == 200),
                "connections": len(upstream.servers), **self.did, "wrong": len(self.wrong)}

    def _judge(self, gateway):
        lines = {line["path"]: line for line in gateway.exchanges()}
        for path, status in self.answers.items():
            count, line = self.delivered.get(path, 0), lines.get(path)
            if line is None:
                self.wrong.append(f"{path}: no line in the log")
            elif count > 1:
                self.wrong.append(f"{path}: delivered {count} times, {line}")
            elif status is not None and status < 300 and count != 1:
                self.wrong.append(f"{path}: answered {status}, delivered {count} times, {line}")
            elif count == 1 and (status or 0) >= 500 and line.get("fate") != "unknown":
                self.wrong.append(f"{path}: delivered, answered {status}, and its fate is not said to be unknown: {line}")


async def play(arguments):
    t = Case(os.path.abspath(arguments.binary), None)
    storm = Storm(arguments.seed, arguments.client)
    try:
        figures = await storm.run(t, arguments.posts)
        print("".join(f"{name:20} {value:>8}\n" for name, value in figures.items()) + "\n".join(storm.wrong[:20]))
        if arguments.page:
            rows = ["| | |", "|---|--:|", *(f"| {name} | {value} |" for name, value in figures.items())]
            put(arguments.page, "storm", "\n".join(rows))
        await t.finish()
    finally:
        t.discard()
    return 1 if storm.wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--posts", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--page")
    parser.add_argument("--client", choices=("h1", "h2"), default="h2")
    return asyncio.run(play(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
