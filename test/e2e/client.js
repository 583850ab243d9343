// Shared by the tests: the gateway's URL, its chains, a contract, and the sandbox's public test
// keys.
//
// GATEWAY_URL  base URL of a gateway with the sandbox's chains
// API_KEY      a key whose plan allows what the tests send
import { createHmac, pbkdf2Sync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import * as chains from 'viem/chains';

for (const name of ['GATEWAY_URL', 'API_KEY']) {
  if (!process.env[name]) throw new Error(`set ${name}: see README.md`);
}
export const gateway = process.env.GATEWAY_URL;
export const headers = { Authorization: `Bearer ${process.env.API_KEY}` };
export const urlOf = (chain) => `${gateway}/rpc/${chain}`;

// The EVM chains as viem defines them: the sandbox uses the real chain ids.
export const evmChains = {
  eth_mainnet: chains.mainnet,
  base_mainnet: chains.base,
  arbitrum_one: chains.arbitrum,
  optimism_mainnet: chains.optimism,
  polygon_pos: chains.polygon,
};

export const artefact = JSON.parse(readFileSync(new URL('./contracts/Sample.json', import.meta.url), 'utf8'));

export { eventually, fetchAsTold } from './wait.js';

// Returns a random address of the loopback range: a user in a network of his own.
export const network = () => `127.${[0, 0, 0].map(() => 1 + Math.floor(Math.random() * 254)).join('.')}`;

// Returns a new anonymous key with a rate window of its own. A network gets three a day, so each
// key is asked for from another.
export function anonymousKey() {
  return new Promise((resolve, reject) => {
    request(`${gateway}/keys`, { method: 'POST', localAddress: network() }, async (response) => {
      const parts = await response.toArray();
      const body = Buffer.concat(parts).toString();
      if (response.statusCode === 201) resolve(JSON.parse(body).key);
      else reject(new Error(`POST /keys answered ${response.statusCode}: ${body}`));
    }).on('error', reject).end();
  });
}

// Sends a call over plain HTTP, for what clients do not show.
export async function post(chain, method, params, more = {}) {
  const response = await fetch(urlOf(chain), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers, ...more },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

export const mnemonic = 'test test test test test test test test test test test junk';

// Returns the seed of m/44'/501'/index'/0' (SLIP-10), the path of Solana wallets.
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
