// As much of RFC 6455 as the examples need, on Node's own modules: text messages, close, ping. Unfragmented.
import crypto from 'node:crypto';
import http from 'node:http';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const [TEXT, CLOSE, PING, PONG] = [1, 8, 9, 10];

function frame(opcode, payload, masked) {
  const long = payload.length > 65535, middle = !long && payload.length > 125;
  const head = Buffer.alloc(long ? 10 : middle ? 4 : 2);
  head[0] = 0x80 | opcode;
  head[1] = (masked ? 0x80 : 0) | (long ? 127 : middle ? 126 : payload.length);
  if (long) head.writeBigUInt64BE(BigInt(payload.length), 2);
  if (middle) head.writeUInt16BE(payload.length, 2);
  if (!masked) return Buffer.concat([head, payload]);
  const mask = crypto.randomBytes(4);
  return Buffer.concat([head, mask, payload.map((byte, at) => byte ^ mask[at % 4])]);
}

// The first frame in `data`, or nothing if it is not whole.
function first(data) {
  if (data.length < 2) return undefined;
  let length = data[1] & 0x7f, at = 2;
  if (length === 126 && (at = 4) && data.length >= 4) length = data.readUInt16BE(2);
  if (length === 127 && (at = 10) && data.length >= 10) length = Number(data.readBigUInt64BE(2));
  const mask = data[1] & 0x80 ? data.subarray(at, at + 4) : undefined;
  if (mask) at += 4;
  if (data.length < at + length) return undefined;
  const payload = data.subarray(at, at + length);
  return { opcode: data[0] & 15, size: at + length, payload: mask ? payload.map((byte, i) => byte ^ mask[i % 4]) : payload };
}

class Socket {
  constructor(socket, head, masked) {
    Object.assign(this, { socket, masked, buffer: head, onmessage: () => {}, onclose: () => {}, ended: false });
    socket.setNoDelay(true);
    socket.on('data', (data) => { this.buffer = Buffer.concat([this.buffer, data]); this.take(); });
    socket.on('error', () => {});
    socket.on('close', () => { if (!this.ended) { this.ended = true; this.onclose(1006); } });
    setImmediate(() => this.take());
  }
  send(text) { if (!this.ended) this.socket.write(frame(TEXT, Buffer.from(text), this.masked)); }
  close(code = 1000) {
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    this.socket.write(frame(CLOSE, payload, this.masked));
    if (!this.masked) this.socket.end();
  }
  take() {
    for (let got = first(this.buffer); got && !this.ended; got = first(this.buffer)) {
      this.buffer = this.buffer.subarray(got.size);
      if (got.opcode === TEXT) this.onmessage(got.payload.toString());
      else if (got.opcode === PING) this.socket.write(frame(PONG, got.payload, this.masked));
      else if (got.opcode === CLOSE) {
        this.ended = true;
        this.socket.end(frame(CLOSE, got.payload, this.masked));
        this.onclose(got.payload.length >= 2 ? got.payload.readUInt16BE(0) : 1005);
      }
    }
  }
}

// Takes WebSockets on an http.Server: `open(socket, url)`.
export function accept(server, open) {
  server.on('upgrade', (request, socket, head) => {
    const key = crypto.createHash('sha1').update(request.headers['sec-websocket-key'] + GUID).digest('base64');
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
      + `Sec-WebSocket-Accept: ${key}\r\n\r\n`);
    open(new Socket(socket, head, false), new URL(request.url, 'http://here'));
  });
}

// A client: resolves once the socket is open.
export function connect(address, protocol) {
  const url = new URL(address);
  return new Promise((done, fail) => {
    const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13',
      'sec-websocket-key': crypto.randomBytes(16).toString('base64') };
    if (protocol) headers['sec-websocket-protocol'] = protocol;
    const request = http.get({ host: url.hostname, port: url.port, path: url.pathname + url.search, headers });
    request.on('upgrade', (response, socket, head) => done(new Socket(socket, head, true)));
    request.on('response', (response) => fail(new Error(`WebSocket refused: ${response.statusCode}`)));
    request.on('error', fail);
  });
}
