// A shop: a page, a cart behind a cookie, orders by form, a price list to download, live prices as events.
import crypto from 'node:crypto';
import { bodyOf, json, serve } from '../lib/server.mjs';

const PRICES_EVERY_MS = 250;
const carts = new Map(), orders = new Map();
const page = (title, body) => `<!doctype html><meta charset="utf-8"><title>${title}</title><h1>${title}</h1>${body}`;

function html(response, text, headers = {}) {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...headers });
  response.end(text);
}

function cartOf(request) {
  const known = /(?:^|; *)cart=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1];
  const id = carts.has(known) ? known : crypto.randomUUID();
  if (!carts.has(id)) carts.set(id, []);
  return { id, things: carts.get(id), headers: { 'set-cookie': `cart=${id}; Path=/; HttpOnly` } };
}

const pages = {
  'GET /': (request, response) => html(response, page('Shop', '<p><a href="/cart">Cart</a> <a href="/notes">Notes</a></p>'
    + '<form method="post" action="/cart"><input name="thing"><button>Add</button></form><pre id="live"></pre><script>'
    + 'new EventSource("/live").onmessage = (e) => { document.getElementById("live").textContent = e.data; };</script>')),
  'GET /cart': (request, response) => {
    const { things, headers } = cartOf(request);
    json(response, 200, things, headers);
  },
  async 'POST /cart'(request, response) {
    const { things, headers } = cartOf(request);
    things.push(new URLSearchParams((await bodyOf(request)).toString()).get('thing'));
    response.writeHead(303, { ...headers, location: '/cart' }).end();
  },
  async 'POST /order'(request, response, url) {
    const number = url.searchParams.get('number');
    await bodyOf(request);
    orders.set(number, (orders.get(number) ?? 0) + 1);
    json(response, 201, { number, ordered: orders.get(number) });
  },
  'GET /orders': (request, response) => json(response, 200, [...orders]),
  'GET /prices.csv': (request, response) => {
    response.writeHead(200, { 'content-type': 'text/csv', 'content-disposition': 'attachment' });
    for (let n = 0; n < 100_000; n += 1) response.write(`thing ${n},${(n * 7919) % 10_000}\n`);
    response.end();
  },
  'GET /live': (request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    let n = Number(request.headers['last-event-id'] ?? 0);
    const timer = setInterval(() => response.write(`id: ${++n}\ndata: ${n * 100}\n\n`), PRICES_EVERY_MS);
    response.on('close', () => clearInterval(timer));
  },
};

serve((request, response, url) => {
  const show = pages[`${request.method} ${url.pathname}`];
  if (show) return show(request, response, url);
  response.writeHead(404, { 'content-type': 'text/html' });
  return response.end(page('Not here', '<a href="/">Shop</a>'));
});
