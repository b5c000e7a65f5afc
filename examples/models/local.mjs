// A local model server in the manner of Ollama: a line of JSON per word.
import { bodyOf, json } from '../lib/server.mjs';
import { count, model, think, whole } from './words.mjs';

async function chat(request, response) {
  const { model: name, stream = true } = JSON.parse(await bodyOf(request));
  const call = count(response);
  const line = (content, done) => ({ model: name, created_at: new Date().toISOString(), message: { role: 'assistant', content }, done });
  if (!stream) return json(response, 200, line(await whole(call), true));
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  for await (const word of think(call)) response.write(`${JSON.stringify(line(word, false))}\n`);
  return response.end(`${JSON.stringify(line('', true))}\n`);
}

model({
  'POST /api/chat': chat,
  'GET /api/tags': (request, response) => json(response, 200, { models: [{ name: 'stand-in:latest', size: 1 }] }),
});
