"""HPACK (RFC 7541): literals to send, which need no state, and a decoder for what a peer's encoder makes."""

from support import Fault, check

STATIC = [tuple((entry + " ").split(" ", 1)) for entry in (
    ":authority|:method GET|:method POST|:path /|:path /index.html|:scheme http|:scheme https|:status 200|:status "
    "204|:status 206|:status 304|:status 400|:status 404|:status 500|accept-charset|accept-encoding gzip, deflate|acc"
    "ept-language|accept-ranges|accept|access-control-allow-origin|age|allow|authorization|cache-control|content-disp"
    "osition|content-encoding|content-language|content-length|content-location|content-range|content-type|cookie|date"
    "|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since|last-modifi"
    "ed|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|server|se"
    "t-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate").split("|")]
STATIC = [(name, value.rstrip()) for name, value in STATIC]
TABLE_BYTES = 4096  # SETTINGS_HEADER_TABLE_SIZE, unless this side says otherwise
ENTRY_BYTES = 32

# Appendix B as the code's lengths, 64 added, of each byte and the end of string: it is canonical.
LENGTHS = (
    r"MW\\\\\\\X^\\^\\\\\\\\^\\\\\\\\\FJJLMFHKJJHKHFFFEEEFFFFFFFGHOFLJMFGGGGGGGGGGGGGGGGGGGGGGHGHMSMNFOEFE"
    r"FEFFFEGGFFFEFGFEEFGGGGGOKNM\TVTTVVVWVWWWWWXWXXVWXWWWWUVWVWWXVUTVVWWUWVVXUVWWUUVUWVWWTVVVWVVWZZTSVWVY"
    r"ZZZ[[ZXYSUZ[[Z[XUUZZ\[[[TXTUVUUWVVYYXXZWZ[ZZ[[[[[\[[[[[Z^")
END_OF_STRING = 256


def _codes():
    """{(length, code): byte}"""
    codes, code, before = {}, 0, 0
    for symbol in sorted(range(257), key=lambda symbol: (LENGTHS[symbol], symbol)):
        length = ord(LENGTHS[symbol]) - 64
        code <<= length - before
        before = length
        codes[length, code] = symbol
        code += 1
    return codes


CODES = _codes()


def integer(value, bits, first=0):
    """`first`: what stands in the bits above the prefix."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    out = [first | most]
    value -= most
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def as_bytes(text):
    return text if isinstance(text, bytes) else text.encode("latin1")


def literal(name, value, kind=0x00):
    """A field with a literal name. `kind`: 0x00 is not indexed, 0x40 indexed, 0x10 never indexed."""
    name, value = as_bytes(name), as_bytes(value)
    return bytes([kind]) + integer(len(name), 7) + name + integer(len(value), 7) + value


def indexed(index):
    return integer(index, 7, 0x80)


def table_size(size):
    return integer(size, 5, 0x20)


def block(fields):
    return b"".join(literal(name, value) for name, value in fields)


def _huffman(data):
    out, code, length = bytearray(), 0, 0
    for byte in data:
        for shift in range(7, -1, -1):
            code, length = code << 1 | byte >> shift & 1, length + 1
            symbol = CODES.get((length, code))
            if symbol is not None:
                check(symbol != END_OF_STRING, "HPACK: the end of string within a string")
                out.append(symbol)
                code = length = 0
    check(length < 8 and code == (1 << length) - 1, "HPACK: padding that is none")
    return bytes(out)


class Decoder:
    """Fails where a block is not as the RFC has it."""

    def __init__(self, most=TABLE_BYTES):
        self.most = most  # what this side allows
        self._bound = most
        self._dynamic = []  # newest first
        self._known = {}  # Huffman strings seen before

    def decode(self, data):
        """[(name, value)]"""
        self._data, self._at = data, 0
        fields = []
        while self._at < len(data):
            first = data[self._at]
            if first & 0x80:
                fields.append(self._entry(self._integer(7)))
            elif first & 0xe0 == 0x20:
                check(not fields, "HPACK: a change of the table's size behind a field")
                self._bound = self._integer(5)
                check(self._bound <= self.most, f"HPACK: a table of {self._bound} bytes")
                self._evict()
            else:
                keeps = first & 0xc0 == 0x40
                index = self._integer(6 if keeps else 4)
                name = self._entry(index)[0] if index else self._string()
                fields.append((name, self._string()))
                if keeps:
                    self._dynamic.insert(0, fields[-1])
                    self._evict()
        return fields

    def _evict(self):
        while sum(len(name) + len(value) + ENTRY_BYTES for name, value in self._dynamic) > self._bound:
            self._dynamic.pop()

    def _entry(self, index):
        check(0 < index <= len(STATIC) + len(self._dynamic), f"HPACK: no entry {index}")
        return STATIC[index - 1] if index <= len(STATIC) else self._dynamic[index - 1 - len(STATIC)]

    def _byte(self):
        if self._at >= len(self._data):
            raise Fault("HPACK: the block was cut")
        self._at += 1
        return self._data[self._at - 1]

    def _integer(self, bits):
        most = (1 << bits) - 1
        value = self._byte() & most
        if value == most:
            shift = 0
            while True:
                byte = self._byte()
                value += (byte & 127) << shift
                shift += 7
                if not byte & 128:
                    break
        return value

    def _string(self):
        coded = bool(self._at < len(self._data) and self._data[self._at] & 0x80)
        length = self._integer(7)
        check(self._at + length <= len(self._data), "HPACK: the block was cut")
        data = bytes(self._data[self._at:self._at + length])
        self._at += length
        if coded:
            if data not in self._known:
                if len(self._known) > 4096:
                    self._known.clear()
                self._known[data] = _huffman(data)
            data = self._known[data]
        return data.decode("latin1")
