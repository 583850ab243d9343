// Libraries as their documentation starts them, told a URL and nothing else: one client for each
// test, on an anonymous key and on one of the plan Builder.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { createSolanaRpc, generateKeyPairSigner } from '@solana/kit';
import { createConfig, getBalance, getBlockNumber, http as wagmiHTTP, readContract, readContracts } from '@wagmi/core';
import { JsonRpcProvider, Wallet } from 'ethers';
import { createPublicClient, erc20Abi, http } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { mainnet } from 'viem/chains';
import { Web3 } from 'web3';
import { anonymousKey } from '../client.js';
import { meterOf, watch } from './watch.js';

const address = () => privateKeyToAddress(generatePrivateKey());
const many = (n, read) => Promise.all(Array.from({ length: n }, read));
const usdc = { address: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', abi: erc20Abi };

// What each client does with a URL. It returns the balances of n new accounts.
const clients = {
  async viem(url, n) {
    const client = createPublicClient({ chain: mainnet, transport: http(url) });
    assert.ok(await client.getBlockNumber() > 0n);
    return many(n, () => client.getBalance({ address: address() }));
  },
  async 'viem with batches'(url, n) {
    const client = createPublicClient({ chain: mainnet, transport: http(url, { batch: true }) });
    assert.equal(await client.getChainId(), 1);
    return many(n, () => client.getBalance({ address: address() }));
  },
  async ethers(url, n) {
    const provider = new JsonRpcProvider(url);
    after(() => provider.destroy());
    assert.ok(await provider.getBlockNumber() > 0);
    return many(n, () => provider.getBalance(Wallet.createRandom().address));
  },
  async 'web3.js'(url, n) {
    const web3 = new Web3(url);
    assert.ok(await web3.eth.getBlockNumber() > 0n);
    return many(n, () => web3.eth.getBalance(web3.eth.accounts.create().address));
  },
  async wagmi(url, n) {
    const config = createConfig({ chains: [mainnet], transports: { [mainnet.id]: wagmiHTTP(url) } });
    assert.ok(await getBlockNumber(config) > 0n);
    assert.equal(await readContract(config, { ...usdc, functionName: 'decimals' }), 6);
    const [symbol, name] = await readContracts(config, { contracts: [{ ...usdc, functionName: 'symbol' }, { ...usdc, functionName: 'name' }] });
    assert.equal(symbol.result, 'USDC');
    assert.equal(name.status, 'success');
    return many(n, async () => (await getBalance(config, { address: address() })).value);
  },
};

// The fetch of browsers and Node.js takes no URL with a password, so that kit needs the header.
const solana = {
  async '@solana/kit'(base, key, n) {
    const rpc = createSolanaRpc(`${base}/rpc/solana_mainnet`, { headers: { Authorization: `Bearer ${key}` } });
    assert.ok(await rpc.getSlot().send() > 0n);
    assert.ok((await rpc.getLatestBlockhash().send()).value.blockhash);
    return many(n, async () => (await rpc.getBalance((await generateKeyPairSigner()).address).send()).value);
  },
};

async function run(name, watched, n) {
  const balances = clients[name] ? await clients[name](watched.urlOf('eth_mainnet'), n) : await solana[name](watched.base, watched.key, n);
  assert.equal(balances.length, n);
  for (const balance of balances) assert.equal(BigInt(balance), 0n);
  assert.deepEqual(watched.refusals, []);
  if (/batches|ethers/.test(name)) assert.ok(Math.max(...watched.batches) >= 45, `batches of ${watched.batches}`);
}

const names = [...Object.keys(clients), ...Object.keys(solana)];

describe('every client at its defaults', { concurrency: true }, () => {
  // A window of 100 requests in 20 seconds, of each key.
  for (const name of names) {
    test(`${name} on an anonymous key`, async () => {
      const watched = await watch(await anonymousKey());
      after(watched.close);
      const meter = await meterOf(watched.key);
      await run(name, watched, 90);
      await meter.charged([watched]);
    });
  }

  // A window of 300 requests in ten seconds, for which each waits in its turn.
  test('all on one Builder key', async (t) => {
    const key = process.env.API_KEY;
    const meter = await meterOf(key);
    const all = [];
    for (const name of names) {
      await t.test(name, async () => {
        const n = name === 'viem with batches' ? 250 : 100;
        await meter.room(n + 10);
        const watched = await watch(key);
        after(watched.close);
        all.push(watched);
        await run(name, watched, n);
      });
    }
    await meter.charged(all);
  });
});
