// Payments per call with ethers over anvil and the real FiatTokenV2_2: a plain transfer, a relayed
// transferWithAuthorization (EIP-3009), and a contract wallet.
//
// GATEWAY_URL, API_KEY  as in ../client.js
// BASE_NODE             the anvil behind the gateway's base_mainnet, which mines only on request
// SELLER                the address that is paid
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Contract, ContractFactory, HDNodeWallet, JsonRpcProvider, Network, Wallet, ZeroHash, getBytes, hashMessage, hexlify, randomBytes } from 'ethers';
import { eventually, fetchAsTold, gateway, mnemonic } from '../client.js';

const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
const chainId = 8453;
const base = new JsonRpcProvider(process.env.BASE_NODE, Network.from(chainId), { staticNetwork: true, batchMaxCount: 1, cacheTimeout: -1 });
const account = (i) => HDNodeWallet.fromPhrase(mnemonic, undefined, `m/44'/60'/0'/0/${i}`).connect(base);
const [chief, payer, relayer] = [account(5), account(6), account(7)];
const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')).contracts;
const tokens = read('../../../internal/sandbox/contracts/usdc/usdc.json');
const wallets = read('../../../identity/wallet/contracts/testdata/Wallets.json');
const token = new Contract(USDC, tokens.FiatTokenV2_2.abi, chief);
const mine = (blocks = 1) => base.send('anvil_mine', [`0x${blocks.toString(16)}`]);
let menu;

// Waits for a transaction to be sent, mines it, and returns its receipt.
async function done(sent) {
  const { hash } = await sent;
  await mine();
  const receipt = await base.getTransactionReceipt(hash);
  assert.equal(receipt.status, 1, hash);
  return receipt;
}

async function deploy(name, all, ...args) {
  const factory = new ContractFactory(all[name].abi, all[name].bytecode, chief);
  return (await done(chief.sendTransaction({ ...(await factory.getDeployTransaction(...args)), gasLimit: 8_000_000 }))).contractAddress;
}

const money = { gasLimit: 400_000 };

before(async () => {
  await base.send('evm_setBlockGasLimit', ['0x1c9c380']); // the token's deployment exceeds the block gas limit of these chains
  const checker = await deploy('SignatureChecker', tokens);
  const code = getBytes(tokens.FiatTokenV2_2.bytecode);
  for (const at of tokens.FiatTokenV2_2.links.SignatureChecker) code.set(getBytes(checker), at);
  const placed = await deploy('FiatTokenV2_2', { FiatTokenV2_2: { abi: tokens.FiatTokenV2_2.abi, bytecode: hexlify(code) } });
  await base.send('anvil_setCode', [USDC, await base.getCode(placed)]);
  const me = chief.address;
  await done(token.initialize('USD Coin', 'USDC', 'USD', 6, me, me, me, me, money));
  await done(token.initializeV2('USD Coin', money));
  await done(token.initializeV2_1(me, money));
  await done(token.initializeV2_2([], 'USDC', money));
  await done(token.configureMinter(me, 10n ** 15n, money));
  await done(token.mint(payer.address, 10n ** 9n, money));
  menu = await (await fetch(`${gateway}/x402`)).json();
  assert.equal(menu.payTo.toLowerCase(), process.env.SELLER.toLowerCase());
  assert.equal(menu.chainId, chainId);
});
after(async () => {
  await base.send('evm_setBlockGasLimit', ['0x1e8480']);
  base.destroy();
});

const messageFor = (hash) => menu.messageToSign.replace('{tx_hash}', hash);

async function redeem(hash, tier, signature) {
  const response = await fetchAsTold(menu.redeem, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ tx_hash: hash, tier, signature }),
  });
  return { status: response.status, retry: response.headers.get('retry-after'), body: await response.json() };
}

async function call(credential) {
  const response = await fetch(`${gateway}/rpc/base_mainnet`, {
    method: 'POST', headers: { 'Content-Type': 'application/json', 'X-PAYMENT': credential },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBalance', params: [process.env.SELLER, 'latest'] }),
  });
  return { status: response.status, body: await response.json() };
}

// Redeems until the payment has enough confirmations, and calls the relay with the credential.
async function buys(hash, tier, signature, units) {
  const early = await redeem(hash, tier, signature);
  assert.equal(early.status, 202, JSON.stringify(early.body));
  assert.ok(Number(early.retry) > 0);
  await mine(menu.minConfirmations);
  const { status, body } = await redeem(hash, tier, signature);
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.tier, tier);
  assert.equal(body.units, units);
  const answer = await call(body.credential);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.equal(answer.body.result, '0x0');
  return body;
}

const tierOf = (name) => menu.tiers.find((t) => t.name === name);

test('a transfer is redeemed by who sent it and by nobody else, and becomes final', async () => {
  const { hash } = await done(token.connect(payer).transfer(menu.payTo, tierOf('balanced').maxAmountRequired, money));
  const stranger = await redeem(hash, 'cheap', await relayer.signMessage(messageFor(hash)));
  assert.equal(stranger.status, 422, JSON.stringify(stranger.body));
  const signature = await payer.signMessage(messageFor(hash));
  const first = await buys(hash, 'balanced', signature, menu.unitsPerPayment);
  const again = await redeem(hash, 'fast', signature);
  assert.equal(again.status, 200);
  assert.equal(again.body.tier, 'balanced');
  assert.equal(again.body.units, menu.unitsPerPayment - 1);
  assert.equal((await call(first.credential)).status, 402);
  assert.equal((await call(again.body.credential)).status, 200);
  assert.equal((await redeem(hash, 'balanced', await relayer.signMessage(messageFor(hash)))).status, 409);
  await mine(70);
  const receipt = await eventually('the payment is final', async () => {
    const receipt = await (await fetchAsTold(`${first.receipt}.json`)).json();
    return receipt.settlements[0].finality === 'final' && receipt;
  }, 90_000);
  const bought = receipt.settlements[0];
  assert.equal(bought.wallet, payer.address);
  assert.equal(bought.amount_paid, tierOf('balanced').maxAmountRequired);
});

const authorization = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' }, { name: 'to', type: 'address' }, { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' }, { name: 'validBefore', type: 'uint256' }, { name: 'nonce', type: 'bytes32' },
  ],
};
const authorize = async (key, from, value) => {
  const message = { from, to: menu.payTo, value, validAfter: 0, validBefore: 2n ** 40n, nonce: hexlify(randomBytes(32)) };
  const domain = { name: 'USD Coin', version: '2', chainId, verifyingContract: USDC };
  return [...Object.values(message), await key.signTypedData(domain, authorization, message)];
};
const relay = (args) => done(token.connect(relayer)['transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)'](...args, money));

test('an authorization that somebody else relays is redeemed by its signer, not by the relayer', async () => {
  const receipt = await relay(await authorize(payer, payer.address, tierOf('cheap').maxAmountRequired));
  assert.equal(receipt.from, relayer.address);
  const asRelayer = await redeem(receipt.hash, 'cheap', await relayer.signMessage(messageFor(receipt.hash)));
  assert.equal(asRelayer.status, 422);
  await buys(receipt.hash, 'cheap', await payer.signMessage(messageFor(receipt.hash)), menu.unitsPerPayment);
});

test('a contract wallet redeems what it paid with its owner’s signature', async () => {
  const owner = Wallet.createRandom();
  const wallet = await deploy('OwnedWallet', wallets, owner.address);
  await done(token.mint(wallet, 10n ** 8n, money));
  const receipt = await relay(await authorize(owner, wallet, tierOf('fast').maxAmountRequired));
  assert.equal((await redeem(receipt.hash, 'fast', await payer.signMessage(messageFor(receipt.hash)))).status, 422);
  const signature = owner.signingKey.sign(hashMessage(messageFor(receipt.hash))).serialized;
  const bought = await buys(receipt.hash, 'fast', signature, menu.unitsPerPayment);
  const again = await redeem(receipt.hash, 'fast', signature);
  assert.equal(again.status, 200, JSON.stringify(again.body));
  assert.notEqual(again.body.credential, bought.credential);
});

test('what is no payment is told so', async () => {
  const { hash } = await done(token.connect(payer).transfer(relayer.address, 10n ** 6n, money));
  const other = await redeem(hash, 'cheap', await payer.signMessage(messageFor(hash)));
  assert.deepEqual([other.status, other.body.error.code, other.body.error.data.why], [402, -32018, 'pays_nothing_here']);
  const nothing = await redeem(ZeroHash.replace('0x00', '0xab'), 'cheap', await payer.signMessage(messageFor(ZeroHash.replace('0x00', '0xab'))));
  assert.deepEqual([nothing.status, nothing.body.error.data.why], [402, 'unknown_transaction']);
});
