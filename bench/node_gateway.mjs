// The gateway that people write: node's http, one agent that keeps connections alive, two pipes.
//
//   node node_gateway.mjs UPSTREAM_PORT KEEP_ALIVE(yes|no) [LOG_FILE]
//
// Prints port=N once it listens.
import fs from 'node:fs';
import http from 'node:http';

const [upstreamPort, keepAlive, logFile] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: keepAlive === 'yes', maxFreeSockets: 512 });
const log = logFile ? fs.createWriteStream(logFile, { flags: 'a' }) : null;

const hopByHop = ['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'te', 'trailer', 'upgrade'];

function withoutHopByHop(headers) {
  const kept = { ...headers };
  for (const name of hopByHop) delete kept[name];
  return kept;
}

const server = http.createServer((request, response) => {
  const begun = Date.now();
  const headers = withoutHopByHop(request.headers);
  headers['x-forwarded-for'] = request.socket.remoteAddress;
  const attempt = http.request(
    { host: '127.0.0.1', port: upstreamPort, method: request.method, path: request.url, headers, agent },
    (answer) => {
      response.writeHead(answer.statusCode, withoutHopByHop(answer.headers));
      answer.pipe(response);
    },
  );
  attempt.on('error', (error) => {
    if (response.headersSent) response.destroy(error);
    else response.writeHead(502).end();
  });
  response.on('close', () => {
    if (!response.writableFinished) attempt.destroy();
    log?.write(JSON.stringify({
      time: new Date(begun).toISOString(), method: request.method, path: request.url,
      status: response.statusCode, ms: Date.now() - begun,
    }) + '\n');
  });
  request.pipe(attempt);
});

server.keepAliveTimeout = 75_000;
server.requestTimeout = 0;
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => console.log(`port=${server.address().port}`));
process.on('SIGTERM', () => process.exit(0));
