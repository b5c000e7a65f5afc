// Chromium through the running examples: chromium.mjs MODELS STACK WEB VITE MODULES PROGRAM. Its pages are the examples' own.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { check, end, need, same, TEXT } from './checks.mjs';

const [models, stack, web, vite, modules, program] = process.argv.slice(2);
const puppeteer = createRequire(path.join(path.resolve(modules), 'x.js'))('puppeteer-core');
const browser = await (puppeteer.default ?? puppeteer).launch({ executablePath: program, headless: true,
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
const open = async (url) => {
  const page = await browser.newPage();
  page.setDefaultTimeout(30000);
  const answer = await page.goto(url, { waitUntil: 'domcontentloaded' });
  need(answer.ok(), `${url}: ${answer.status()}`);
  return page;
};

await check('chromium: EventSource on the shop\'s page', async () => {
  const page = await open(`${web}/`);
  await page.waitForFunction(() => Number(document.getElementById('live').textContent) >= 500);
  const seen = await page.evaluate(() => new Promise((done, fail) => {
    const source = new EventSource('/live'), events = [];
    source.onerror = () => fail(new Error('cut'));
    source.onmessage = ({ lastEventId }) => { if (events.push(lastEventId) === 6) { source.close(); done(events); } };
  }));
  same(seen, ['1', '2', '3', '4', '5', '6']);
  await page.close();
});

await check('chromium: a form, a cookie, a redirect', async () => {
  const page = await open(`${web}/`);
  await page.type('input[name=thing]', 'a lamp');
  await Promise.all([page.waitForNavigation(), page.click('button')]);
  need(page.url().endsWith('/cart'), page.url());
  same(JSON.parse(await page.evaluate(() => document.body.innerText)), ['a lamp']);
  await page.close();
});

await check('chromium: fetch streams a model\'s words behind its silence; an abort', async () => {
  const page = await open(`${models}/v1/models`);
  const { text, gaps } = await page.evaluate(async () => {
    const response = await fetch('/api/chat', { method: 'POST', body: JSON.stringify({ model: 'x' }) });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let all = '', parts = 0;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      all += part.value;
      parts += 1;
    }
    return { text: all.trim().split('\n').map((line) => JSON.parse(line).message.content).join(''), gaps: parts };
  });
  same(text, TEXT);
  need(gaps > 2, 'the words came together');
  const name = await page.evaluate(() => {
    const control = new AbortController();
    setTimeout(() => control.abort(), 300);
    return fetch('/api/chat', { method: 'POST', body: '{"model":"x"}', signal: control.signal }).then((r) => r.text()).catch((error) => error.name);
  });
  same(name, 'AbortError');
  await page.close();
});

await check('chromium: uploads of 20 MB, whole and as a form, with progress', async () => {
  const page = await open(`${web}/notes`);
  const { told, bytes, form } = await page.evaluate(async () => {
    const data = new Blob([new Uint8Array(20_000_000).map((_, n) => n * 31)]);
    const upload = (body) => new Promise((done, fail) => {
      const request = new XMLHttpRequest();
      let progress = 0;
      request.upload.onprogress = ({ loaded }) => { progress = loaded; };
      request.onload = () => done({ ...JSON.parse(request.responseText), told: progress });
      request.onerror = () => fail(new Error('cut'));
      request.open('PUT', '/notes/upload');
      request.send(body);
    });
    const whole = await upload(data);
    const fields = new FormData();
    fields.append('file', data, 'x.bin');
    return { told: whole.told, bytes: whole.bytes, form: (await upload(fields)).bytes };
  });
  same([told, bytes], [20_000_000, 20_000_000]);
  need(form > 20_000_000, `form: ${form}`);
  await page.close();
});

await check('chromium: WebSocket', async () => {
  const page = await open(`${stack}/rest/v1/todos`);
  const seen = await page.evaluate(() => new Promise((done, fail) => {
    const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/realtime/v1/websocket?vsn=1.0.0`);
    let n = 0;
    const tell = () => socket.send(JSON.stringify({ topic: 'phoenix', event: 'heartbeat', payload: { text: 'x'.repeat(n * 500) }, ref: String(n) }));
    socket.onopen = tell;
    socket.onerror = () => fail(new Error('cut'));
    socket.onmessage = ({ data }) => {
      if (JSON.parse(data).ref !== String(n)) fail(new Error(data));
      n += 1;
      if (n < 200) tell();
      else socket.close(1000);
    };
    socket.onclose = ({ code, wasClean }) => done([n, code, wasClean]);
  }));
  same(seen, [200, 1000, true]);
  await page.close();
});

await check('chromium: 300 parallel fetches, each POST once', async () => {
  const page = await open(`${web}/notes`);
  const bad = await page.evaluate(async () => {
    const tag = crypto.randomUUID ? crypto.randomUUID() : String(Math.random());
    const all = await Promise.all(Array.from({ length: 300 }, async (_, n) => {
      if (n % 2) return (await fetch('/notes/who', { cache: 'no-store' })).status === 200;
      return (await (await fetch(`/order?number=${tag}-${n}`, { method: 'POST', body: 'x' })).json()).ordered === 1;
    }));
    return all.filter((good) => !good).length;
  });
  same(bad, 0);
  await page.close();
});

if (vite !== '-') {
  await check('chromium: hot reload of Vite, without loading the page again', async () => {
    const page = await open(`${vite}/`);
    await page.waitForFunction(() => document.getElementById('greeting').textContent.includes('Hello'));
    await page.waitForFunction(() => document.getElementById('count').textContent.startsWith('counted to'));
    const file = new URL('../../../examples/vite/src/greeting.js', import.meta.url), before = fs.readFileSync(file);
    await page.evaluate(() => { window.kept = 'the same page'; });
    try {
      for (let n = 1; n <= 3; n += 1) {
        await new Promise((done) => { setTimeout(done, 500); });
        fs.writeFileSync(file, `export const greeting = 'Changed ${n}';\n`);
        await page.waitForFunction((text) => document.getElementById('greeting').textContent === text, {}, `Changed ${n}`);
      }
    } finally {
      fs.writeFileSync(file, before);
    }
    same(await page.evaluate(() => window.kept), 'the same page');
    await page.close();
  });
}

await browser.close();
end();
