// What the example promises, tried from outside: test.mjs URL
import crypto from 'node:crypto';
import { check, eventsOf, finish, need, same } from '../lib/check.mjs';

const base = process.argv[2] ?? 'http://127.0.0.1:8720';
const ask = (path, options) => fetch(base + path, options);
const tag = crypto.randomUUID();
const after = (ms) => new Promise((done) => { setTimeout(done, ms); });

await check('each app has its paths, and neither has the other one\'s', async () => {
  need((await (await ask('/')).text()).includes('<h1>Shop'), 'no shop');
  need((await (await ask('/notes')).text()).includes('<title>Notes'), 'no notes');
  same((await ask('/notes/none')).status, 404, '/notes/none');
  need((await (await ask('/notesome')).text()).includes('Not here'), '/notesome is the shop\'s: paths end at segments');
});

await check('a form, a cookie, a redirect', async () => {
  const posted = await ask('/cart', { method: 'POST', redirect: 'manual', body: new URLSearchParams({ thing: 'a lamp' }) });
  same([posted.status, posted.headers.get('location')], [303, '/cart']);
  const cookie = posted.headers.get('set-cookie').split(';')[0];
  same(await (await ask('/cart', { headers: { cookie } })).json(), ['a lamp']);
});

await check('the app that asks for the client\'s Host has it', async () => {
  const seen = await (await ask('/notes/who', { headers: { 'x-forwarded-for': '6.6.6.6' } })).json();
  same(seen, { Host: new URL(base).host, 'X-Forwarded-For': '127.0.0.1', 'X-Forwarded-Host': new URL(base).host, 'X-Forwarded-Proto': 'http' });
});

await check('100 000 lines without a length come whole', async () => {
  const text = await (await ask('/prices.csv')).text();
  same([text.split('\n').length, text.endsWith('thing 99999,2081\n')], [100_001, true]);
});

await check('uploads, with a length and without', async () => {
  const data = crypto.randomBytes(8_000_000);
  const told = { bytes: data.length, sha256: crypto.createHash('sha256').update(data).digest('hex') };
  same(await (await ask('/notes/upload', { method: 'PUT', body: data })).json(), told, 'with a length');
  async function* pieces() {
    for (let at = 0; at < data.length; at += 100_000) yield data.subarray(at, at + 100_000);
  }
  same(await (await ask('/notes/upload', { method: 'PUT', body: pieces(), duplex: 'half' })).json(), told, 'in chunks');
});

await check('live prices come one by one', async () => {
  const control = new AbortController();
  const seen = [];
  const begin = Date.now();
  for await (const { id } of eventsOf(await ask('/live', { signal: control.signal }))) {
    seen.push(Number(id));
    if (seen.length === 4) break;
  }
  control.abort();
  same(seen, [1, 2, 3, 4]);
  need(Date.now() - begin >= 700, 'they came before their time');
});

await check('reads and orders around the moment in which notes closes idle connections: each order placed once', async () => {
  // notes.py closes after 2 s; whoever reads just then must not notice.
  const lane = async (name) => {
    for (const pause of [1990, 2000, 2010]) {
      same((await ask('/notes/all')).status, 200, 'read');
      await after(pause + name);
      same((await ask('/notes/all')).status, 200, 'read');
      same((await ask('/notes', { method: 'POST', redirect: 'manual', body: new URLSearchParams({ text: `${tag} ${name} ${pause}` }) })).status, 303, 'write');
      same((await ask(`/order?number=${tag}-${name}-${pause}`, { method: 'POST', body: 'x' })).status, 201, 'order');
    }
  };
  await Promise.all(Array.from({ length: 12 }, (_, name) => lane(name)));
  const mine = (await (await ask('/notes/all')).json()).filter((note) => note.startsWith(tag));
  same([mine.length, new Set(mine).size], [36, 36], 'notes');
  const ordered = (await (await ask('/orders')).json()).filter(([number]) => number.startsWith(tag));
  same([ordered.length, ordered.every(([, times]) => times === 1)], [36, true], 'orders');
});

finish();
