"""Heads of requests and responses, as strict as a case needs them to be."""

import re


class Fault(AssertionError):
    """What a case found wrong."""


class Ended(Fault):
    """The peer ended before what was expected of it was whole."""


def check(condition, text):
    if not condition:
        raise Fault(text)


class Message:
    def __init__(self, fields, raw):
        self.fields = fields
        self.raw = raw
        self.body = b""
        self.trailers = []
        self.interim = []

    def all(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def get(self, name):
        """The value of a field that may stand once; None without it."""
        values = self.all(name)
        check(len(values) <= 1, f"{name} stands {len(values)} times: {self.raw!r}")
        return values[0] if values else None

    def listed(self, name):
        """The members of a list field, in small letters."""
        return [part.strip().lower() for value in self.all(name) for part in value.split(",") if part.strip()]

    def _length(self):
        if "chunked" in self.listed("Transfer-Encoding"):
            check(not self.all("Content-Length"), f"two framings: {self.raw!r}")
            return "chunked", 0
        length = self.get("Content-Length")
        return ("length", int(length)) if length is not None else None


class Request(Message):
    def __init__(self, method, target, version, fields, raw):
        super().__init__(fields, raw)
        self.method, self.target, self.version = method, target, version

    def framing(self):
        return self._length() or ("none", 0)

    def __repr__(self):
        return f"<{self.method} {self.target} {self.fields} {self.body[:60]!r}>"


class Response(Message):
    def __init__(self, status, version, fields, raw):
        super().__init__(fields, raw)
        self.status, self.version = status, version

    def framing(self, method):
        if method == "HEAD" or self.status in (101, 204, 304) or self.status < 200:
            return "none", 0
        return self._length() or ("eof", 0)

    def __repr__(self):
        return f"<{self.status} {self.fields} {self.body[:60]!r}>"


def _lines(raw):
    lines = raw.decode("latin1").split("\r\n")
    fields = []
    for line in lines[1:]:
        if line:
            name, colon, value = line.partition(":")
            check(colon and name == name.strip(), f"no field line: {line!r}")
            fields.append((name, value.strip()))
    return lines[0], fields


def parse_request_head(raw):
    line, fields = _lines(raw)
    parts = line.split(" ")
    check(len(parts) == 3, f"no request line: {line!r}")
    return Request(parts[0], parts[1], parts[2], fields, raw)


def parse_response_head(raw):
    line, fields = _lines(raw)
    parts = line.split(" ", 2)
    check(len(parts) >= 2 and parts[0].startswith("HTTP/1.") and len(parts[1]) == 3, f"no status line: {line!r}")
    return Response(int(parts[1]), parts[0], fields, raw)


def request_bytes(method="GET", target="/", fields=(), body=None, chunked=False, host="localhost", version="1.1"):
    lines = [f"{method} {target} HTTP/{version}"]
    if host is not None:
        lines.append(f"Host: {host}")
    lines += [f"{name}: {value}" for name, value in fields]
    if chunked:
        lines.append("Transfer-Encoding: chunked")
    elif body is not None:
        lines.append(f"Content-Length: {len(body)}")
    head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin1")
    if body is None:
        return head
    return head + (chunk_bytes(body) + LAST_CHUNK if chunked else body)


LAST_CHUNK = b"0\r\n\r\n"


def has_last_chunk(data):
    """As a line of its own: a field in front of a body may end in a zero too."""
    return re.search(rb"(?:^|\r\n)0+\r\n\r\n", bytes(data)) is not None


def chunk_bytes(payload):
    return b"%x\r\n%s\r\n" % (len(payload), payload)


def response_bytes(body=b"ok", status="200 OK", fields=()):
    lines = [f"HTTP/1.1 {status}"] + [f"{name}: {value}" for name, value in fields] + [f"Content-Length: {len(body)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin1") + body


CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
