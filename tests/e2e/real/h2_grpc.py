"""gRPC in Python: h2_grpc.py serve | h2_grpc.py call HOST:PORT [AUTHORITY]. `serve` prints its port; `call` exits 0 if all
was well. Messages are bytes; the service is echo.Echo, the same as in h2_grpc.js."""

import sys
import threading
import time
from concurrent import futures

import grpc

SERVICE = "echo.Echo"
cancelled = 0


class Service(grpc.GenericRpcHandler):
    def service(self, call):
        name = call.method.rsplit("/", 1)[1]
        made = {"Unary": grpc.unary_unary_rpc_method_handler(self.unary), "Fails": grpc.unary_unary_rpc_method_handler(self.fails),
                "Slow": grpc.unary_unary_rpc_method_handler(self.slow),
                "Cancelled": grpc.unary_unary_rpc_method_handler(lambda _, __: b"%d" % cancelled),
                "Server": grpc.unary_stream_rpc_method_handler(self.server),
                "Client": grpc.stream_unary_rpc_method_handler(self.client),
                "Bidi": grpc.stream_stream_rpc_method_handler(self.bidi)}
        return made.get(name) if call.method.startswith(f"/{SERVICE}/") else None

    def unary(self, request, context):
        sent = dict(context.invocation_metadata())
        context.send_initial_metadata((("x-initial", sent.get("x-sent", "")),))
        context.set_trailing_metadata((("x-trailing", "end"), ("x-bytes-bin", b"\0\xff")))
        return request

    def fails(self, request, context):
        context.abort(grpc.StatusCode.NOT_FOUND, "nichts gefunden: ü%")

    def slow(self, request, context):
        gone = threading.Event()
        context.add_callback(gone.set)
        if gone.wait(20) and not context.is_active():
            global cancelled
            cancelled += 1
        return b"late"

    def server(self, request, context):
        for n in range(int(request)):
            yield b"message %d" % n
            time.sleep(0.02)

    def client(self, requests, context):
        return b"%d" % sum(len(request) for request in requests)

    def bidi(self, requests, context):
        for request in requests:
            yield request[::-1]


def serve():
    server = grpc.server(futures.ThreadPoolExecutor(64), handlers=[Service()])
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    server.wait_for_termination()


def need(condition, text):
    if not condition:
        raise AssertionError(text)


def code_of(call):
    try:
        call()
    except grpc.RpcError as error:
        return error.code(), error.details()
    return grpc.StatusCode.OK, ""


def call(channel):
    unary = channel.unary_unary(f"/{SERVICE}/Unary")
    for size in (0, 1, 100_000, 3_000_000):
        need(unary(b"u" * size, timeout=30) == b"u" * size, f"another message of {size} bytes")
    answer, about = unary.with_call(b"x", metadata=(("x-sent", "there"),), timeout=30)
    need(dict(about.initial_metadata()).get("x-initial") == "there", f"{about.initial_metadata()}")
    need(dict(about.trailing_metadata()).get("x-bytes-bin") == b"\0\xff", f"{about.trailing_metadata()}")
    got = list(channel.unary_stream(f"/{SERVICE}/Server")(b"20", timeout=30))
    need(got == [b"message %d" % n for n in range(20)], f"{got}")
    sent = channel.stream_unary(f"/{SERVICE}/Client")(iter([b"a" * 100_000] * 20), timeout=30)
    need(sent == b"2000000", f"{sent}")

    said = []

    def questions():  # each only once the one before is answered
        for n in range(20):
            yield b"question %d" % n
            limit = time.monotonic() + 10
            while len(said) <= n and time.monotonic() < limit:
                time.sleep(0.002)

    for answer in channel.stream_stream(f"/{SERVICE}/Bidi")(questions(), timeout=30):
        said.append(answer)
    need(said == [(b"question %d" % n)[::-1] for n in range(20)], f"{said}")
    need(code_of(lambda: channel.unary_unary(f"/{SERVICE}/Fails")(b"x", timeout=30)) ==
         (grpc.StatusCode.NOT_FOUND, "nichts gefunden: ü%"), "an error of trailers only")
    need(code_of(lambda: channel.unary_unary(f"/{SERVICE}/None")(b"x", timeout=30))[0] == grpc.StatusCode.UNIMPLEMENTED, "None")
    slow = channel.unary_unary(f"/{SERVICE}/Slow")
    need(code_of(lambda: slow(b"x", timeout=0.5))[0] == grpc.StatusCode.DEADLINE_EXCEEDED, "a deadline")
    going = slow.future(b"x", timeout=30)
    time.sleep(0.3)
    going.cancel()
    with futures.ThreadPoolExecutor(40) as pool:
        need(all(pool.map(lambda n: unary(b"%d" % n, timeout=30) == b"%d" % n, range(200))), "many at a time")
    limit = time.monotonic() + 10
    while (count := channel.unary_unary(f"/{SERVICE}/Cancelled")(b"", timeout=30)) != b"2":
        need(time.monotonic() < limit, f"{count} of 2 calls were cancelled there")
        time.sleep(0.1)


def unavailable(channel):
    code = code_of(lambda: channel.unary_unary(f"/{SERVICE}/Unary")(b"x", timeout=20))
    need(code[0] == grpc.StatusCode.UNAVAILABLE, f"{code}")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    with grpc.insecure_channel(sys.argv[2]) as opened:
        {"call": call, "unavailable": unavailable}[sys.argv[1]](opened)
