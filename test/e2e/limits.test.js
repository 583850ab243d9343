// Clients that know nothing about rate limits, with an anonymous key's rate of five requests per
// second, of which twenty seconds may come at once.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createSolanaRpc, isSolanaError, SOLANA_ERROR__RPC__TRANSPORT_HTTP_ERROR } from '@solana/kit';
import { FetchRequest, JsonRpcProvider } from 'ethers';
import { createPublicClient, http, LimitExceededRpcError } from 'viem';
import { anonymousKey, evmChains, urlOf } from './client.js';

const anonymous = async () => ({ Authorization: `Bearer ${await anonymousKey()}` });
const many = Array.from({ length: 130 }, (_, i) => BigInt(i));

test('viem waits and retries, so that all reads come through when it may retry often enough', async () => {
  const headers = await anonymous();
  const transport = http(urlOf('base_mainnet'), { fetchOptions: { headers }, retryCount: 8 });
  const client = createPublicClient({ chain: evmChains.base_mainnet, transport });
  const blocks = await Promise.all(many.map((blockNumber) => client.getBlock({ blockNumber })));
  assert.deepEqual(
    blocks.map((b) => b.number),
    many,
  );
});

test('without retries viem names the limit', async () => {
  const headers = await anonymous();
  const transport = http(urlOf('base_mainnet'), { fetchOptions: { headers }, retryCount: 0 });
  const client = createPublicClient({ chain: evmChains.base_mainnet, transport });
  const answers = await Promise.allSettled(many.map((blockNumber) => client.getBlock({ blockNumber })));
  const refused = answers.filter((a) => a.status === 'rejected');
  assert.ok(refused.length > 0 && refused.length < many.length, `${refused.length} of ${many.length} were refused`);
  for (const { reason } of refused) assert.ok(reason.walk((e) => e instanceof LimitExceededRpcError), String(reason));
});

test('ethers comes through when it waits for the seconds of Retry-After and sends one call per request', async () => {
  const headers = await anonymous();
  const request = new FetchRequest(urlOf('base_mainnet'));
  request.setHeader('Authorization', headers.Authorization);
  // ethers' own retry takes the seconds of Retry-After for milliseconds, and gives up before the
  // window has moved.
  request.retryFunc = async (_, response, attempt) => {
    await pause(Number(response.headers['retry-after']) * 1_000 * (1 + Math.random()));
    return attempt < 10;
  };
  const provider = new JsonRpcProvider(request, 8453, { batchMaxCount: 1, staticNetwork: true });
  after(() => provider.destroy());
  const blocks = await Promise.all(many.map((n) => provider.getBlock(Number(n))));
  assert.deepEqual(
    blocks.map((b) => BigInt(b.number)),
    many,
  );
});

test('in a batch, which ethers makes by default, what is over the limit is refused by itself', async () => {
  const headers = await anonymous();
  const request = new FetchRequest(urlOf('base_mainnet'));
  request.setHeader('Authorization', headers.Authorization);
  const provider = new JsonRpcProvider(request, 8453, { staticNetwork: true });
  after(() => provider.destroy());
  const answers = await Promise.allSettled(many.map((n) => provider.getBlock(Number(n))));
  const refused = answers.filter((a) => a.status === 'rejected');
  assert.ok(refused.length > 0 && refused.length < many.length, `${refused.length} of ${many.length} were refused`);
  for (const { reason } of refused) assert.equal(reason.error.code, -32005, String(reason));
});

test('@solana/kit shows the status and the headers that say when to come back', async () => {
  const headers = await anonymous();
  const rpc = createSolanaRpc(urlOf('solana_mainnet'), { headers });
  const slot = await rpc.getSlot().send();
  const answers = await Promise.allSettled(many.map((n) => rpc.getBlockTime(slot - n).send()));
  const refused = answers.map((a) => a.reason).filter((e) => isSolanaError(e, SOLANA_ERROR__RPC__TRANSPORT_HTTP_ERROR));
  assert.ok(refused.length > 0 && refused.length < many.length, `${refused.length} of ${many.length} were refused`);
  for (const { context } of refused) {
    assert.equal(context.statusCode, 429);
    assert.match(context.headers.get('Retry-After'), /^[1-9]\d*$/);
    assert.equal(context.headers.get('RateLimit-Limit'), '100');
  }
});
