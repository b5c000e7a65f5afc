// As much of RFC 6455 as the examples need, on Node's own modules: messages of text (strings) and of bytes (Buffers), in
// one frame or several, close, ping.
import crypto from 'node:crypto';
import http from 'node:http';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const [MORE, TEXT, BYTES, CLOSE, PING, PONG] = [0, 1, 2, 8, 9, 10];

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
  const short = data[1] & 0x7f;
  let at = short === 127 ? 10 : short === 126 ? 4 : 2;
  if (data.length < at) return undefined;
  const length = short === 127 ? Number(data.readBigUInt64BE(2)) : short === 126 ? data.readUInt16BE(2) : short;
  const mask = data[1] & 0x80 ? data.subarray(at, at + 4) : undefined;
  if (mask) at += 4;
  if (data.length < at + length) return undefined;
  const payload = data.subarray(at, at + length);
  return { last: data[0] >= 0x80, opcode: data[0] & 15, size: at + length, payload: mask ? payload.map((byte, i) => byte ^ mask[i % 4]) : payload };
}

class Socket {
  constructor(socket, head, masked) {
    Object.assign(this, { socket, masked, buffer: head, parts: [], onmessage: () => {}, onclose: () => {}, ended: false });
    socket.setNoDelay(true);
    socket.on('data', (data) => { this.buffer = Buffer.concat([this.buffer, data]); this.take(); });
    socket.on('error', () => {});
    socket.on('close', () => { if (!this.ended) { this.ended = true; this.onclose(1006); } });
    setImmediate(() => this.take());
  }
  send(message) {
    const opcode = typeof message === 'string' ? TEXT : BYTES;
    if (!this.ended) this.socket.write(frame(opcode, Buffer.from(message), this.masked));
  }
  close(code = 1000) {
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    this.socket.write(frame(CLOSE, payload, this.masked));
    if (!this.masked) this.socket.end();
  }
  piece({ opcode, payload, last }) {
    if (opcode !== MORE) this.text = opcode === TEXT;
    this.parts.push(payload);
    if (!last) return;
    const message = Buffer.concat(this.parts.splice(0));
    this.onmessage(this.text ? message.toString() : message);
  }
  take() {
    for (let got = first(this.buffer); got && !this.ended; got = first(this.buffer)) {
      this.buffer = this.buffer.subarray(got.size);
      if ([MORE, TEXT, BYTES].includes(got.opcode)) this.piece(got);
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
