// A chain that is not built in: the upstreams file defines it, and an anvil with a chain id of its
// own is its only upstream.
//
// GATEWAY_URL, API_KEY  as in ../client.js
// ADDED_NODE            the anvil behind the chain "local", which mines only on request
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { formatEther, HDNodeWallet, JsonRpcProvider, Network, Wallet } from 'ethers';
import { eventually, gateway, headers, mnemonic, post } from '../client.js';

const chainId = 31337;
const node = new JsonRpcProvider(process.env.ADDED_NODE, Network.from(chainId), { staticNetwork: true, batchMaxCount: 1 });
const wallet = HDNodeWallet.fromPhrase(mnemonic, undefined, "m/44'/60'/0'/0/3");
const read = async (path) => (await fetch(`${gateway}${path}`, { headers })).json();
const month = `${new Date().toISOString().slice(0, 7)}-01`;

// Returns the requests and the units of the chain on the key's open statement.
async function stated() {
  const { keys } = await read(`/api/statements/${month}`);
  const of = keys.flatMap((key) => key.chains).filter((one) => one.chain === 'local');
  return of.length === 0 ? null : of[0];
}

before(() => node.send('anvil_mine', ['0x14']));
after(() => node.destroy());

test('calls go to the chain that the file defines', async () => {
  const id = await post('local', 'eth_chainId', []);
  assert.equal(id.body.result, '0x7a69');
  assert.equal(id.headers.get('x-service-cache'), 'hit');
  const balance = await post('local', 'eth_getBalance', [wallet.address, 'latest']);
  assert.equal(balance.body.result, await node.send('eth_getBalance', [wallet.address, 'latest']));
  const tooMany = await post('local', 'eth_getLogs', [{ fromBlock: '0x0', toBlock: '0x64' }]);
  assert.equal(tooMany.body.error.data.max_blocks, 100);
  const unknown = await post('local', 'bor_getAuthor', []);
  assert.equal(unknown.body.error.code, -32601);
  const absent = await post('sepolia', 'eth_chainId', []);
  assert.equal(absent.status, 404);
  assert.match(absent.body.error.message, /local/);
});

test('a transaction is sent, mined and followed', async () => {
  const raw = await wallet.signTransaction({
    type: 2, chainId, nonce: await node.getTransactionCount(wallet.address), gasLimit: 21_000, value: 1,
    to: Wallet.createRandom().address, maxFeePerGas: 20_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n,
  });
  const sent = await post('local', 'eth_sendRawTransaction', [raw]);
  assert.match(sent.body.result, /^0x[0-9a-f]{64}$/);
  await node.send('evm_mine', []);
  const found = await eventually('the transaction in its block', async () => {
    const answer = await read(`/toolbox/tx/local/${sent.body.result}`);
    return answer.status === 'confirmed' && answer;
  });
  assert.equal(found.chain, 'local');
  const receipt = await post('local', 'eth_getTransactionReceipt', [sent.body.result]);
  assert.equal(receipt.body.result.transactionHash, sent.body.result);
});

test('an answer is cached once its block is final by the definition', async () => {
  const block = await node.getBlock(2);
  await eventually('a cache hit', async () => {
    const { body, headers: sent } = await post('local', 'eth_getBlockByHash', [block.hash, false]);
    assert.equal(body.result.hash, block.hash);
    return sent.get('x-service-cache') === 'hit';
  });
});

test('the toolbox, the status and the description have the chain', async () => {
  const gas = await read('/toolbox/gas/local');
  assert.ok(BigInt(gas.base_fee_per_gas) > 0n);
  const held = await read(`/data/local/balances/${wallet.address}`);
  assert.equal(held.native.symbol, 'LCL');
  assert.equal(held.native.formatted, formatEther(held.native.balance).replace(/\.0$/, ''));
  const { chains } = await read('/status.json');
  assert.equal(chains.find((one) => one.chain === 'local').title, 'Local Anvil');
  const description = await read('/openapi.json');
  const path = description.paths['/rpc/{chain}'].post.parameters.find((one) => one.name === 'chain');
  assert.ok(path.schema.enum.includes('local'));
});

test('its calls are on the statement', async () => {
  const before = await post('local', 'eth_gasPrice', []);
  assert.ok(before.body.result);
  const chain = await eventually('the statement', stated, 180_000);
  assert.ok(Number(chain.totals.requests) >= 1);
  const csv = await (await fetch(`${gateway}/api/statements/${month}.csv`, { headers })).text();
  assert.match(csv, /local/);
});
