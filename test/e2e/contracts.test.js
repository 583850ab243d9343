// Stock clients find the sandbox's contracts at the addresses that are built into them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { EnsPlugin, FetchRequest, JsonRpcProvider, Network } from 'ethers';
import { createPublicClient, erc20Abi, http, parseAbi } from 'viem';
import { mnemonicToAccount } from 'viem/accounts';
import { evmChains, headers, mnemonic, urlOf } from './client.js';

const funded = (addressIndex) => mnemonicToAccount(mnemonic, { addressIndex });
const viem = (name) => createPublicClient({ chain: evmChains[name], transport: http(urlOf(name), { fetchOptions: { headers } }) });
const ethereum = viem('eth_mainnet');

const open = [];
const ethers = (network) => {
  const request = new FetchRequest(urlOf('eth_mainnet'));
  request.setHeader('Authorization', headers.Authorization);
  const provider = new JsonRpcProvider(request, network, network && { staticNetwork: true });
  open.push(provider);
  return provider;
};
after(() => open.forEach((p) => p.destroy()));

const usdc = {
  eth_mainnet: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
  base_mainnet: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  arbitrum_one: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
  optimism_mainnet: '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85',
  polygon_pos: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
};

// Names and the accounts to which they resolve; the last three are resolved by an off-chain gateway
// (EIP-3668).
const names = {
  'sandbox.eth': 0,
  'alice.sandbox.eth': 1,
  'bob.sandbox.eth': 2,
  'carol.offchain.sandbox.eth': 3,
  'dave.direct.sandbox.eth': 4,
  'erin.offchain.sandbox.eth': 5,
};

test('viem resolves names at its own UniversalResolver, off the chain too', async () => {
  for (const [name, index] of Object.entries(names)) {
    assert.equal(await ethereum.getEnsAddress({ name }), funded(index).address, name);
  }
  for (const name of ['nobody.sandbox.eth', 'empty.sandbox.eth', 'broken.sandbox.eth', 'silent.sandbox.eth', 'missing.offchain.sandbox.eth']) {
    assert.equal(await ethereum.getEnsAddress({ name }), null, name);
  }
  assert.equal(await ethereum.getEnsText({ name: 'alice.sandbox.eth', key: 'url' }), 'https://sandbox.example/alice');
  assert.ok(await ethereum.getEnsAddress({ name: 'anything.wild.sandbox.eth' }));
  await assert.rejects(ethereum.getEnsAddress({ name: 'forged.offchain.sandbox.eth', strict: true }), /ResolverError/);
});

test('viem finds primary names and believes only those that resolve to the address', async () => {
  for (const [name, index] of Object.entries({ 'alice.sandbox.eth': 1, 'bob.sandbox.eth': 2, 'erin.offchain.sandbox.eth': 5 })) {
    assert.equal(await ethereum.getEnsName({ address: funded(index).address }), name);
  }
  for (const index of [3, 4, 6, 9]) assert.equal(await ethereum.getEnsName({ address: funded(index).address }), null);
});

test('ethers resolves names at its own UniversalResolver', async () => {
  const provider = ethers();
  for (const [name, index] of Object.entries(names)) assert.equal(await provider.resolveName(name), funded(index).address, name);
  assert.equal(await provider.resolveName('empty.sandbox.eth'), null);
  await assert.rejects(provider.resolveName('nobody.sandbox.eth'), /ResolverNotFound/);
  assert.equal(await provider.lookupAddress(funded(1).address), 'alice.sandbox.eth');
  assert.equal(await provider.lookupAddress(funded(9).address), null);
  await assert.rejects(provider.lookupAddress(funded(3).address), /ReverseAddressMismatch/);
  assert.equal(await (await provider.getResolver('alice.sandbox.eth')).getText('url'), 'https://sandbox.example/alice');
});

test('ethers walks from the registry to the nearest resolver when its network names no UniversalResolver', async () => {
  const network = new Network('mainnet', 1n);
  network.attachPlugin(new EnsPlugin(null, 1));
  const provider = ethers(network);
  for (const [name, index] of Object.entries(names)) assert.equal(await provider.resolveName(name), funded(index).address, name);
  for (const name of ['nobody.sandbox.eth', 'empty.sandbox.eth']) assert.equal(await provider.resolveName(name), null);
  assert.equal(await provider.lookupAddress(funded(2).address), 'bob.sandbox.eth');
  assert.equal(await provider.lookupAddress(funded(3).address), null);
});

test('USDC stands on every EVM chain, and multicall reads it', async () => {
  for (const [name, address] of Object.entries(usdc)) {
    const contract = { address, abi: erc20Abi };
    const [symbol, decimals, balance] = await viem(name).multicall({
      allowFailure: false,
      contracts: [
        { ...contract, functionName: 'symbol' },
        { ...contract, functionName: 'decimals' },
        { ...contract, functionName: 'balanceOf', args: [funded(6).address] },
      ],
    });
    assert.deepEqual([symbol, decimals], ['USDC', 6], name);
    assert.ok(balance >= 1_000_000_000_000n, `${name}: ${balance}`);
  }
});

test('the feeds of Chainlink are fresh', async () => {
  const abi = parseAbi(['function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)']);
  for (const address of ['0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419', '0xF4030086522a5bEEa4988F8cA5B36dbC97BeE88c']) {
    const [, answer, , updatedAt] = await ethereum.readContract({ address, abi, functionName: 'latestRoundData' });
    assert.ok(answer > 0n && Date.now() / 1000 - Number(updatedAt) < 3600);
  }
});
