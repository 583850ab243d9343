// @solana/kit, as published, against a Solana endpoint.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import {
  address,
  appendTransactionMessageInstruction,
  createDefaultRpcTransport,
  createKeyPairSignerFromPrivateKeyBytes,
  createSolanaRpcFromTransport,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  isSolanaError,
  lamports,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE,
} from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { eventually, headers, paced, solanaSeed, url } from './client.js';

const send = createDefaultRpcTransport({ url, headers });
const rpc = createSolanaRpcFromTransport(async (...args) => {
  await paced();
  return send(...args);
});
const amount = lamports(2_000_000n);
let payer;

before(async () => {
  payer = await createKeyPairSignerFromPrivateKeyBytes(solanaSeed(3));
});

async function transfer(to, value, version = 0) {
  const { value: blockhash } = await rpc.getLatestBlockhash().send();
  return signTransactionMessageWithSigners(
    pipe(
      createTransactionMessage({ version }),
      (m) => setTransactionMessageFeePayerSigner(payer, m),
      (m) => setTransactionMessageLifetimeUsingBlockhash(blockhash, m),
      (m) => appendTransactionMessageInstruction(getTransferSolInstruction({ source: payer, destination: to, amount: value }), m),
    ),
  );
}

test('slots advance and the blocks behind them can be read', async () => {
  const slot = await rpc.getSlot().send();
  assert.equal(typeof slot, 'bigint');
  await eventually('a later slot', async () => (await rpc.getSlot().send()) > slot);
  const [last] = await rpc.getBlocks(slot - 20n, slot).send();
  const block = await rpc.getBlock(last, { maxSupportedTransactionVersion: 0, transactionDetails: 'full', rewards: true }).send();
  assert.ok(block.blockhash && block.transactions && block.rewards.length === 1);
  assert.ok(block.parentSlot < last);
  const height = await rpc.getBlockHeight().send();
  assert.ok(height < slot);
  assert.ok(Math.abs(Number(await rpc.getBlockTime(last).send()) - Date.now() / 1000) < 600);
});

test('epoch, version and cluster are typed as the client expects', async () => {
  const epoch = await rpc.getEpochInfo().send();
  assert.equal(epoch.absoluteSlot, epoch.epoch * epoch.slotsInEpoch + epoch.slotIndex);
  assert.match((await rpc.getVersion().send())['solana-core'], /^\d/);
  assert.equal((await rpc.getVoteAccounts().send()).current.length >= 1, true);
  assert.equal(await rpc.getMinimumBalanceForRentExemption(0n).send(), 890_880n);
});

test('accounts can be read in each encoding', async () => {
  const { value } = await rpc.getAccountInfo(payer.address, { encoding: 'base64' }).send();
  assert.equal(value.owner, '11111111111111111111111111111111');
  assert.deepEqual(value.data, ['', 'base64']);
  const tokens = await rpc
    .getTokenAccountsByOwner(
      payer.address,
      { programId: address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA') },
      { encoding: 'jsonParsed' },
    )
    .send();
  assert.equal(tokens.value[0].account.data.parsed.info.tokenAmount.uiAmountString, '1000');
});

for (const version of ['legacy', 0]) {
  test(`a signed ${version} transfer is confirmed and moves lamports`, async () => {
    const to = (await generateKeyPairSigner()).address;
    const transaction = await transfer(to, amount, version);
    const wire = getBase64EncodedWireTransaction(transaction);
    const simulated = await rpc.simulateTransaction(wire, { encoding: 'base64', sigVerify: true }).send();
    assert.equal(simulated.value.err, null);
    const signature = await rpc.sendTransaction(wire, { encoding: 'base64' }).send();
    assert.equal(signature, getSignatureFromTransaction(transaction));
    const status = await eventually('confirmation', async () => {
      const { value } = await rpc.getSignatureStatuses([signature]).send();
      return ['confirmed', 'finalized'].includes(value[0]?.confirmationStatus) && value[0];
    });
    assert.equal(status.err, null);
    const balance = await rpc.getBalance(to, { commitment: 'confirmed' }).send();
    assert.equal(balance.value, amount);
    const found = await rpc
      .getTransaction(signature, { commitment: 'confirmed', encoding: 'json', maxSupportedTransactionVersion: 0 })
      .send();
    assert.equal(found.version, version);
    assert.equal(found.meta.fee, 5_000n);
    const history = await rpc.getSignaturesForAddress(to, { commitment: 'confirmed' }).send();
    assert.equal(history[0].signature, signature);
  });
}

test('a transfer of more than the payer has is refused with the native error', async () => {
  const wire = getBase64EncodedWireTransaction(await transfer((await generateKeyPairSigner()).address, lamports(10n ** 18n)));
  await assert.rejects(rpc.sendTransaction(wire, { encoding: 'base64' }).send(), (error) => {
    assert.ok(isSolanaError(error, SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE), String(error));
    return true;
  });
});
