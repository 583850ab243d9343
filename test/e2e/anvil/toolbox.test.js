// Gas, transaction status and prices over anvil, which shares no code with the sandbox's node,
// compared with what ethers reads from the same chain.
//
// GATEWAY_URL, API_KEY        as in ../client.js
// ETHEREUM_NODE, BASE_NODE    the two anvils behind the gateway, which mine only on request
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { AbiCoder, Contract, HDNodeWallet, JsonRpcProvider, keccak256, Network, parseUnits, Wallet } from 'ethers';
import { eventually, gateway, headers, mnemonic, post } from '../client.js';

const connect = (url, id) => new JsonRpcProvider(url, Network.from(id), { staticNetwork: true, batchMaxCount: 1 });
const ethereum = connect(process.env.ETHEREUM_NODE, 1);
const signer = HDNodeWallet.fromPhrase(mnemonic, undefined, "m/44'/60'/0'/0/0").connect(ethereum);
const mine = () => ethereum.send('evm_mine', []);
const gwei = (text) => parseUnits(text, 'gwei');
let nonce;

before(async () => {
  nonce = await signer.getNonce();
});
after(() => ethereum.destroy());

async function use(path) {
  const response = await fetch(`${gateway}/toolbox/${path}`, { headers });
  return { status: response.status, hit: response.headers.get('x-service-cache') === 'hit', body: await response.json() };
}

// Signs a transaction of the account.
const signed = (fields) =>
  signer.signTransaction({
    type: 2, chainId: 1, nonce: nonce++, gasLimit: 21_000, to: Wallet.createRandom().address, value: 1,
    maxFeePerGas: gwei('20'), maxPriorityFeePerGas: gwei('1'), ...fields,
  });

test('gas is that of the blocks that count, over the base fee of the next block', async () => {
  for (let block = 1n; block <= 3n; block++) {
    for (let i = 1n; i <= 10n; i++) {
      await ethereum.send('eth_sendRawTransaction', [await signed({ maxPriorityFeePerGas: i * block * gwei('0.1') })]);
    }
    await mine();
  }
  await mine(); // an empty block, which does not count
  const { status, body } = await use('gas/eth_mainnet');
  assert.equal(status, 200);
  const newest = await ethereum.getBlock('latest');
  assert.equal(body.computed_from.newest_block, newest.number);
  assert.equal(body.computed_from.blocks_counted, 3);
  const { reward, gasUsedRatio } = await ethereum.send('eth_feeHistory', ['0x14', 'latest', [10, 50, 90]]);
  const counted = reward.filter((_, i) => gasUsedRatio[i] >= 0.1);
  assert.equal(counted.length, 3);
  const base = BigInt(body.base_fee_per_gas);
  const offers = body.recommendations;
  [['slow', 5n, 4n], ['standard', 3n, 2n], ['fast', 2n, 1n]].forEach(([name, over, under], k) => {
    const column = counted.map((row) => BigInt(row[k])).sort((a, b) => (a < b ? -1 : 1));
    const tip = BigInt(offers[name].max_priority_fee_per_gas);
    assert.equal(tip, column[1], `tip of ${name}`);
    assert.equal(BigInt(offers[name].max_fee_per_gas), (base * over + under - 1n) / under + tip, `most of ${name}`);
    assert.equal(gwei(offers[name].max_fee_per_gas_gwei), BigInt(offers[name].max_fee_per_gas));
  });
  assert.ok(BigInt(offers.slow.max_priority_fee_per_gas) < BigInt(offers.fast.max_priority_fee_per_gas));
  const { max_fee_per_gas: maxFeePerGas, max_priority_fee_per_gas: maxPriorityFeePerGas } = offers.slow;
  const hash = await ethereum.send('eth_sendRawTransaction', [await signed({ maxFeePerGas, maxPriorityFeePerGas })]);
  await mine();
  const receipt = await ethereum.getTransactionReceipt(hash);
  assert.equal(receipt.status, 1);
  assert.equal((await ethereum.getBlock(receipt.blockNumber)).baseFeePerGas, base, 'the base fee that was foretold');
  assert.equal(receipt.gasPrice, base + BigInt(maxPriorityFeePerGas));
});

test('a network of that name without a fee oracle says so', async () => {
  const { status, body } = await use('gas/base_mainnet');
  assert.equal(status, 200);
  assert.equal(body.l1_data_fee, undefined);
  assert.match(body.note, /Ethereum/);
  assert.equal(body.recommendations.fast.max_priority_fee_per_gas, '1000000'); // nearly empty blocks: the floor
});

test('a transaction is followed from nowhere to its block', async () => {
  const raw = await signed({});
  const hash = keccak256(raw);
  const path = `tx/eth_mainnet/${hash}`;
  assert.equal((await use(path)).body.status, 'unknown');
  assert.equal((await post('eth_mainnet', 'eth_sendRawTransaction', [raw])).body.result, hash);
  const pending = await eventually('the transaction is pending', async () => {
    const { body } = await use(path);
    return body.status === 'pending' && body;
  });
  assert.equal(pending.block_number, undefined);
  await mine();
  await mine();
  const { body } = await eventually('the transaction is confirmed', async () => {
    const answer = await use(path);
    return answer.body.status === 'confirmed' && answer;
  });
  const receipt = await ethereum.getTransactionReceipt(hash);
  assert.equal(body.block_number, receipt.blockNumber);
  assert.equal(body.confirmations, await receipt.confirmations());
  assert.equal(BigInt(body.gas_used), receipt.gasUsed);
  assert.equal(BigInt(body.effective_gas_price_wei), receipt.gasPrice);
  assert.equal(body.hash, hash);
  assert.ok((await use(path)).hit);
});

test('a transaction that reverts has failed', async () => {
  const hash = await ethereum.send('eth_sendRawTransaction', [await signed({ to: null, value: 0, data: '0x60006000fd', gasLimit: 100_000 })]);
  await mine();
  const { body } = await use(`tx/eth_mainnet/${hash}`);
  const receipt = await ethereum.getTransactionReceipt(hash);
  assert.equal(receipt.status, 0);
  assert.equal(body.status, 'failed');
  assert.equal(BigInt(body.gas_used), receipt.gasUsed);
});

test('prices are what the feeds say', async () => {
  const artefact = JSON.parse(readFileSync(new URL('../../../internal/sandbox/contracts/PriceFeed.json', import.meta.url), 'utf8')).contracts.PriceFeed;
  const feeds = {
    eth: ['0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419', 8, 294_137_000_000n],
    btc: ['0xF4030086522a5bEEa4988F8cA5B36dbC97BeE88c', 18, 96_512_040_000_000_000_000_001n],
    link: ['0x2c1d072e956AFFC0D435Cb7AC38EF18d24d9127c', 8, -1n],
  };
  const missing = await use('prices');
  assert.equal(missing.status, 502);
  assert.equal(missing.body.error.code, -32022);
  const now = Math.floor(Date.now() / 1000);
  for (const [address, decimals, answer] of Object.values(feeds)) {
    const args = AbiCoder.defaultAbiCoder().encode(['string', 'uint8', 'int256'], ['X / USD', decimals, 1]);
    const code = await ethereum.send('eth_call', [{ data: artefact.bytecode + args.slice(2), gas: '0x1e8480' }, 'latest']);
    await ethereum.send('anvil_setCode', [address, code]);
    const feed = new Contract(address, artefact.abi, signer);
    const { data } = await feed.submit.populateTransaction(answer, now - 60);
    await ethereum.send('eth_sendRawTransaction', [await signed({ to: address, value: 0, data, gasLimit: 500_000 })]);
  }
  await mine();
  const { status, body } = await use('prices?symbols=btc,ETH,link,eth');
  assert.equal(status, 200);
  assert.equal(body.quote, 'usd');
  assert.deepEqual(
    Object.entries(body.prices).map(([symbol, p]) => [symbol, p.price, p.stale, p.decimals]),
    [
      ['btc', '96512.040000000000000001', false, 18],
      ['eth', '2941.37', false, 8],
      ['link', null, true, 8],
    ],
  );
  for (const [symbol, [address]] of Object.entries(feeds)) {
    const round = await new Contract(address, artefact.abi, ethereum).latestRoundData();
    assert.equal(BigInt(body.prices[symbol].round_id), round[0]);
    assert.equal(Date.parse(body.prices[symbol].updated_at) / 1000, Number(round[3]));
  }
});
