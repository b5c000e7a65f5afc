// A server on Node's http module: server.js [KEEP_ALIVE_MS [CERTIFICATE KEY]], with TLS if there is a certificate.
// Prints its port. Counts what is delivered to it.
'use strict';
const fs = require('fs');
const http = require('http');
const https = require('https');
const crypto = require('crypto');
const keepAlive = Number(process.argv[2] || 5000);
const [cert, key] = process.argv.slice(3, 5).map((path) => fs.readFileSync(path));
const seen = new Map();
let aborted = 0;

function answer(request, response, body) {
  const path = request.url.split('?')[0];
  if (path === '/counts') {
    const many = [...seen].filter(([, count]) => count !== 1);
    response.setHeader('content-type', 'application/json');
    return response.end(JSON.stringify({ distinct: seen.size, many, aborted }));
  }
  if (path.startsWith('/once/')) seen.set(path, (seen.get(path) || 0) + 1);
  if (path === '/echo') return response.end(body);
  if (path === '/hash') return response.end(crypto.createHash('sha256').update(body).digest('hex'));
  if (path === '/big') return response.end(Buffer.alloc(20_000_000, 'b'));
  if (path === '/think') {
    const timer = setTimeout(() => response.end('thought'), 3000);
    response.on('close', () => { if (!response.writableEnded) { aborted += 1; clearTimeout(timer); } });
    return undefined;
  }
  if (path === '/stream') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: first\n\n');
    setTimeout(() => response.end('data: last\n\n'), 3000);
    return undefined;
  }
  return response.end(`${request.method} ${path}`);
}

function serve(request, response) {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => answer(request, response, Buffer.concat(parts)));
  request.on('error', () => {});
}

const options = { keepAliveTimeout: keepAlive, requestTimeout: 0, cert, key };
const server = (cert ? https : http).createServer(options, serve);

// WebSocket (RFC 6455) with nothing but Node: echoes frames, answers ping and close.
server.on('upgrade', (request, socket, head) => {
  const key = request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
  const accept = crypto.createHash('sha1').update(key).digest('base64');
  socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
    `Sec-WebSocket-Accept: ${accept}\r\n\r\n`);
  let buffer = head;
  const take = (data) => {
    buffer = Buffer.concat([buffer, data]);
    for (;;) {
      const frame = require('./frames.js').parse(buffer);
      if (!frame) return;
      buffer = buffer.subarray(frame.size);
      socket.write(require('./frames.js').build(frame.opcode === 9 ? 10 : frame.opcode, frame.payload, false));
      if (frame.opcode === 8) socket.end();
    }
  };
  socket.on('data', take);
  socket.on('error', () => {});
  take(Buffer.alloc(0));
});

server.listen(0, '127.0.0.1', 4096, () => console.log(server.address().port));
