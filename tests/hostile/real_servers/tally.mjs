// What every JavaScript server of real_servers.py does, as a function of method and URL: counts what is delivered.
const seen = new Map();
export const HOLD_MS = 40; // so that the requests of a wave need a connection each

// {body, hold}: what to answer, and whether to wait before.
export function answer(method, target) {
  const url = new URL(target, 'http://here');
  if (url.pathname === '/counts') return { body: JSON.stringify([...seen]), hold: false };
  const key = `${method} ${url.pathname}`;
  seen.set(key, (seen.get(key) ?? 0) + 1);
  return { body: url.pathname, hold: url.search === '?hold' };
}
