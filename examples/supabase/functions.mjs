// Functions: one that answers at once, one that thinks before it does, one that streams and pauses, one that fails.
import { after, bodyOf, json, serve } from '../lib/server.mjs';

const PAUSE_MS = 1500;
const functions = {
  async hello(request, response) {
    const { name = 'nobody' } = JSON.parse((await bodyOf(request)).toString() || '{}');
    json(response, 200, { message: `Hello ${name}!` });
  },
  async slow(request, response) {
    await bodyOf(request);
    await after(PAUSE_MS);
    json(response, 200, { waited: PAUSE_MS });
  },
  async stream(request, response) {
    await bodyOf(request);
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    for (const word of ['one', 'two', 'three']) {
      response.write(`data: ${word}\n\n`);
      await after(PAUSE_MS / 3);
    }
    response.end('event: done\ndata: \n\n');
  },
  async broken(request, response) {
    await bodyOf(request);
    json(response, 500, { message: 'this one always fails' });
  },
};

serve((request, response, url) => {
  const run = functions[url.pathname.replace('/functions/v1/', '')];
  return run ? run(request, response) : json(response, 404, { message: 'Function not found' });
});
