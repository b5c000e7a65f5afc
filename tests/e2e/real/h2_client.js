// A client on Node's http2 module: h2_client.js URL CASE. Exits 0 if all was well, and says what was not.
'use strict';
const crypto = require('crypto');
const http2 = require('http2');
const frames = require('./frames.js');
const session = http2.connect(process.argv[2], { maxSessionMemory: 1000 });
const sleep = (ms) => new Promise((done) => { setTimeout(done, ms); });

function need(condition, text) {
  if (!condition) throw new Error(text);
}

function ask(method, path, body, headers = {}) {
  return new Promise((done, fail) => {
    const stream = session.request({ ':method': method, ':path': path, ...headers }, { endStream: body === undefined });
    const got = { body: [], interim: [], trailers: {} };
    stream.on('headers', (interim) => got.interim.push(interim[':status']));
    stream.on('response', (head) => { got.head = head; got.status = head[':status']; });
    stream.on('data', (part) => got.body.push(part));
    stream.on('trailers', (trailers) => { got.trailers = trailers; });
    stream.on('error', (error) => fail(new Error(`${method} ${path}: ${error.code} ${error.message}`)));
    stream.on('end', () => done({ ...got, body: Buffer.concat(got.body) }));
    if (body !== undefined) stream.end(body);
  });
}

const cases = {
  // Every request is delivered exactly once.
  async mixed() {
    const lane = async (name) => {
      for (let n = 0; n < 25; n += 1) {
        const method = ['GET', 'POST', 'PUT', 'DELETE'][n % 4];
        const body = n % 4 === 1 || n % 4 === 2 ? Buffer.from('body') : undefined;
        need((await ask(method, `/once/${name}/${n}`, body)).status === 200, `${method} ${name} ${n} failed`);
      }
    };
    await Promise.all(Array.from({ length: 40 }, (_, name) => lane(name)));
    const counts = JSON.parse((await ask('GET', '/counts')).body);
    need(counts.distinct === 1000, `${counts.distinct} of 1000 were delivered`);
    need(counts.many.length === 0, `delivered more than once: ${JSON.stringify(counts.many)}`);
  },
  async bodies() {
    for (const size of [0, 1, 65535, 65536, 5_000_000]) {
      const body = crypto.randomBytes(size);
      need((await ask('POST', '/echo', body)).body.equals(body), `another body of ${size} bytes`);
    }
    const [big, ...small] = await Promise.all([ask('GET', '/big'), ...Array.from({ length: 20 }, (_, n) => ask('GET', `/s${n}`))]);
    need(big.body.length === 20_000_000, 'a large body was cut');
    need(small.every((got) => got.status === 200), 'small ones beside it failed');
  },
  async streams() {
    const begin = Date.now();
    const times = [];
    const stream = session.request({ ':path': '/stream' });
    let text = '';
    for await (const part of stream) { text += part; times.push(Date.now() - begin); }
    need(text === 'data: first\n\ndata: second\n\ndata: last\n\n', `the stream was ${text}`);
    need(times.length >= 3 && times[times.length - 1] - times[0] > 900, `not as it came: ${times}`);
  },
  async abort() {
    for (let n = 0; n < 10; n += 1) {
      const stream = session.request({ ':path': '/think' });
      stream.on('error', () => {});
      await sleep(200);
      stream.close(http2.constants.NGHTTP2_CANCEL);
    }
    await sleep(500);
    const counts = JSON.parse((await ask('GET', '/counts')).body);
    need(counts.aborted === 10, `the server saw ${counts.aborted} of 10 aborts`);
  },
  async websocket() {
    await new Promise((done) => { if (session.remoteSettings.enableConnectProtocol) done(); else session.once('remoteSettings', done); });
    need(session.remoteSettings.enableConnectProtocol, 'extended CONNECT is not offered');
    const stream = session.request({ ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/ws', 'sec-websocket-version': '13' },
      { endStream: false });
    const head = await new Promise((done, fail) => { stream.once('response', done); stream.once('error', fail); });
    need(head[':status'] === 200, `refused: ${head[':status']}`);
    const sent = [0, 1, 125, 126, 65535, 65536, 1_000_000].map((size) => crypto.randomBytes(size));
    for (const message of sent) stream.write(frames.build(2, message, true));
    let buffer = Buffer.alloc(0);
    let next = 0;
    for await (const data of stream) {
      buffer = Buffer.concat([buffer, data]);
      for (let frame = frames.parse(buffer); frame; frame = frames.parse(buffer)) {
        buffer = buffer.subarray(frame.size);
        if (frame.opcode === 8) { stream.end(); return; }
        need(frame.payload.equals(sent[next]), `another message ${next}`);
        next += 1;
        if (next === sent.length) stream.write(frames.build(8, Buffer.from([3, 232]), true));
      }
    }
    throw new Error(`ended after ${next} messages`);
  },
};

session.on('error', (error) => { console.log(`session: ${error.message}`); process.exit(1); });
cases[process.argv[3]]().then(() => process.exit(0), (error) => {
  console.log(error.message);
  process.exit(1);
});
