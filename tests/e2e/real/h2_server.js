// A server on Node's http2 module: h2_server.js [CERTIFICATE KEY], with TLS if there is a certificate. Prints its port.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const http2 = require('http2');
const frames = require('./frames.js');
const [cert, key] = process.argv.slice(2, 4).map((path) => fs.readFileSync(path));
const seen = new Map();
let aborted = 0;
let sessions = 0;

function events(response, list, pause) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let at = 0;
  const timer = setInterval(() => {
    if (at < list.length) response.write(list[at]);
    else { clearInterval(timer); response.end(); }
    at += 1;
  }, pause);
  response.on('close', () => { clearInterval(timer); if (at < list.length) aborted += 1; });
}

const WORDS = ['One ', 'word ', 'at ', 'a ', 'time.'];
const chunk = (delta, reason) => `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm',
  choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
const event = (type, fields) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null,
  stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } };

function answer(request, response, body) {
  const path = request.url.split('?')[0];
  if (path === '/counts') {
    const many = [...seen].filter(([, count]) => count !== 1);
    response.setHeader('content-type', 'application/json');
    return response.end(JSON.stringify({ distinct: seen.size, many, aborted, sessions }));
  }
  if (path.startsWith('/once/')) seen.set(path, (seen.get(path) || 0) + 1);
  if (path === '/echo') return response.end(body);
  if (path === '/hash') return response.end(crypto.createHash('sha256').update(body).digest('hex'));
  if (path === '/big') return response.end(Buffer.alloc(20_000_000, 'b'));
  if (path === '/trailers') {
    response.addTrailers({ 'x-sum': String(body.length), 'x-got': JSON.stringify(request.trailers) });
    return response.end('with trailers');
  }
  if (path === '/think') {
    const timer = setTimeout(() => response.end('thought'), 3000);
    response.on('close', () => { if (!response.writableEnded) { aborted += 1; clearTimeout(timer); } });
    return undefined;
  }
  if (path === '/stream') return events(response, ['data: first\n\n', 'data: second\n\n', 'data: last\n\n'], 700);
  if (path === '/endless') return events(response, new Array(10_000).fill('data: more\n\n'), 20);
  if (path === '/v1/chat/completions') {
    return events(response, [...WORDS.map((content) => chunk({ content }, null)), chunk({}, 'stop'), 'data: [DONE]\n\n'], 40);
  }
  if (path === '/v1/messages') {
    return events(response, [event('message_start', { message }),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      ...WORDS.map((text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
      event('content_block_stop', { index: 0 }),
      event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } }),
      event('message_stop', {})], 40);
  }
  return response.end(`${request.method} ${path} ${body.length}`);
}

function serve(request, response) {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => answer(request, response, Buffer.concat(parts)));
  request.on('error', () => {});
  response.on('error', () => {});
}

const options = { cert, key, settings: { enableConnectProtocol: true }, maxSessionMemory: 1000 };
const server = (cert ? http2.createSecureServer : http2.createServer)(options, serve);
server.on('connect', () => {}); // else they are answered 405

// WebSocket in a stream (RFC 8441): echoes frames, answers close.
server.on('stream', (stream, headers) => {
  if (headers[':method'] !== 'CONNECT') return;
  stream.on('error', () => {});
  if (headers[':protocol'] !== 'websocket') { stream.respond({ ':status': 400 }, { endStream: true }); return; }
  stream.respond({ ':status': 200 });
  let buffer = Buffer.alloc(0);
  stream.on('data', (data) => {
    buffer = Buffer.concat([buffer, data]);
    for (let frame = frames.parse(buffer); frame; frame = frames.parse(buffer)) {
      buffer = buffer.subarray(frame.size);
      stream.write(frames.build(frame.opcode === 9 ? 10 : frame.opcode, frame.payload, false));
      if (frame.opcode === 8) stream.end();
    }
  });
});
server.on('session', () => { sessions += 1; });
server.on('sessionError', () => {});
server.listen(0, '127.0.0.1', 4096, () => console.log(server.address().port));
