// Chat completions as OpenAI's API serves them: whole, or as events. The head of a stream comes at once, then silence.
import crypto from 'node:crypto';
import { bodyOf, json } from '../lib/server.mjs';
import { count, model, think, whole } from './words.mjs';

async function completions(request, response) {
  const { model: name, stream, stream_options: options } = JSON.parse(await bodyOf(request));
  const call = count(response);
  const same = { id: `chatcmpl-${crypto.randomUUID()}`, created: Math.floor(Date.now() / 1000), model: name };
  const usage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 };
  if (!stream) {
    const content = await whole(call);
    return json(response, 200, { ...same, object: 'chat.completion', usage,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] });
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  const event = (rest) => response.write(`data: ${JSON.stringify({ ...same, object: 'chat.completion.chunk', ...rest })}\n\n`);
  for await (const content of think(call)) event({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
  event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  if (options?.include_usage) event({ choices: [], usage });
  return response.end('data: [DONE]\n\n');
}

model({
  'POST /v1/chat/completions': completions,
  'GET /v1/models': (request, response) => json(response, 200, { object: 'list',
    data: [{ id: 'stand-in', object: 'model', created: 1, owned_by: 'example' }] }),
});
