// Payments per call with ethers as the payer, in the sandbox's USDC on its Base.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Wallet } from 'ethers';
import { eventually, gateway } from './client.js';
import { stranger } from './payer.js';

let payer;
before(async () => { payer = await stranger(gateway); });
after(() => payer.close());

test('a transfer becomes a credential that pays for calls, once', async () => {
  const hash = await payer.transfer(payer.tier('balanced').maxAmountRequired);
  const signature = await payer.sign(hash);
  assert.equal((await payer.receipt(hash)).status, 404, 'nothing was redeemed yet');

  // Someone else tries to redeem first, without effect.
  const thief = await Wallet.createRandom().signMessage(payer.menu.messageToSign.replace('{tx_hash}', hash));
  assert.equal((await payer.redeem(hash, 'fast', thief)).status, 422);

  const bought = await payer.redeem(hash, 'balanced', signature);
  assert.equal(bought.status, 200, JSON.stringify(bought.body));
  assert.equal(bought.body.units, payer.menu.unitsPerPayment);
  assert.equal(bought.body.tier, 'balanced');
  assert.deepEqual((await payer.call(bought.body.credential)).body.result, '0x1');
  assert.equal((await payer.call(bought.body.credential, 'eth_getBalance', [payer.address, 'latest'])).status, 200);

  // Redeeming again after some units were used returns another credential for the rest, and the
  // previous one stops working.
  const again = await payer.redeem(hash, 'balanced', signature);
  assert.equal(again.status, 200, JSON.stringify(again.body));
  assert.equal((await payer.call(again.body.credential, 'eth_getBalance', [payer.address, 'latest'])).status, 200);
  const dead = await payer.call(bought.body.credential);
  assert.equal(dead.status, 402);
  assert.equal(dead.body.error.code, -32018);

  const receipt = await eventually('the usage on the receipt', async () => {
    const { body } = await payer.receipt(hash);
    return body.settlements[0].bought.used >= 1 && body;
  });
  const [paid] = receipt.settlements;
  assert.equal(paid.wallet, payer.address);
  assert.equal(paid.amount_paid, payer.tier('balanced').maxAmountRequired);
  assert.equal(BigInt(paid.tax.net) + BigInt(paid.tax.vat), BigInt(paid.amount_paid));
  assert.equal(paid.bought.used + paid.bought.remaining + paid.bought.expired, paid.bought.units);
  assert.ok(!JSON.stringify(receipt).includes('cagx_'), 'the receipt shows a credential');
});

test('too little buys nothing, and too much is capped', async () => {
  const little = await payer.transfer(BigInt(payer.tier('cheap').netAmountRequired) - 1n);
  const refused = await payer.redeem(little, 'cheap', await payer.sign(little));
  assert.equal(refused.status, 402, JSON.stringify(refused.body));
  assert.equal((await payer.receipt(little)).status, 404);

  const much = await payer.transfer(5_000_000n);
  const bought = await payer.redeem(much, 'cheap', await payer.sign(much));
  assert.equal(bought.status, 200, JSON.stringify(bought.body));
  assert.equal(bought.body.units, payer.menu.maxUnitsPerSettlement);
  assert.equal((await payer.receipt(much)).body.settlements[0].bought.capped, true);
});
