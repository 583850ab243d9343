// What the tests share: where to send calls, how fast, and the sandbox's public test keys.
//
// RPC_URL  the JSON-RPC endpoint of one chain: an upstream of the sandbox, or https://…/rpc/{chain} of the gateway
// API_KEY  optional; sent as "Authorization: Bearer …"
import { createHmac, pbkdf2Sync } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

export const url = process.env.RPC_URL;
if (!url) throw new Error('set RPC_URL to the JSON-RPC endpoint to test');

export const headers = process.env.API_KEY ? { Authorization: `Bearer ${process.env.API_KEY}` } : {};

// An anonymous key of the gateway allows five requests a second.
const spacing = process.env.API_KEY ? 250 : 0;
let next = 0;

export async function paced() {
  const now = Date.now();
  const at = Math.max(now, next);
  next = at + spacing;
  if (at > now) await pause(at - now);
}

export async function eventually(what, attempt, patienceMs = 60_000) {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const value = await attempt();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`${what}: not within ${patienceMs} ms`);
    await pause(300);
  }
}

export const mnemonic = 'test test test test test test test test test test test junk';

// The seed of m/44'/501'/index'/0' (SLIP-10), the path of Solana wallets.
export function solanaSeed(index) {
  const split = (key, data) => {
    const sum = createHmac('sha512', key).update(data).digest();
    return [sum.subarray(0, 32), sum.subarray(32)];
  };
  let [key, code] = split('ed25519 seed', pbkdf2Sync(mnemonic, 'mnemonic', 2048, 64, 'sha512'));
  for (const step of [44, 501, index, 0]) {
    const data = Buffer.alloc(37);
    key.copy(data, 1);
    data.writeUInt32BE(step + 0x80000000, 33);
    [key, code] = split(code, data);
  }
  return new Uint8Array(key);
}
