// Checks of an example: a line each, "N passed, N failed" at the end.
let passed = 0, failed = 0;

export async function check(name, body) {
  try {
    const said = await body();
    console.log(`ok   ${name}${said ? ` (${said})` : ''}`);
    passed += 1;
  } catch (fault) {
    console.log(`FAIL ${name}: ${fault.stack?.split('\n').slice(0, 2).join(' ') || fault}${fault.cause ? ` (${fault.cause})` : ''}`);
    failed += 1;
  }
}

export function same(seen, expected, what = 'value') {
  const [a, b] = [seen, expected].map((value) => JSON.stringify(value));
  if (a !== b) throw new Error(`${what}: expected ${b}, seen ${a}`);
}

export function need(condition, text) {
  if (!condition) throw new Error(text);
}

export function finish() {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed || !passed ? 1 : 0);
}

// Resolves with what `ask` gives, once it gives something.
export async function eventually(ask, what, ms = 10000) {
  for (const limit = Date.now() + ms; Date.now() < limit;) {
    const got = await ask();
    if (got) return got;
    await new Promise((done) => { setTimeout(done, 20); });
  }
  throw new Error(`${what}: not within ${ms} ms`);
}

// The events of a server-sent stream, as they come.
export async function* eventsOf(response) {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const part of response.body) {
    rest += decoder.decode(part, { stream: true });
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const lines = rest.slice(0, end).split('\n');
      rest = rest.slice(end + 2);
      yield Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]));
    }
  }
  if (rest) throw new Error(`the stream was cut in an event: ${rest}`);
}
