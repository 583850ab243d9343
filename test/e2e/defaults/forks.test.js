// Nodes that fork a chain from the gateway, told a URL and nothing else: they start, read through
// the fork and mine a transaction on it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { anonymousKey, eventually } from '../client.js';
import { meterOf, watch } from './watch.js';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const usdc = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const account = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'; // the first of both
const decimals = '0x313ce567';

// The start of each, the line in which it says where it listens, and the refusals that it expects:
// anvil asks once for each account whether the node has a method of Reth.
const forks = {
  anvil: {
    start: (url) => [process.env.ANVIL ?? path('../node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil'), '--port', '0', '--fork-url', url],
    listens: /^Listening on (\S+)/,
    probes: /"eth_getAccountInfo" is not in the method catalog/,
  },
  Hardhat: {
    start: (url) => [process.execPath, path('node_modules/hardhat/internal/cli/bootstrap.js'), 'node', '--hostname', '127.0.0.1', '--port', '0', '--fork', url],
    listens: /server at http:\/\/([^/]+)/,
    probes: /^$/,
  },
};

// Starts a fork and returns functions that call it and end it.
async function fork({ start, listens }, url) {
  const [program, ...args] = start(url);
  const child = spawn(program, args, { cwd: path('.'), stdio: ['ignore', 'pipe', 'inherit'], timeout: 60_000 });
  const ended = once(child, 'exit');
  const end = () => { child.kill(); return ended; };
  after(end);
  for await (const line of createInterface({ input: child.stdout })) {
    const at = line.match(listens)?.[1];
    if (!at) continue;
    child.stdout.resume();
    const call = async (method, ...params) => {
      const response = await fetch(`http://${at}`, {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
      const { result, error } = await response.json();
      assert.equal(error, undefined, method);
      return result;
    };
    return { call, end };
  }
  throw new Error(`${program} ended before it listened`);
}

async function run(kind, watched) {
  const { call, end } = await fork(kind, watched.urlOf('eth_mainnet'));
  const head = BigInt(await call('eth_blockNumber'));
  assert.ok(head > 0n);
  assert.equal(BigInt(await call('eth_call', { to: usdc, data: decimals }, 'latest')), 6n);
  await call('eth_sendTransaction', { from: account, to: usdc, data: decimals });
  await eventually('the block of the transaction', async () => BigInt(await call('eth_blockNumber')) === head + 1n);
  await end();
  assert.deepEqual(watched.refusals.filter((refusal) => !kind.probes.test(refusal.message)), []);
}

describe('forks at their defaults', { concurrency: true }, () => {
  for (const [name, kind] of Object.entries(forks)) {
    test(`${name} on an anonymous key`, async () => {
      const watched = await watch(await anonymousKey());
      after(watched.close);
      const meter = await meterOf(watched.key);
      await run(kind, watched);
      await meter.charged([watched]);
    });
  }

  test('both on one Builder key', async (t) => {
    const key = process.env.API_KEY;
    const meter = await meterOf(key);
    const all = [];
    for (const [name, kind] of Object.entries(forks)) {
      await t.test(name, async () => {
        const watched = await watch(key);
        after(watched.close);
        all.push(watched);
        await run(kind, watched);
      });
    }
    await meter.charged(all);
  });
});
