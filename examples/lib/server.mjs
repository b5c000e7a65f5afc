// A small HTTP server on Node's own module: handlers by "METHOD /path", answers in JSON.
import http from 'node:http';

export async function bodyOf(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
}

export function json(response, status, value, headers = {}) {
  const body = JSON.stringify(value);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers });
  response.end(body);
}

// `answer(request, response, url)` may throw: that is a 500. Listens on $PORT of the loopback.
export function serve(answer, options = {}) {
  const server = http.createServer(options, async (request, response) => {
    try {
      await answer(request, response, new URL(request.url, 'http://here'));
    } catch (fault) {
      if (request.destroyed && !request.complete) return; // the client left while it sent
      console.error(fault);
      if (!response.headersSent) json(response, 500, { message: String(fault) });
      else response.destroy();
    }
  });
  server.listen(Number(process.env.PORT), '127.0.0.1');
  return server;
}

export const after = (ms) => new Promise((done) => { setTimeout(done, ms); });
