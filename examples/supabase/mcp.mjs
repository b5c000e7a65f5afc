// A tool server that says "keep-alive" and closes its connection right behind each POST all the same. A proxy that
// takes that connection from its pool sends the next request into the void; one that then repeats it calls a tool twice.
import { bodyOf, json, serve } from '../lib/server.mjs';

let calls = 0;
const methods = {
  initialize: () => ({ protocolVersion: '2025-03-26', capabilities: { tools: {} }, serverInfo: { name: 'counter', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'count', description: 'Counts its calls', inputSchema: { type: 'object' } }] }),
  'tools/call': () => ({ content: [{ type: 'text', text: String(++calls) }] }),
};

serve(async (request, response) => {
  if (request.method === 'GET') return json(response, 200, { calls });
  if (request.method !== 'POST') return json(response, 405, { message: request.method });
  const { id, method } = JSON.parse(await bodyOf(request));
  response.on('finish', () => setImmediate(() => request.socket.destroySoon()));
  if (id === undefined) return response.writeHead(202, { connection: 'keep-alive' }).end(); // a notification
  const result = methods[method]?.();
  const body = result ? { result } : { error: { code: -32601, message: 'Method not found' } };
  return json(response, 200, { jsonrpc: '2.0', id, ...body }, { connection: 'keep-alive' });
});
