// gRPC in Node with @grpc/grpc-js: h2_grpc.js serve | h2_grpc.js call HOST:PORT. The service of h2_grpc.py.
'use strict';
const grpc = require('@grpc/grpc-js');
const same = (bytes) => bytes;
const method = (name, requestStream, responseStream) => ({ path: `/echo.Echo/${name}`, requestStream, responseStream,
  requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same });
const service = { Unary: method('Unary', false, false), Fails: method('Fails', false, false), Slow: method('Slow', false, false),
  Cancelled: method('Cancelled', false, false), Server: method('Server', false, true), Client: method('Client', true, false),
  Bidi: method('Bidi', true, true) };
const options = { 'grpc.max_receive_message_length': 16_000_000 };
const sleep = (ms) => new Promise((done) => { setTimeout(done, ms); });

function serve() {
  let cancelled = 0;
  const server = new grpc.Server(options);
  server.addService(service, {
    Unary(call, done) {
      const initial = new grpc.Metadata();
      initial.set('x-initial', String(call.metadata.get('x-sent')[0] || ''));
      call.sendMetadata(initial);
      const trailing = new grpc.Metadata();
      trailing.set('x-trailing', 'end');
      trailing.set('x-bytes-bin', Buffer.from([0, 255]));
      done(null, call.request, trailing);
    },
    Fails(call, done) { done({ code: grpc.status.NOT_FOUND, details: 'nichts gefunden: ü%' }); },
    Slow(call, done) {
      const timer = setTimeout(() => done(null, Buffer.from('late')), 20_000);
      call.on('cancelled', () => { clearTimeout(timer); cancelled += 1; });
    },
    Cancelled(call, done) { done(null, Buffer.from(String(cancelled))); },
    async Server(call) {
      for (let n = 0; n < Number(call.request); n += 1) { call.write(Buffer.from(`message ${n}`)); await sleep(20); }
      call.end();
    },
    Client(call, done) {
      let sum = 0;
      call.on('data', (data) => { sum += data.length; });
      call.on('end', () => done(null, Buffer.from(String(sum))));
    },
    Bidi(call) {
      call.on('data', (data) => call.write(Buffer.from(data).reverse()));
      call.on('end', () => call.end());
    },
  });
  server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => console.log(port));
}

function need(condition, text) {
  if (!condition) throw new Error(text);
}

async function call(address) {
  const client = new (grpc.makeGenericClientConstructor(service, 'Echo'))(address, grpc.credentials.createInsecure(), options);
  const limit = () => ({ deadline: Date.now() + 30_000 });
  const unary = (name, request, metadata = new grpc.Metadata(), more = limit()) => new Promise((done) => {
    const got = {};
    const going = client[name](request, metadata, more, (error, answer) => { got.error = error; got.answer = answer; });
    going.on('metadata', (initial) => { got.initial = initial; });
    going.on('status', (status) => { setImmediate(() => done({ ...got, status })); });
    if (more.cancelAfter) setTimeout(() => going.cancel(), more.cancelAfter);
  });
  for (const size of [0, 1, 100_000, 3_000_000]) {
    const { error, answer } = await unary('Unary', Buffer.alloc(size, 'u'));
    need(!error && answer.length === size, `another message of ${size} bytes: ${error}`);
  }
  const metadata = new grpc.Metadata();
  metadata.set('x-sent', 'there');
  const about = await unary('Unary', Buffer.from('x'), metadata);
  need(about.initial.get('x-initial')[0] === 'there', 'initial metadata');
  need(about.status.metadata.get('x-bytes-bin')[0].equals(Buffer.from([0, 255])), 'trailing metadata');
  const messages = [];
  for await (const data of client.Server(Buffer.from('20'), limit())) messages.push(String(data));
  need(messages.length === 20 && messages.every((text, n) => text === `message ${n}`), `${messages}`);
  await new Promise((done, fail) => {
    const going = client.Client(new grpc.Metadata(), limit(), (error, answer) => {
      if (error || String(answer) !== '2000000') fail(new Error(`client streaming: ${error} ${answer}`)); else done();
    });
    for (let n = 0; n < 20; n += 1) going.write(Buffer.alloc(100_000, 'a'));
    going.end();
  });
  const bidi = client.Bidi(limit());
  let next = 0;
  bidi.write(Buffer.from('question 0'));
  for await (const data of bidi) {
    need(String(Buffer.from(data).reverse()) === `question ${next}`, `another answer ${next}`);
    next += 1;
    if (next < 20) bidi.write(Buffer.from(`question ${next}`)); else bidi.end();
  }
  need(next === 20, `${next} answers`);
  const { error } = await unary('Fails', Buffer.from('x'));
  need(error && error.code === grpc.status.NOT_FOUND && error.details === 'nichts gefunden: ü%', `${error}`);
  const late = await unary('Slow', Buffer.from('x'), new grpc.Metadata(), { deadline: Date.now() + 500 });
  need(late.error.code === grpc.status.DEADLINE_EXCEEDED, `${late.error}`);
  const gone = await unary('Slow', Buffer.from('x'), new grpc.Metadata(), { ...limit(), cancelAfter: 300 });
  need(gone.error.code === grpc.status.CANCELLED, `${gone.error}`);
  const many = await Promise.all(Array.from({ length: 200 }, (_, n) => unary('Unary', Buffer.from(String(n)))));
  need(many.every((got, n) => !got.error && String(got.answer) === String(n)), 'many at a time');
  const end = Date.now() + 10_000;
  for (let count = ''; count !== '2';) {
    count = String((await unary('Cancelled', Buffer.alloc(0))).answer);
    need(count === '2' || Date.now() < end, `${count} of 2 calls were cancelled there`);
    await sleep(100);
  }
  client.close();
}

async function unavailable(address) {
  const client = new (grpc.makeGenericClientConstructor(service, 'Echo'))(address, grpc.credentials.createInsecure());
  await new Promise((done, fail) => {
    client.Unary(Buffer.from('x'), { deadline: Date.now() + 20_000 }, (error) => {
      if (error && error.code === grpc.status.UNAVAILABLE) done(); else fail(new Error(`${error}`));
    });
  });
}

if (process.argv[2] === 'serve') serve();
else {
  ({ call, unavailable })[process.argv[2]](process.argv[3]).then(() => process.exit(0), (error) => {
    console.log(error.message);
    process.exit(1);
  });
}
