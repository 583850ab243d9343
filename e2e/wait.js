import { setTimeout as pause } from 'node:timers/promises';

// Waits until attempt gives something, with a deadline.
export async function eventually(what, attempt, patienceMs = 60_000) {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const value = await attempt();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`${what}: not within ${patienceMs} ms`);
    await pause(200);
  }
}
