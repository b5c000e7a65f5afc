// What the example promises, tried from outside: test.mjs URL
import fs from 'node:fs';
import { check, eventually, finish, need, same } from '../lib/check.mjs';
import { connect } from '../lib/websocket.mjs';

const base = process.argv[2] ?? 'http://127.0.0.1:8730';
const text = async (path, headers = {}) => {
  const response = await fetch(base + path, { headers });
  same(response.status, 200, path);
  return response.text();
};

await check('the page and its modules', async () => {
  const page = await text('/', { accept: 'text/html' });
  need(page.includes('/@vite/client') && page.includes('/src/main.js'), page);
  need((await text('/src/main.js')).includes('/src/greeting.js'), 'main.js was not transformed');
  need((await text('/src/greeting.js')).includes('Hello'), 'greeting.js');
});

await check('a module that has not changed is 304', async () => {
  const first = await fetch(`${base}/src/greeting.js`);
  await first.text();
  const again = await fetch(`${base}/src/greeting.js`, { headers: { 'if-none-match': first.headers.get('etag') }, cache: 'no-store' });
  same(again.status, 304, 'status');
});

await check('the API is on the same port', async () => {
  const { count } = JSON.parse(await text('/api/count'));
  for (let n = 1; n <= 5; n += 1) {
    same(await (await fetch(`${base}/api/count`, { method: 'POST' })).json(), { count: count + n });
  }
});

await check('hot reload: a changed module is told through the gateway, and is there', async () => {
  const token = /wsToken = "([^"]+)"/.exec(await text('/@vite/client'))?.[1] ?? '';
  const socket = await connect(`${base.replace('http', 'ws')}/?token=${token}`, 'vite-hmr');
  const told = [];
  socket.onmessage = (message) => told.push(JSON.parse(message));
  await eventually(() => told.some((message) => message.type === 'connected'), 'connected');
  const name = `scratch-${process.pid}.js`;
  const write = (n) => fs.writeFileSync(new URL(name, import.meta.url), `export const n = ${n};\nimport.meta.hot.accept();\n`);
  try {
    write(1);
    need((await text(`/${name}`)).includes('n = 1'), 'the module');
    for (let n = 2; n < 5; n += 1) {
      await new Promise((done) => { setTimeout(done, 400); }); // nobody saves faster, and Vite's watcher joins what is
      const seen = told.length, begin = Date.now();
      write(n);
      const update = await eventually(() => told.slice(seen).find(({ type }) => type === 'update'), `update ${n}`);
      same(update.updates[0].path, `/${name}`, 'path');
      need((await text(`/${name}?t=${update.updates[0].timestamp}`)).includes(`n = ${n}`), `the module after ${Date.now() - begin} ms`);
    }
  } finally {
    fs.rmSync(new URL(name, import.meta.url), { force: true });
    socket.close();
  }
});

finish();
