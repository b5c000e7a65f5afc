// Messages as Anthropic's API serves them: whole, or as events with a thinking block. Even the head of a stream comes
// only behind the silence.
import crypto from 'node:crypto';
import { bodyOf, json } from '../lib/server.mjs';
import { count, model, think, whole } from './words.mjs';

const message = (name, content) => ({ id: `msg_${crypto.randomUUID()}`, type: 'message', role: 'assistant', model: name, content,
  stop_reason: content.length ? 'end_turn' : null, stop_sequence: null, usage: { input_tokens: 3, output_tokens: 5 } });

async function messages(request, response) {
  const { model: name, stream } = JSON.parse(await bodyOf(request));
  const call = count(response);
  if (!stream) return json(response, 200, message(name, [{ type: 'text', text: await whole(call) }]));
  const event = (type, rest) => {
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`);
  };
  let begun = false;
  for await (const text of think(call)) {
    if (!begun) {
      event('message_start', { message: message(name, []) });
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
      begun = true;
    }
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });
  }
  event('content_block_stop', { index: 0 });
  event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } });
  event('message_stop', {});
  return response.end();
}

model({ 'POST /v1/messages': messages });
