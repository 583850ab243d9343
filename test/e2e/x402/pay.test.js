// Unmodified x402 clients pay for calls: x402-fetch with version 1 of the protocol, @x402/fetch
// with version 2. They pay in the sandbox's USDC, which its facilitator transfers on its Base.
//
// GATEWAY_URL  base URL of a gateway-dev
// API_KEY      a key for reading the chain
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { decodePaymentResponseHeader, wrapFetchWithPayment as wrapSecond, x402Client } from '@x402/fetch';
import { createPublicClient, erc20Abi, http, isAddressEqual, parseEventLogs } from 'viem';
import { mnemonicToAccount } from 'viem/accounts';
import { base, mainnet } from 'viem/chains';
import { decodeXPaymentResponse, wrapFetchWithPayment as wrapFirst } from 'x402-fetch';
import { eventually, fetchAsTold } from '../wait.js';

const gateway = process.env.GATEWAY_URL;
const patience = 300_000; // milliseconds: finality is checked half a minute after the payment
const key = { Authorization: `Bearer ${process.env.API_KEY}` };
const mnemonic = 'test test test test test test test test test test test junk'; // of the sandbox's public test accounts
const payer = (index) => mnemonicToAccount(mnemonic, { addressIndex: index });
const call = (method, params = []) => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
});

const menu = await (await fetch(`${gateway}/x402`)).json();
const chain = createPublicClient({ chain: base, transport: http(`${gateway}/rpc/base_mainnet`, { fetchOptions: { headers: key } }) });

// Returns what a transaction transferred to the seller, and from whom. The sandbox's own traffic
// changes balances all the time.
async function paid(transaction) {
  const { status, logs } = await chain.getTransactionReceipt({ hash: transaction });
  assert.equal(status, 'success');
  const transfers = parseEventLogs({ abi: erc20Abi, eventName: 'Transfer', logs: logs.filter((l) => isAddressEqual(l.address, menu.assetAddress)) });
  assert.equal(transfers.length, 1);
  assert.ok(isAddressEqual(transfers[0].args.to, menu.payTo));
  return transfers[0].args;
}

// Counts the requests of a client and keeps the last answer.
function watched() {
  const seen = { requests: 0, last: undefined };
  seen.fetch = async (...args) => {
    seen.requests++;
    seen.last = await fetch(...args);
    return seen.last;
  };
  return seen;
}

const receiptOf = async (transaction) => {
  const response = await fetchAsTold(`${gateway}/x402/receipts/${transaction}.json`);
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
};

function first(account, through, most) {
  return wrapFirst(through.fetch, account, most);
}

function second(account, through) {
  const client = new x402Client();
  client.register('eip155:*', new ExactEvmScheme(account));
  return wrapSecond(through.fetch, client);
}

// Checks that the payment is what the chain shows, and that the rest of the bundle can be used
// without another payment.
async function bought(response, receipt, account, amount) {
  assert.equal(response.status, 200);
  assert.match((await response.json()).result, /^0x/);
  assert.equal(receipt.success, true);
  assert.match(receipt.transaction, /^0x[0-9a-f]{64}$/);
  const { from, value } = await paid(receipt.transaction);
  assert.ok(isAddressEqual(from, account.address));
  assert.equal(value, amount);
  const credential = response.headers.get('X-Payment-Credential');
  assert.match(credential, /^cagx_/);
  const more = await fetch(`${gateway}/rpc/eth_mainnet`, { ...call('eth_gasPrice'), headers: { 'X-PAYMENT': credential, 'Content-Type': 'application/json' } });
  assert.equal(more.status, 200, await more.clone().text());
  await receiptOf(receipt.transaction);
  return receipt.transaction;
}

test('x402-fetch pays for a call and gets a bundle', async () => {
  const account = payer(7);
  const through = watched();
  const response = await first(account, through)(`${gateway}/x402/rpc/eth_mainnet`, call('eth_blockNumber'));
  const transaction = await bought(response, decodeXPaymentResponse(response.headers.get('X-PAYMENT-RESPONSE')), account, 54000n);
  assert.equal(through.requests, 2);
  // The chain is read afterwards, and the receipt then shows the final payment.
  const final = await eventually('the payment is final', async () => {
    const { settlements } = await receiptOf(transaction);
    return settlements[0].finality === 'final' && settlements;
  }, patience);
  assert.equal(final.length, 1);
  assert.equal(final[0].amount_paid, '54000');
  assert.ok(final[0].block.number > 0);
});

test('@x402/fetch pays for a call and gets a bundle', async () => {
  const account = payer(8);
  const through = watched();
  const response = await second(account, through)(`${gateway}/x402/rpc/eth_mainnet`, call('eth_blockNumber'));
  await bought(response, decodePaymentResponseHeader(response.headers.get('PAYMENT-RESPONSE')), account, 54000n);
  assert.equal(through.requests, 2);
});

test('on the relay\'s own path both pay when they say so, and are asked for a key otherwise', async () => {
  const request = call('eth_blockNumber');
  const asking = { ...request, headers: { ...request.headers, 'Accept-Payment': 'x402' } };
  for (const pay of [first, second]) {
    const account = payer(9);
    const through = watched();
    const refused = await pay(account, through)(`${gateway}/rpc/base_mainnet`, request);
    assert.equal(refused.status, 401);
    const response = await pay(account, through)(`${gateway}/rpc/base_mainnet`, asking);
    assert.equal(response.status, 200, await response.clone().text());
    assert.equal(through.requests, 3);
  }
});

test('a dearer tier is offered first when it is asked for, and x402-fetch keeps to its bound', async () => {
  const account = payer(6);
  const request = call('eth_blockNumber');
  const fast = { ...request, headers: { ...request.headers, 'X-Route-Tier': 'balanced' } };
  await assert.rejects(first(account, watched())(`${gateway}/x402/rpc/eth_mainnet`, fast), /exceeds maximum/);
  const response = await first(account, watched(), 200000n)(`${gateway}/x402/rpc/eth_mainnet`, fast);
  assert.equal(response.status, 200, await response.clone().text());
  assert.equal((await paid(decodeXPaymentResponse(response.headers.get('X-PAYMENT-RESPONSE')).transaction)).value, 108000n);
});

test('who cannot pay is told why, and pays nothing', async () => {
  const poor = mnemonicToAccount(mnemonic, { addressIndex: 4242 });
  for (const pay of [first, second]) {
    const response = await pay(poor, watched())(`${gateway}/x402/rpc/eth_mainnet`, call('eth_blockNumber'));
    assert.equal(response.status, 402);
    assert.match((await response.json()).error, /insufficient_funds/);
  }
});

test('viem reads the chain over a client that pays', async () => {
  const through = watched();
  const client = createPublicClient({
    chain: mainnet,
    transport: http(`${gateway}/x402/rpc/eth_mainnet`, { fetchFn: first(payer(5), through), retryCount: 0 }),
  });
  assert.equal(await client.getChainId(), 1);
  assert.equal(through.requests, 2);
});
