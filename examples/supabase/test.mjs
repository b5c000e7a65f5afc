// What the example promises, tried from outside: test.mjs URL
import http from 'node:http';
import net from 'node:net';
import crypto from 'node:crypto';
import { check, eventsOf, eventually, finish, need, same } from '../lib/check.mjs';
import { connect } from '../lib/websocket.mjs';

const base = process.argv[2] ?? 'http://127.0.0.1:8700';
const ask = (path, options) => fetch(base + path, options);
const post = (path, value, headers = {}) => ask(path, { method: 'POST', body: JSON.stringify(value), headers: { 'content-type': 'application/json', ...headers } });
const tag = crypto.randomUUID();

await check('rest: rows are added, counted, changed and removed', async () => {
  const rows = Array.from({ length: 30 }, (_, n) => ({ list: tag, task: `task ${n}` }));
  same((await post('/rest/v1/todos', rows)).status, 201, 'status');
  const some = await ask(`/rest/v1/todos?list=eq.${tag}&limit=10`, { headers: { prefer: 'count=exact' } });
  same([some.status, some.headers.get('content-range'), (await some.json()).length], [206, '0-9/30', 10]);
  const patched = await ask(`/rest/v1/todos?list=eq.${tag}`, { method: 'PATCH', body: '{"done":true}', headers: { prefer: 'return=representation' } });
  same((await patched.json()).every((row) => row.done), true, 'all done');
  same((await ask(`/rest/v1/todos?list=eq.${tag}&task=eq.task 3`, { method: 'DELETE' })).status, 204, 'status');
});

await check('rest: 50 HEADs, each answered without any framing, on one connection', async () => {
  const { hostname, port } = new URL(base);
  const socket = net.connect(port, hostname);
  const heads = new Promise((done, fail) => {
    let text = '', seen = 0;
    const question = `HEAD /rest/v1/todos?list=eq.${tag} HTTP/1.1\r\nHost: here\r\nPrefer: count=exact\r\n\r\n`;
    socket.write(question);
    socket.setTimeout(5000, () => fail(new Error(`HEAD ${seen}: nothing comes`)));
    socket.on('close', () => fail(new Error(`closed behind ${seen} answers`)));
    socket.on('error', fail);
    socket.on('data', (data) => {
      text += data;
      if (!text.endsWith('\r\n\r\n')) return;
      if (!/^HTTP\/1.1 200 /.test(text) || !/^content-range: 0-28\/29\r$/mi.test(text)) fail(new Error(text));
      text = '';
      seen += 1;
      if (seen === 50) done();
      else socket.write(question);
    });
  });
  await heads.finally(() => socket.destroy());
});

await check('auth: sign up, sign in, who am I, sign out', async () => {
  const me = { email: `${tag}@example.com`, password: 'secret' };
  same((await post('/auth/v1/signup', me)).status, 200, 'signup');
  same((await post('/auth/v1/token?grant_type=password', { ...me, password: 'wrong' })).status, 400, 'wrong password');
  const { access_token: token } = await (await post('/auth/v1/token?grant_type=password', me)).json();
  const headers = { authorization: `Bearer ${token}` };
  same((await (await ask('/auth/v1/user', { headers })).json()).email, me.email);
  same((await ask('/auth/v1/logout', { method: 'POST', headers })).status, 204, 'logout');
  same((await ask('/auth/v1/user', { headers })).status, 401, 'afterwards');
});

await check('storage: 5 MB up and down, whole and in part', async () => {
  const data = crypto.randomBytes(5_000_000);
  same((await ask(`/storage/v1/object/files/${tag}.bin`, { method: 'POST', body: data })).status, 200, 'upload');
  const down = Buffer.from(await (await ask(`/storage/v1/object/files/${tag}.bin`)).arrayBuffer());
  need(down.equals(data), 'other bytes came back');
  const part = await ask(`/storage/v1/object/files/${tag}.bin`, { headers: { range: 'bytes=1000-1999' } });
  same(part.status, 206, 'status');
  need(Buffer.from(await part.arrayBuffer()).equals(data.subarray(1000, 2000)), 'another part came back');
  const form = new FormData();
  form.append('', new Blob([data.subarray(0, 1000)]), 'small.bin');
  same((await ask(`/storage/v1/object/files/${tag}/form.bin`, { method: 'POST', body: form })).status, 200, 'form');
  need(Buffer.from(await (await ask(`/storage/v1/object/files/${tag}/form.bin`)).arrayBuffer()).equals(data.subarray(0, 1000)), 'form');
});

await check('storage: more than 50 MiB is refused before it is sent', async () => {
  const refused = await new Promise((done, fail) => {
    const headers = { 'content-length': 60 << 20, expect: '100-continue' };
    const request = http.request(`${base}/storage/v1/object/files/large`, { method: 'POST', headers }, (response) => { response.resume(); done(response); });
    request.on('error', fail);
    request.flushHeaders();
  });
  same(refused.statusCode, 413, 'status');
  refused.destroy();
});

await check('functions: answers, thinks, streams, fails as itself', async () => {
  same(await (await post('/functions/v1/hello', { name: 'you' })).json(), { message: 'Hello you!' });
  same((await post('/functions/v1/slow', {})).status, 200, 'slow');
  const seen = [], times = [];
  for await (const { data } of eventsOf(await post('/functions/v1/stream', {}))) {
    seen.push(data);
    times.push(Date.now());
  }
  same(seen, ['one', 'two', 'three', '']);
  need(times[2] - times[0] > 500, 'the events came together: something holds them back');
  same((await post('/functions/v1/broken', {})).status, 500, 'broken');
});

await check('realtime: two clients on one topic hear each other', async () => {
  const heard = [];
  const join = async (name, self) => {
    const socket = await connect(`${base.replace('http', 'ws')}/realtime/v1/websocket?vsn=1.0.0`);
    const replies = [];
    socket.onmessage = (text) => {
      const message = JSON.parse(text);
      if (message.event === 'broadcast') heard.push(`${name} heard ${message.payload.text}`);
      else replies.push(message);
    };
    socket.send(JSON.stringify({ topic: `realtime:${tag}`, event: 'phx_join', ref: '1', payload: { config: { broadcast: { self } } } }));
    await eventually(() => replies.find((reply) => reply.payload.status === 'ok'), 'joined');
    return socket;
  };
  const [one, two] = [await join('one', false), await join('two', true)];
  one.send(JSON.stringify({ topic: `realtime:${tag}`, event: 'broadcast', payload: { text: 'a' } }));
  await eventually(() => heard.length === 1, 'the first message');
  two.send(JSON.stringify({ topic: `realtime:${tag}`, event: 'broadcast', payload: { text: 'b'.repeat(100_000) } }));
  await eventually(() => heard.length === 3, 'the second message');
  same(heard.map((text) => text.slice(0, 12)).sort(), ['one heard bbb', 'two heard a', 'two heard bbb'].map((text) => text.slice(0, 12)));
  const closed = Promise.all([one, two].map((socket) => new Promise((done) => { socket.onclose = done; })));
  one.close();
  two.close();
  same(await closed, [1000, 1000], 'close codes');
});

await check('mcp: 200 calls and 100 questions, each call made once', async () => {
  const before = (await (await ask('/mcp')).json()).calls;
  const lane = async (name) => {
    for (let n = 0; n < 25; n += 1) {
      const answer = await (await post('/mcp', { jsonrpc: '2.0', id: n, method: 'tools/call', params: { name: 'count' } })).json();
      same(answer.id, n, `lane ${name}`);
      if (n % 2) same((await ask('/mcp')).status, 200, 'GET');
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, name) => lane(name)));
  same((await (await ask('/mcp')).json()).calls - before, 200, 'calls');
});

await check('what no service owns is 404, and says so', async () => {
  const response = await ask('/elsewhere');
  same(response.status, 404, 'status');
  need((await response.json()).error.request_id, 'no request id');
});

finish();
