// Packages from npm through the running examples: npm.mjs MODELS STACK WEB THINK_MS MODULES
import crypto from 'node:crypto';
import http from 'node:http';
import path from 'node:path';
import { Readable } from 'node:stream';
import { createRequire } from 'node:module';
import { after, check, end, need, same, TEXT } from './checks.mjs';

const [models, stack, web, think, modules] = process.argv.slice(2);
const THINK_MS = Number(think);
const load = createRequire(path.join(path.resolve(modules), 'x.js'));
const has = (name) => {
  try { load.resolve(name); return true; } catch { console.log(`     ${name} is not here: left out`); return false; }
};
const ask = { model: 'stand-in', max_tokens: 9, messages: [{ role: 'user', content: 'Why?' }] };
const counts = async (of) => (await (await fetch(`${models}${of}/counts`)).json());

async function words(pieces, what) {
  const begin = Date.now();
  let text = '', first = 0;
  for await (const piece of pieces) {
    first ||= Date.now() - begin;
    text += piece;
  }
  same(text, TEXT, what);
  need(first >= THINK_MS - 50, `${what}: the first word after ${first} ms`);
  return `first word after ${first} ms`;
}

async function openai() {
  const { OpenAI } = load('openai');
  const client = new OpenAI({ baseURL: `${models}/v1`, apiKey: 'k', maxRetries: 0 });
  const before = await counts('/v1');
  await Promise.all([
    check('openai: whole', async () => same((await client.chat.completions.create(ask)).choices[0].message.content, TEXT)),
    check('openai: stream', () => words((async function* () {
      for await (const event of await client.chat.completions.create({ ...ask, stream: true })) yield event.choices[0]?.delta?.content ?? '';
    }()), 'openai')),
    check('openai: abort reaches the model', async () => {
      const control = new AbortController();
      const stream = await client.chat.completions.create({ ...ask, stream: true }, { signal: control.signal });
      setTimeout(() => control.abort(), 500);
      try { for await (const event of stream) need(event, 'event'); } catch (fault) { need(/abort/i.test(String(fault)), String(fault)); }
    }),
    check('openai: list of models', async () => same((await client.models.list()).data[0].id, 'stand-in')),
  ]);
  await check('openai: each call was made once, one of three was left', async () => {
    const { calls, left } = await counts('/v1');
    same([calls - before.calls, left - before.left], [3, 1]);
  });
}

async function anthropic() {
  const Anthropic = load('@anthropic-ai/sdk').Anthropic ?? load('@anthropic-ai/sdk');
  const client = new Anthropic({ baseURL: models, apiKey: 'k', maxRetries: 0 });
  const before = await counts('/v1/messages');
  await Promise.all([
    check('anthropic: whole', async () => same((await client.messages.create(ask)).content[0].text, TEXT)),
    check('anthropic: stream', () => words((async function* () {
      for await (const event of await client.messages.create({ ...ask, stream: true })) {
        if (event.type === 'content_block_delta') yield event.delta.text;
      }
    }()), 'anthropic')),
    check('anthropic: stream helper', async () => same((await client.messages.stream(ask).finalMessage()).content[0].text, TEXT)),
  ]);
  await check('anthropic: each call was made once', async () => same((await counts('/v1/messages')).calls - before.calls, 3));
}

async function supabase() {
  const { createClient } = load('@supabase/supabase-js');
  const make = () => createClient(stack, 'key', { auth: { persistSession: false, autoRefreshToken: false },
    realtime: { transport: has('ws') ? load('ws') : undefined } });
  const client = make(), tag = crypto.randomUUID();
  const good = ({ data, error, count }) => {
    if (error) throw new Error(JSON.stringify(error));
    return count ?? data;
  };
  await check('supabase-js: rows', async () => {
    const rows = Array.from({ length: 20 }, (_, n) => ({ list: tag, n }));
    same(good(await client.from('todos').insert(rows).select()).length, 20, 'inserted');
    same(good(await client.from('todos').select('*', { count: 'exact', head: true }).eq('list', tag)), 20, 'count by HEAD');
    same(good(await client.from('todos').select('*').eq('list', tag).limit(5)).length, 5, 'limit');
    same(good(await client.from('todos').update({ done: true }).eq('list', tag).select()).every((row) => row.done), true, 'updated');
    good(await client.from('todos').delete().eq('list', tag));
    same(good(await client.from('todos').select('*', { count: 'exact', head: true }).eq('list', tag)), 0, 'count behind the delete');
  });
  await check('supabase-js: accounts', async () => {
    const me = { email: `${tag}@example.com`, password: 'secret' };
    good(await client.auth.signUp(me));
    need((await client.auth.signInWithPassword({ ...me, password: 'no' })).error?.message === 'Invalid login credentials', 'wrong password');
    same(good(await client.auth.signInWithPassword(me)).user.email, me.email, 'signed in');
    same(good(await client.auth.getUser()).user.email, me.email, 'user');
    need(!(await client.auth.signOut()).error, 'signed out');
  });
  await check('supabase-js: files', async () => {
    const data = crypto.randomBytes(3_000_000), bucket = client.storage.from('files');
    good(await bucket.upload(`${tag}.bin`, data, { contentType: 'application/octet-stream' }));
    good(await bucket.upload(`${tag}-blob.bin`, new Blob([data])));
    for (const name of [`${tag}.bin`, `${tag}-blob.bin`]) {
      need(Buffer.from(await good(await bucket.download(name)).arrayBuffer()).equals(data), `${name}: other bytes`);
    }
    need(good(await bucket.list()).length >= 2, 'list');
    same(good(await bucket.remove([`${tag}.bin`, `${tag}-blob.bin`])).length, 2, 'removed');
  });
  await check('supabase-js: functions', async () => {
    same(good(await client.functions.invoke('hello', { body: { name: 'you' } })).message, 'Hello you!');
    need((await client.functions.invoke('broken', { body: {} })).error, 'an error of the function stays one');
  });
  await check('supabase-js: realtime', async () => {
    const other = make(), heard = [];
    const joined = (channel) => new Promise((done, fail) => {
      channel.subscribe((status, fault) => { if (status === 'SUBSCRIBED') done(channel); else if (status !== 'CLOSED') fail(fault ?? new Error(status)); });
    });
    const one = client.channel(tag), two = other.channel(tag);
    two.on('broadcast', { event: 'word' }, ({ payload }) => heard.push(payload.n));
    await Promise.all([joined(one), joined(two)]);
    for (let n = 0; n < 50; n += 1) await one.send({ type: 'broadcast', event: 'word', payload: { n } });
    for (let i = 0; i < 200 && heard.length < 50; i += 1) await after(25);
    same(heard, Array.from({ length: 50 }, (_, n) => n), 'heard');
    await Promise.all([client.removeAllChannels(), other.removeAllChannels()]);
  });
}

async function ws() {
  const WebSocket = load('ws');
  await check('ws: 300 messages of up to 200 kB echoed in order, ping, close code', async () => {
    const socket = new WebSocket(`${stack.replace('http', 'ws')}/realtime/v1/websocket?vsn=1.0.0`);
    await new Promise((done, fail) => { socket.on('open', done); socket.on('error', fail); });
    const topic = `realtime:${crypto.randomUUID()}`, heard = [];
    const whole = new Promise((done) => socket.on('message', (data) => {
      const { event, payload } = JSON.parse(data);
      if (event === 'broadcast' && heard.push(payload.text.length) === 300) done();
    }));
    const tell = (event, payload) => socket.send(JSON.stringify({ topic, event, payload, ref: null }));
    tell('phx_join', { config: { broadcast: { self: true } } });
    const sizes = Array.from({ length: 300 }, (_, n) => (n % 10 === 0 ? 200_000 : n));
    for (const size of sizes) tell('broadcast', { text: 'x'.repeat(size) });
    const pong = new Promise((done) => socket.on('pong', done));
    socket.ping('here');
    await Promise.all([whole, pong]);
    same(heard, sizes, 'sizes');
    const closed = new Promise((done) => socket.on('close', done));
    socket.close(1000);
    same(await closed, 1000, 'close code');
  });
}

async function eventsource() {
  const { EventSource } = load('eventsource');
  await check('eventsource: 8 events in order, each when it is due', async () => {
    const source = new EventSource(`${web}/live`), seen = [], begin = Date.now();
    await new Promise((done, fail) => {
      source.onmessage = ({ lastEventId }) => { if (seen.push(Number(lastEventId)) === 8) done(); };
      source.onerror = ({ message }) => fail(new Error(message));
    });
    source.close();
    same(seen, [1, 2, 3, 4, 5, 6, 7, 8]);
    need(Date.now() - begin > 1700, 'they came before their time');
  });
}

async function undici() {
  const { Agent, request } = load('undici');
  await check('undici: 400 pipelined and parallel requests, each its own answer', async () => {
    const dispatcher = new Agent({ connections: 8, pipelining: 4 });
    const tag = crypto.randomUUID();
    await Promise.all(Array.from({ length: 400 }, async (_, n) => {
      const method = n % 2 ? 'GET' : 'POST';
      const url = n % 2 ? `${web}/notes/who` : `${web}/order?number=${tag}-${n}`;
      const { statusCode, body } = await request(url, { method, body: n % 2 ? undefined : 'x', dispatcher });
      const answer = await body.json();
      same([statusCode, n % 2 ? typeof answer.Host : answer.ordered], n % 2 ? [200, 'string'] : [201, 1], `request ${n}`);
    }));
    await dispatcher.close();
  });
  await check('undici: upload as a stream, download as a stream', async () => {
    const data = crypto.randomBytes(6_000_000);
    const up = await request(`${web}/notes/upload`, { method: 'PUT', body: Readable.from((function* () {
      for (let at = 0; at < data.length; at += 60_000) yield data.subarray(at, at + 60_000);
    }())) });
    same((await up.body.json()).sha256, crypto.createHash('sha256').update(data).digest('hex'), 'hash');
    let size = 0;
    for await (const part of (await request(`${web}/prices.csv`)).body) size += part.length;
    same(size, 1_677_790, 'bytes');
  });
}

async function axios() {
  const client = (load('axios').default ?? load('axios')).create({ httpAgent: new http.Agent({ keepAlive: true }), maxRedirects: 0, validateStatus: null });
  await check('axios: get, form, cookie, upload with progress, stream, timeout', async () => {
    same((await client.get(`${web}/notes/who`)).data['X-Forwarded-For'], '127.0.0.1', 'get');
    const posted = await client.post(`${web}/cart`, new URLSearchParams({ thing: 'a lamp' }));
    same(posted.status, 303, 'form');
    const cookie = posted.headers['set-cookie'][0].split(';')[0];
    same((await client.get(`${web}/cart`, { headers: { cookie } })).data, ['a lamp'], 'cookie');
    const data = crypto.randomBytes(4_000_000);
    let told = 0;
    const up = await client.put(`${web}/notes/upload`, data, { onUploadProgress: ({ loaded }) => { told = loaded; } });
    same([up.data.bytes, told], [data.length, data.length], 'upload');
    const stream = await client.post(`${stack}/functions/v1/stream`, {}, { responseType: 'stream' });
    let text = '';
    for await (const part of stream.data) text += part;
    same(text.match(/data: \w+/g), ['data: one', 'data: two', 'data: three'], 'stream');
    const fault = await client.post(`${models}/v1/chat/completions`, ask, { timeout: 300 }).catch((error) => error.code);
    same(fault, 'ECONNABORTED', 'timeout');
  });
}

for (const [name, run] of Object.entries({ openai, '@anthropic-ai/sdk': anthropic, '@supabase/supabase-js': supabase, ws, eventsource, undici, axios })) {
  if (has(name)) await run();
}
end();
