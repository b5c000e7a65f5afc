// Bun.serve: bun.mjs PORT IDLE_MS
import { answer, HOLD_MS } from './tally.mjs';

const [port, idle] = process.argv.slice(2).map(Number);
Bun.serve({
  port,
  hostname: '127.0.0.1',
  idleTimeout: Math.max(1, Math.round(idle / 1000)),
  async fetch(request) {
    await request.arrayBuffer();
    const { body, hold } = answer(request.method, request.url);
    if (hold) await Bun.sleep(HOLD_MS);
    return new Response(body);
  },
});
