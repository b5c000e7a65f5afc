"""Notes: listed, written by form, uploaded as files. Python's own server, nothing else."""

import hashlib
import html
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

notes = []


class Notes(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 2  # seconds after which it closes a connection on which nothing comes, without a word

    def do_GET(self):
        path = urlsplit(self.path).path
        if path == "/notes":
            link = f"http://{self.headers['Host']}/notes"
            lines = "".join(f"<li>{html.escape(note)}" for note in notes)
            self.answer(200, "text/html; charset=utf-8", f"<title>Notes</title><a href='{link}'>Notes</a><ul>{lines}</ul>")
        elif path == "/notes/all":
            self.answer(200, "application/json", json.dumps(notes))
        elif path == "/notes/who":
            seen = {name: self.headers.get(name) for name in ("Host", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto")}
            self.answer(200, "application/json", json.dumps(seen))
        else:
            self.answer(404, "text/plain", "no such page\n")

    do_HEAD = do_GET

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/notes":
            notes.append(parse_qs(body.decode())["text"][0])
            self.answer(303, "text/plain", "", Location="/notes")
        else:
            self.answer(404, "text/plain", "no such page\n")

    def do_PUT(self):
        """An upload: its length and hash. Chunked ones have no length: Python leaves reading them to us."""
        digest, size = hashlib.sha256(), 0
        for piece in self.chunks() if "chunked" in self.headers.get("Transfer-Encoding", "") else self.whole():
            digest.update(piece)
            size += len(piece)
        self.answer(200, "application/json", json.dumps({"bytes": size, "sha256": digest.hexdigest()}))

    def whole(self):
        left = int(self.headers.get("Content-Length", 0))
        while left:
            piece = self.rfile.read(min(left, 65536))
            if not piece:
                raise ConnectionError("cut")
            left -= len(piece)
            yield piece

    def chunks(self):
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass

    def answer(self, status, kind, text, **fields):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        """hushgate has the access log."""


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # hushgate ends idle connections with a reset
            super().handle_error(request, client_address)


if __name__ == "__main__":
    Server(("127.0.0.1", int(os.environ["PORT"])), Notes).serve_forever()
