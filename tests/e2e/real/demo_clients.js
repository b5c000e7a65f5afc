// The SDKs of OpenAI and Anthropic and the package ws against `hushgate demo`: demo_clients.js URL MODULES
// The packages are loaded from MODULES. A line per check, ok or FAIL; exits with 1 if one failed.
'use strict';
const path = require('path');

const [base, modules] = process.argv.slice(2);
const load = require('module').createRequire(path.join(path.resolve(modules), 'x.js'));
const OpenAI = load('openai').OpenAI;
const Anthropic = load('@anthropic-ai/sdk').Anthropic;
const WebSocket = load('ws');

const TEXT = 'Silence is not failure: somebody was thinking, and nobody hung up.';
const ASK = {model: 'm', messages: [{role: 'user', content: 'one two'}]};

function check(what, holds, seen) {
  console.log(`${holds ? 'ok  ' : 'FAIL'} ${what} ${holds ? '' : JSON.stringify(seen)}`);
  if (!holds) process.exitCode = 1;
}

async function refusal(asked) {
  try {
    await asked();
  } catch (error) {
    return error;
  }
  return {};
}

async function openai() {
  const client = new OpenAI({baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0});
  const completions = client.chat.completions;
  const whole = await completions.create(ASK);
  check('openai whole', whole.choices[0].message.content === TEXT && whole.usage.total_tokens === 14, whole);
  let text = '', usage = null;
  for await (const chunk of await completions.create({...ASK, stream: true, stream_options: {include_usage: true}})) {
    text += chunk.choices[0]?.delta?.content || '';
    usage = chunk.usage || usage;
  }
  check('openai stream', text === TEXT && usage.completion_tokens === 12, {text, usage});
  const last = await completions.stream(ASK).finalChatCompletion();
  check('openai stream()', last.choices[0].message.content === TEXT && last.choices[0].finish_reason === 'stop', last);
  check('openai models', (await client.models.list()).data[0].id === 'demo');
  const error = await refusal(() => completions.create({model: 'm'}));
  check('openai error', error.status === 400 && /messages/.test(error.message), String(error));
}

async function anthropic() {
  const client = new Anthropic({baseURL: base, apiKey: 'k', maxRetries: 0});
  const ask = {...ASK, max_tokens: 99};
  const whole = await client.messages.create(ask);
  check('anthropic whole', whole.content[0].text === TEXT && whole.stop_reason === 'end_turn', whole);
  let text = '';
  for await (const event of await client.messages.create({...ask, stream: true})) {
    if (event.type === 'content_block_delta') text += event.delta.text;
  }
  check('anthropic stream', text === TEXT, text);
  const last = await client.messages.stream(ask).finalMessage();
  check('anthropic stream()', last.content[0].text === TEXT && last.usage.output_tokens === 12, last);
  check('anthropic models', (await client.models.list()).data[0].id === 'demo');
  const error = await refusal(() => client.messages.create({model: 'm', max_tokens: 9}));
  check('anthropic error', error.status === 400 && error.error?.type === 'error', String(error));
}

async function websocket(protocols) {
  const socket = new WebSocket(`${base.replace('http', 'ws')}/ws`, protocols);
  const sent = ['hello', '', 'ü'.repeat(70), 'x'.repeat(70000), Buffer.alloc(3000000, 7)];
  const got = [];
  let pongs = 0;
  const closed = new Promise((done, fail) => {
    socket.on('error', fail);
    socket.on('close', (code, reason) => done(`${code} ${reason}`));
  });
  socket.on('pong', () => { pongs += 1; });
  socket.on('open', () => {
    for (const message of sent) socket.send(message);
    socket.send('frag', {fin: false});
    socket.ping('between');
    socket.send('ment');
  });
  socket.on('message', (data, binary) => {
    got.push([data, binary]);
    if (got.length === sent.length + 1) socket.close(4001, 'enough');
  });
  const end = await closed;
  const equal = sent.every((message, i) => !Buffer.compare(Buffer.from(message), got[i][0]) &&
    got[i][1] === Buffer.isBuffer(message));
  check(`ws ${protocols}: messages`, equal && String(got[sent.length][0]) === 'fragment' && pongs === 1, pongs);
  check(`ws ${protocols}: close`, end === '4001 enough' && socket.protocol === (protocols[0] || ''), end);
}

Promise.all([openai(), anthropic(), websocket([]), websocket(['chat', 'more'])]).catch((error) => {
  check('no exception', false, String(error));
});
