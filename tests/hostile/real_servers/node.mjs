// Node's http server, in Node or in Deno: node.mjs PORT IDLE_MS. A Connection field of its own keeps it from saying Keep-Alive: timeout=N.
import http from 'node:http';
import process from 'node:process';
import { answer, HOLD_MS } from './tally.mjs';

const [port, idle, told] = process.argv.slice(2);
const server = http.createServer({ keepAliveTimeout: Number(idle), keepAliveTimeoutBuffer: 0 }, (request, response) => {
  request.resume();
  request.on('end', () => {
    const { body, hold } = answer(request.method, request.url);
    if (told !== 'told') response.setHeader('connection', request.headers.connection === 'close' ? 'close' : 'keep-alive');
    setTimeout(() => response.end(body), hold ? HOLD_MS : 0);
  });
});
server.listen(Number(port), '127.0.0.1', 1024);
