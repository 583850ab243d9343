// Unmodified @solana/kit against a Solana endpoint.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import {
  address,
  appendTransactionMessageInstruction,
  createKeyPairSignerFromPrivateKeyBytes,
  createSolanaRpc,
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
  SOLANA_ERROR__JSON_RPC__INVALID_PARAMS,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_BLOCK_NOT_AVAILABLE,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_MIN_CONTEXT_SLOT_NOT_REACHED,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE,
  SOLANA_ERROR__RPC__TRANSPORT_HTTP_ERROR,
} from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { eventually, headers, post, solanaSeed, urlOf } from './client.js';

const rpc = createSolanaRpc(urlOf('solana_mainnet'), { headers });
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

test('a simulation that fails says where, and a blockhash is valid while it is young', async () => {
  const transaction = await transfer((await generateKeyPairSigner()).address, lamports(10n ** 18n));
  const { value } = await rpc.simulateTransaction(getBase64EncodedWireTransaction(transaction), { encoding: 'base64' }).send();
  assert.deepEqual(value.err, { InstructionError: [0n, { Custom: 1n }] });
  assert.ok(value.logs.some((line) => /insufficient lamports/.test(line)));
  const { value: latest } = await rpc.getLatestBlockhash().send();
  assert.equal((await rpc.isBlockhashValid(latest.blockhash).send()).value, true);
  assert.equal((await rpc.isBlockhashValid(payer.address).send()).value, false);
});

test('signatures are listed page by page, without gaps and without repeats', async () => {
  const slot = await rpc.getSlot().send();
  let account; // one that is in a transaction every few slots
  for (const at of await rpc.getBlocks(slot - 30n, slot).send()) {
    const options = { maxSupportedTransactionVersion: 0, transactionDetails: 'accounts', rewards: false };
    account ??= (await rpc.getBlock(at, options).send()).transactions[0]?.transaction.accountKeys[0].pubkey;
  }
  // New signatures are added at the front while the pages are read, so each page starts after the
  // last signature of the previous one.
  const [newest] = await rpc.getSignaturesForAddress(account, { limit: 1 }).send();
  const options = { before: newest.signature };
  const whole = await rpc.getSignaturesForAddress(account, { ...options, limit: 9 }).send();
  assert.equal(whole.length, 9);
  const pages = [];
  for (let before = newest.signature; pages.length < whole.length; before = pages.at(-1).signature) {
    const page = await rpc.getSignaturesForAddress(account, { before, limit: 4 }).send();
    assert.ok(page.length > 0);
    pages.push(...page);
  }
  assert.deepEqual(
    pages.slice(0, whole.length).map((s) => s.signature),
    whole.map((s) => s.signature),
  );
  const until = whole.at(-1).signature;
  assert.equal((await rpc.getSignaturesForAddress(account, { ...options, until }).send()).length, whole.length - 1);
});

test('native errors keep their codes and their data', async () => {
  const slot = await rpc.getSlot().send();
  await assert.rejects(
    rpc.getBlock(slot + 1_000_000n, { maxSupportedTransactionVersion: 0 }).send(),
    (error) => isSolanaError(error, SOLANA_ERROR__JSON_RPC__SERVER_ERROR_BLOCK_NOT_AVAILABLE),
  );
  await assert.rejects(rpc.getBalance(payer.address, { minContextSlot: slot + 1_000_000n }).send(), (error) => {
    assert.ok(isSolanaError(error, SOLANA_ERROR__JSON_RPC__SERVER_ERROR_MIN_CONTEXT_SLOT_NOT_REACHED), String(error));
    assert.ok(Number(error.context.contextSlot) >= Number(slot));
    return true;
  });
  await assert.rejects(rpc.getBalance('abc').send(), (error) => isSolanaError(error, SOLANA_ERROR__JSON_RPC__INVALID_PARAMS));
});

test('base58 keeps its case: an address in another case is another address, or none', async () => {
  const { value } = await rpc.getAccountInfo(payer.address, { encoding: 'base64' }).send();
  assert.ok(value.lamports > 0n);
  // An address in lower case either names another account, which does not exist, or, in most cases,
  // is not base58 of 32 bytes.
  const { body } = await post('solana_mainnet', 'getAccountInfo', [payer.address.toLowerCase(), { encoding: 'base64' }]);
  assert.ok(body.error?.code === -32602 || body.result?.value === null, JSON.stringify(body));
});

for (const method of ['getProgramAccounts', 'requestAirdrop']) {
  test(`${method} is refused, and the body says what to do instead`, async () => {
    // The client shows only the status.
    await assert.rejects(rpc[method](payer.address, 1n).send(), (error) => {
      assert.ok(isSolanaError(error, SOLANA_ERROR__RPC__TRANSPORT_HTTP_ERROR), String(error));
      assert.equal(error.context.statusCode, 404);
      return true;
    });
    const { status, headers: answered, body } = await post('solana_mainnet', method, [payer.address]);
    assert.equal(status, 404);
    assert.equal(body.error.code, -32601);
    assert.match(body.error.message, /getTokenAccountsByOwner|faucet/);
    assert.ok(body.error.data.contact && body.error.data.docs);
    assert.equal(body.error.data.request_id, answered.get('X-Request-Id'));
  });
}
