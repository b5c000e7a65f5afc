// What the example promises, tried from outside: test.mjs URL
import { check, eventsOf, eventually, finish, need, same } from '../lib/check.mjs';

const base = process.argv[2] ?? 'http://127.0.0.1:8710';
const THINK_MS = Number(process.env.THINK_MS ?? 3000);
const TEXT = 'Silence is not an error.';
const post = (path, value, options) => fetch(base + path, { method: 'POST', body: JSON.stringify(value), headers: { 'content-type': 'application/json' }, ...options });
const counts = async (path) => (await fetch(`${base}${path}/counts`)).json();
const calls = () => Promise.all(['/v1', '/v1/messages', '/api'].map(async (path) => (await counts(path)).calls));
const before = await calls();
const ask = { model: 'stand-in', max_tokens: 9, messages: [{ role: 'user', content: 'Why?' }] };

const openai = async () => (await (await post('/v1/chat/completions', ask)).json()).choices[0].message.content;
const anthropic = async () => (await (await post('/v1/messages', ask)).json()).content[0].text;
const local = async () => (await (await post('/api/chat', { ...ask, stream: false })).json()).message.content;

// Events must come one by one, behind the silence.
async function told(pieces) {
  const begin = Date.now(), times = [];
  let text = '';
  for await (const piece of pieces) {
    times.push(Date.now() - begin);
    text += piece;
  }
  same(text, TEXT);
  need(times[0] >= THINK_MS - 50, `the first word came after ${times[0]} ms`);
  need(times.at(-1) - times[0] > 80, 'the words came together: something holds them back');
  return `first word after ${times[0]} ms, last after ${times.at(-1)} ms`;
}

async function* openaiWords(options) {
  const response = await post('/v1/chat/completions', { ...ask, stream: true }, options);
  for await (const { data } of eventsOf(response)) {
    if (data === '[DONE]') return;
    const { content } = JSON.parse(data).choices[0].delta;
    if (content) yield content;
  }
}

async function* anthropicWords() {
  for await (const { data } of eventsOf(await post('/v1/messages', { ...ask, stream: true }))) {
    const event = JSON.parse(data);
    if (event.type === 'content_block_delta') yield event.delta.text;
  }
}

async function* localWords() {
  let rest = '';
  for await (const part of (await post('/api/chat', ask)).body) {
    rest += Buffer.from(part).toString();
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
      const { message } = JSON.parse(rest.slice(0, end));
      rest = rest.slice(end + 1);
      if (message.content) yield message.content;
    }
  }
}

// At once: each waits for its model's silence.
await Promise.all([
  check('each path reaches its model', async () => {
    same(await Promise.all([openai(), anthropic(), local()]), [TEXT, TEXT, TEXT]);
    same([(await fetch(`${base}/v1/models`)).status, (await fetch(`${base}/api/tags`)).status], [200, 200]);
  }),
  check('openai: a stream, silent behind its head for longer than idleTimeoutMs', () => told(openaiWords())),
  check('anthropic: a stream, silent before its head', () => told(anthropicWords())),
  check('local: a stream of lines', () => told(localWords())),
]);

await check('an abort stops the model while it thinks', async () => {
  const { left } = await counts('/v1');
  const control = new AbortController();
  const response = await post('/v1/chat/completions', { ...ask, stream: true }, { signal: control.signal });
  same(response.status, 200, 'status');
  await new Promise((done) => { setTimeout(done, 300); });
  const begin = Date.now();
  control.abort();
  await eventually(async () => (await counts('/v1')).left > left, 'the model was told', 2000);
  return `told within ${Date.now() - begin} ms`;
});

await check('every call was made once', async () => {
  same((await calls()).map((n, at) => n - before[at]), [3, 2, 2], 'openai, anthropic, local');
});

finish();
