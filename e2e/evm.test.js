// viem, as published, against an EVM endpoint.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPublicClient, createWalletClient, custom, defineChain, http, parseAbiItem, parseEther } from 'viem';
import { generatePrivateKey, mnemonicToAccount, privateKeyToAddress } from 'viem/accounts';
import { headers, mnemonic, paced, url } from './client.js';

const base = http(url, { fetchOptions: { headers }, retryCount: 0 })({});
const transport = custom(
  {
    async request(args) {
      await paced();
      return base.request(args);
    },
  },
  { retryCount: 0 },
);
const client = createPublicClient({ transport, pollingInterval: 500 });

test('chain id, head and an old block agree', async () => {
  assert.ok((await client.getChainId()) > 0);
  const head = await client.getBlockNumber({ cacheTime: 0 });
  const block = await client.getBlock({ blockNumber: head - 64n });
  assert.equal(block.number, head - 64n);
  assert.equal((await client.getBlock({ blockHash: block.hash })).number, block.number);
});

test('logs of the sandbox contract decode', async () => {
  const head = await client.getBlockNumber({ cacheTime: 0 });
  const logs = await client.getLogs({
    event: parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)'),
    fromBlock: head - 60n,
    toBlock: head,
  });
  assert.ok(logs.length > 0);
  assert.ok(logs[0].args.value > 0n);
});

test('a signed transfer of a funded account is mined', async () => {
  const chain = defineChain({
    id: await client.getChainId(),
    name: 'sandbox',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  });
  const wallet = createWalletClient({ account: mnemonicToAccount(mnemonic, { addressIndex: 3 }), chain, transport });
  const to = privateKeyToAddress(generatePrivateKey());
  const hash = await wallet.sendTransaction({ to, value: parseEther('0.5') });
  const receipt = await client.waitForTransactionReceipt({ hash, timeout: 60_000 });
  assert.equal(receipt.status, 'success');
  assert.equal(await client.getBalance({ address: to }), parseEther('0.5'));
});
