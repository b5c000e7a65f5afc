// Clients on Node's own modules: client.js URL CASE. Exits 0 if all was well, and says what was not.
'use strict';
const crypto = require('crypto');
const frames = require('./frames.js');
const base = process.argv[2];
const http = require(base.startsWith('https:') ? 'https' : 'http');
const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
const sleep = (ms) => new Promise((done) => { setTimeout(done, ms); });

function ask(method, path, body, use = agent) {
  return new Promise((done, fail) => {
    const headers = body === undefined ? {} : { 'content-length': body.length };
    const request = http.request(base + path, { method, agent: use, headers }, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('end', () => done({ status: response.statusCode, body: Buffer.concat(parts) }));
      response.on('error', fail);
    });
    request.on('error', (error) => fail(new Error(`${method} ${path}: ${error.code}`)));
    request.end(body);
  });
}

function need(condition, text) {
  if (!condition) throw new Error(text);
}

const cases = {
  // Every request is delivered exactly once, however close to the server's keep-alive timeout it comes.
  async mixed(pause) {
    let wrong = 0;
    const lane = async (name) => {
      for (let n = 0; n < 25; n += 1) {
        const method = ['GET', 'POST', 'PUT', 'DELETE'][n % 4];
        const body = n % 4 === 1 || n % 4 === 2 ? Buffer.from('body') : undefined;
        const got = await ask(method, `/once/${name}/${n}`, body);
        if (got.status !== 200) wrong += 1;
        await sleep(pause ? pause - 12 + (n % 25) : 0);
      }
    };
    await Promise.all(Array.from({ length: 16 }, (_, name) => lane(name)));
    need(wrong === 0, `${wrong} failed`);
    const counts = JSON.parse((await ask('GET', '/counts')).body);
    need(counts.distinct === 400, `${counts.distinct} of 400 were delivered`);
    const unsafe = counts.many.filter(([path]) => Number(path.split('/')[3]) % 4 !== 0);
    need(unsafe.length === 0, `delivered more than once: ${JSON.stringify(unsafe)}`);
  },
  async bodies() {
    for (const size of [0, 1, 65536, 5_000_000]) {
      const body = crypto.randomBytes(size);
      const got = await ask('POST', '/echo', body);
      need(got.body.equals(body), `another body of ${size} bytes`);
    }
    need((await ask('GET', '/big')).body.length === 20_000_000, 'a large body was cut');
    const got = await fetch(`${base}/hash`, { method: 'POST', body: crypto.randomBytes(100_000) });
    need((await got.text()).length === 64, 'fetch');
  },
  async silence() {
    const begin = Date.now();
    need((await ask('POST', '/think', Buffer.from('x'))).body.toString() === 'thought', 'no answer after the silence');
    const got = await fetch(`${base}/stream`);
    let text = '';
    for await (const part of got.body) text += Buffer.from(part).toString();
    need(text === 'data: first\n\ndata: last\n\n', `the stream was ${text}`);
    need(Date.now() - begin >= 5800, 'there was no silence');
  },
  async abort() {
    for (let n = 0; n < 10; n += 1) {
      const control = new AbortController();
      const done = fetch(`${base}/think`, { signal: control.signal }).then(() => false, () => true);
      await sleep(400);
      control.abort();
      need(await done, 'not aborted');
    }
    await sleep(500);
    const counts = JSON.parse((await ask('GET', '/counts')).body);
    need(counts.aborted === 10, `the server saw ${counts.aborted} of 10 aborts`);
  },
  websocket() {
    return new Promise((done, fail) => {
      const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13',
        'sec-websocket-key': crypto.randomBytes(16).toString('base64') };
      const request = http.request(`${base}/ws`, { headers });
      request.on('response', (response) => fail(new Error(`refused: ${response.statusCode}`)));
      request.on('error', fail);
      request.on('upgrade', (response, socket, head) => {
        const sent = [0, 1, 125, 126, 65535, 65536, 1_000_000].map((size) => crypto.randomBytes(size));
        let buffer = head;
        let next = 0;
        socket.on('error', fail);
        socket.on('data', (data) => {
          buffer = Buffer.concat([buffer, data]);
          for (let frame = frames.parse(buffer); frame; frame = frames.parse(buffer)) {
            buffer = buffer.subarray(frame.size);
            if (frame.opcode === 8) return done();
            if (!frame.payload.equals(sent[next])) return fail(new Error(`another message ${next}`));
            next += 1;
            if (next === sent.length) socket.write(frames.build(8, Buffer.from([3, 232]), true));
          }
          return undefined;
        });
        for (const message of sent) socket.write(frames.build(2, message, true));
      });
      request.end();
    });
  },
};

const [name, pause] = process.argv[3].split(':');
cases[name](Number(pause || 0)).then(() => process.exit(0), (error) => {
  console.log(error.message);
  process.exit(1);
});
