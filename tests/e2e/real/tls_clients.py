"""Python's HTTP clients over TLS: tls_clients.py WHICH URL AUTHORITY. Exits 0 if all was well, 3 without the package."""

import ssl
import sys
import urllib.request

BODY = b"b" * 1_000_000


def by_urllib(url, authority):
    context = ssl.create_default_context(cafile=authority)

    def ask(path, body=None):
        with urllib.request.urlopen(url + path, body, context=context) as response:
            return response.read()

    return ask


def by_requests(url, authority):
    import requests
    session = requests.Session()

    def ask(path, body=None):
        response = session.request("POST" if body else "GET", url + path, data=body, verify=authority)
        response.raise_for_status()
        return response.content

    return ask


def by_httpx(url, authority):
    import httpx
    client = httpx.Client(verify=authority)

    def ask(path, body=None):
        response = client.request("POST" if body else "GET", url + path, content=body)
        response.raise_for_status()
        return response.content

    return ask


def main():
    which, url, authority = sys.argv[1:]
    try:
        ask = {"urllib": by_urllib, "requests": by_requests, "httpx": by_httpx}[which](url, authority)
    except ImportError:
        return 3
    for _ in range(5):
        if ask("/a") != b"GET /a" or ask("/echo", BODY) != BODY:
            return "another answer"
    return 0 if ask("/stream") == b"data: first\n\ndata: last\n\n" else "the stream"


if __name__ == "__main__":
    sys.exit(main())
