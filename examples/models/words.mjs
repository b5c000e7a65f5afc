// What the models say, at which speed, and how often they were asked: shared by the three servers.
import { after, json, serve } from '../lib/server.mjs';

export const THINK_MS = Number(process.env.THINK_MS ?? 3000);
const WORD_MS = 40;
const WORDS = ['Silence ', 'is ', 'not ', 'an ', 'error.'];
const counts = { calls: 0, finished: 0, left: 0 };

// A server whose `routes` are handlers by "METHOD /path"; "GET .../counts" tells what came of the calls.
export function model(routes) {
  serve((request, response, url) => {
    if (request.method === 'GET' && url.pathname.endsWith('/counts')) return json(response, 200, counts);
    const route = routes[`${request.method} ${url.pathname}`];
    return route ? route(request, response) : json(response, 404, { error: { type: 'not_found', message: url.pathname } });
  });
}

// Counts a call: finished, or its client left, which is when a real one would stop its GPU.
export function count(response) {
  counts.calls += 1;
  const call = { left: false };
  response.on('close', () => {
    call.left = !response.writableFinished;
    counts[call.left ? 'left' : 'finished'] += 1;
  });
  return call;
}

// The words, one by one, behind the thinking; fewer if the client leaves.
export async function* think(call) {
  for (let waited = 0; waited < THINK_MS && !call.left; waited += 20) await after(20);
  for (const word of WORDS) {
    if (call.left) return;
    yield word;
    await after(WORD_MS);
  }
}

export async function whole(call) {
  let text = '';
  for await (const word of think(call)) text += word;
  return text;
}
