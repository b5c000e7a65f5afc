// Real client libraries through a running gateway: sdk.js GATEWAY_PORT UPSTREAM_PORT MODULES SILENCE_MS
// A scripted upstream in this process; the npm packages openai, @anthropic-ai/sdk and ws are loaded from MODULES. A line per
// check, ok or FAIL; exits with 1 if one failed.
'use strict';
const http = require('http');
const crypto = require('crypto');
const path = require('path');

const [gatewayPort, upstreamPort, modules, silenceMs] = process.argv.slice(2).map((w) => (/^\d+$/.test(w) ? +w : w));
const load = require('module').createRequire(path.join(path.resolve(String(modules)), 'x.js'));
const OpenAI = load('openai').OpenAI || load('openai');
const Anthropic = load('@anthropic-ai/sdk').Anthropic || load('@anthropic-ai/sdk');
const WebSocket = load('ws');
const WORDS = ['What ', 'is ', 'silent ', 'is ', 'not ', 'dead.'];
const EVENT_GAP_MS = 50;
const WS_MESSAGES = 400, WS_LARGE = 1 << 20, WS_PAUSE_MS = 5000;

const delay = (ms) => new Promise((done) => setTimeout(done, ms));
const requests = {};
let failed = 0;
function check(holds, expected, seen) {
  console.log(`${holds ? 'ok  ' : 'FAIL'} expected ${expected}; seen ${seen}`);
  if (!holds) failed = 1;
}

// --- the upstream: silent before its head, or between head and first event, as the request's model says
const openaiEvents = () => [
  ...WORDS.map((w) => `data: ${JSON.stringify({id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm',
    choices: [{index: 0, delta: {content: w}, finish_reason: null}]})}\n\n`), 'data: [DONE]\n\n'];
const anthropicEvents = () => {
  const event = (type, rest) => `event: ${type}\ndata: ${JSON.stringify({type, ...rest})}\n\n`;
  const message = {id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null,
    stop_sequence: null, usage: {input_tokens: 1, output_tokens: 1}};
  return [event('message_start', {message}),
    event('content_block_start', {index: 0, content_block: {type: 'text', text: ''}}),
    ...WORDS.map((text) => event('content_block_delta', {index: 0, delta: {type: 'text_delta', text}})),
    event('content_block_stop', {index: 0}),
    event('message_delta', {delta: {stop_reason: 'end_turn', stop_sequence: null}, usage: {output_tokens: 6}}),
    event('message_stop', {})];
};

async function stream(request, response) {
  let body = '';
  for await (const piece of request) body += piece;
  const {model} = JSON.parse(body);
  const kind = `${request.url.includes('chat') ? 'openai' : 'anthropic'} ${model}`;
  requests[kind] = (requests[kind] || 0) + 1;
  if (model === 'before-head') await delay(silenceMs);
  response.writeHead(200, {'content-type': 'text/event-stream'});
  response.flushHeaders();
  if (model === 'after-head') await delay(silenceMs);
  for (const event of kind.startsWith('openai') ? openaiEvents() : anthropicEvents()) {
    response.write(event);
    await delay(EVENT_GAP_MS);
  }
  response.end();
}

// --- the clients
const base = `http://127.0.0.1:${gatewayPort}`;
async function told(kind, pieces) {
  const begin = Date.now();
  let text = '', first = 0, seen;
  try {
    for await (const piece of pieces()) {
      first = first || Date.now() - begin;
      text += piece;
    }
    seen = `${JSON.stringify(text)}, first event after ${(first / 1000).toFixed(1)} s, ${requests[kind]} request(s)`;
  } catch (fault) {
    seen = `${fault} after ${((Date.now() - begin) / 1000).toFixed(1)} s`;
  }
  check(text === WORDS.join('') && first >= silenceMs - 50 && requests[kind] === 1,
    `${kind}: the whole answer after ${silenceMs / 1000} s of silence, asked for once`, seen);
}
function openai(model) {
  const client = new OpenAI({baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0});
  return told(`openai ${model}`, async function* () {
    const events = await client.chat.completions.create({model, stream: true, messages: [{role: 'user', content: 'x'}]});
    for await (const event of events) yield event.choices[0]?.delta?.content || '';
  });
}
function anthropic(model) {
  const client = new Anthropic({baseURL: base, apiKey: 'k', maxRetries: 0});
  return told(`anthropic ${model}`, async function* () {
    const events = await client.messages.create({model, max_tokens: 9, stream: true, messages: [{role: 'user', content: 'x'}]});
    for await (const event of events) {
      if (event.type === 'content_block_delta') yield event.delta.text;
    }
  });
}

// Both ends send at once; each counts and hashes what it gets, and an echo of silence is kept alive in the middle.
function exchange(socket, name) {
  const hash = crypto.createHash('sha256'), sent = crypto.createHash('sha256');
  const state = {name, got: 0, closed: null};
  state.done = new Promise((done) => socket.on('message', (data) => {
    hash.update(data);
    if (++state.got === WS_MESSAGES + 1) done();
  }));
  socket.on('close', (code, reason) => { state.closed = `${code} ${reason}`; });
  socket.on('error', (fault) => { state.fault = String(fault); });
  state.send = async () => {
    for (let i = 0; i < WS_MESSAGES; ++i) {
      const data = crypto.randomBytes(i % 10 === 0 ? 70000 : i);
      sent.update(data);
      socket.send(data);
      if (i === WS_MESSAGES / 2) await delay(WS_PAUSE_MS);
    }
    const last = crypto.randomBytes(WS_LARGE);
    sent.update(last);
    socket.send(last);
  };
  state.digests = () => [sent.digest('hex'), hash.digest('hex')];
  return state;
}
async function websocket(server) {
  const theirs = new Promise((done) => server.on('connection', (socket) => done([socket, exchange(socket, 'server')])));
  const socket = new WebSocket(`ws://127.0.0.1:${gatewayPort}/socket`), mine = exchange(socket, 'client');
  await new Promise((done, fail) => { socket.on('open', done); socket.on('error', fail); });
  const [far, other] = await theirs;
  const both = Promise.all([mine.send(), other.send(), mine.done, other.done]);
  await Promise.race([both, delay(60000)]);
  const [a, b] = mine.digests(), [c, d] = other.digests();
  check(a === d && b === c && a !== b, `ws: ${WS_MESSAGES + 1} messages both ways at once, ${WS_PAUSE_MS / 1000} s of silence between`,
    `${mine.got} and ${other.got}, ${a === d && b === c ? 'equal' : 'different'} ${mine.fault || ''} ${other.fault || ''}`);
  socket.close(4001, 'enough');
  for (let i = 0; i < 100 && !(mine.closed && other.closed); ++i) await delay(50);
  far.terminate();
  check(mine.closed === '4001 enough' && other.closed === '4001 enough', 'ws: close 4001 seen by both', `${mine.closed} and ${other.closed}`);
}

const upstream = http.createServer((request, response) => { stream(request, response).catch(console.error); });
const sockets = new WebSocket.Server({server: upstream});
upstream.listen(upstreamPort, '127.0.0.1', async () => {
  const all = [openai('before-head'), openai('after-head'), anthropic('before-head'), anthropic('after-head')];
  await websocket(sockets).catch((fault) => check(false, 'ws: both ways', fault));
  await Promise.all(all);
  process.exit(failed);
});
