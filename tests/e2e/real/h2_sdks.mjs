// The SDKs of model APIs through a gateway: h2_sdks.mjs URL. Exits 0 if all was well.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

const url = process.argv[2];
const WORDS = 'One word at a time.';

function need(condition, text) {
  if (!condition) throw new Error(text);
}

async function openai() {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k', maxRetries: 0 });
  const stream = await client.chat.completions.create({ model: 'm', stream: true, messages: [{ role: 'user', content: 'x' }] });
  const pieces = [];
  for await (const chunk of stream) pieces.push(chunk.choices[0].delta.content || '');
  need(pieces.join('') === WORDS && pieces.length > 4, `openai got ${JSON.stringify(pieces)}`);
}

async function anthropic() {
  const client = new Anthropic({ baseURL: url, apiKey: 'k', maxRetries: 0 });
  const stream = client.messages.stream({ model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'x' }] });
  const pieces = [];
  stream.on('text', (text) => pieces.push(text));
  const message = await stream.finalMessage();
  need(pieces.join('') === WORDS && message.stop_reason === 'end_turn', `anthropic got ${JSON.stringify(pieces)}`);
}

for (let n = 0; n < 3; n += 1) await Promise.all([openai(), anthropic(), openai(), anthropic()]);
