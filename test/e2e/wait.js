import { setTimeout as pause } from 'node:timers/promises';

// Polls attempt until it returns a truthy value; fails after patienceMs.
export async function eventually(what, attempt, patienceMs = 60_000) {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const value = await attempt();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`${what}: not within ${patienceMs} ms`);
    await pause(200);
  }
}

// Fetches like a well-behaved client: it retries after Retry-After when it is rate limited or the
// service is unavailable.
export async function fetchAsTold(url, options, patienceMs = 150_000) {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const response = await fetch(url, options);
    const wait = Number(response.headers.get('Retry-After'));
    if (![429, 503].includes(response.status) || !wait || Date.now() + wait * 1000 > deadline) return response;
    await response.body?.cancel();
    await pause(wait * 1000);
  }
}
