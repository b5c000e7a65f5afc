// A line per check, ok or FAIL, with the client's name in front.
let failed = 0;

export async function check(name, body) {
  const begin = Date.now();
  try {
    const said = await body();
    console.log(`ok   ${name}${said ? `: ${said}` : ''} (${Date.now() - begin} ms)`);
  } catch (fault) {
    failed = 1;
    console.log(`FAIL ${name}: ${fault.stack?.split('\n').slice(0, 3).join(' ') ?? fault}${fault.cause ? ` (${fault.cause})` : ''}`);
  }
}

export function same(seen, expected, what = 'value') {
  const [a, b] = [seen, expected].map((value) => JSON.stringify(value));
  if (a !== b) throw new Error(`${what}: expected ${b}, seen ${a}`);
}

export function need(condition, text) {
  if (!condition) throw new Error(text);
}

export const after = (ms) => new Promise((done) => { setTimeout(done, ms); });
export const end = () => process.exit(failed);
export const TEXT = 'Silence is not an error.';
