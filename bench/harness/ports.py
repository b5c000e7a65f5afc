"""Ports for those who cannot ask the kernel for one.

They lie outside the range of which the kernel takes ports for connections, since a load makes tens of thousands of those.
"""

import random
import socket

_given = set()


def free_port():
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        first, last = map(int, file.read().split())
    candidates = [port for port in range(10000, 65536) if not first <= port <= last and port not in _given]
    for port in random.sample(candidates, min(len(candidates), 200)) or [0]:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            port = probe.getsockname()[1]
            _given.add(port)
            return port
    raise SystemExit("bench: no free port")


def accepts(port, seconds=1.0):
    """Whether somebody listens there."""
    try:
        with socket.create_connection(("127.0.0.1", port), seconds):
            return True
    except OSError:
        return False


def answers(port, path="/90", seconds=1.0):
    """Whether a GET there is answered with 200."""
    try:
        with socket.create_connection(("127.0.0.1", port), seconds) as connection:
            connection.settimeout(seconds)
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: bench.test\r\nConnection: close\r\n\r\n".encode())
            start = b""
            while len(start) < 12:
                piece = connection.recv(4096)
                if not piece:
                    return False
                start += piece
            return start[9:12] == b"200"
    except OSError:
        return False


def ask(port, path):
    """The body of a small answer."""
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: bench.test\r\nConnection: close\r\n\r\n".encode())
        whole = b""
        while piece := connection.recv(65536):
            whole += piece
    return whole.split(b"\r\n\r\n", 1)[1].decode()
