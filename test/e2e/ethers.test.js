// Unmodified ethers against Ethereum.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Contract, ContractFactory, FetchRequest, HDNodeWallet, isError, JsonRpcProvider, NonceManager, parseEther, Wallet } from 'ethers';
import { artefact, eventually, headers, mnemonic, urlOf } from './client.js';

const connection = () => {
  const request = new FetchRequest(urlOf('eth_mainnet'));
  request.setHeader('Authorization', headers.Authorization);
  return request;
};
const open = [];
const connect = (...options) => {
  const provider = new JsonRpcProvider(connection(), ...options);
  provider.pollingInterval = 500;
  open.push(provider);
  return provider;
};
const provider = connect();
const account = (index) => HDNodeWallet.fromPhrase(mnemonic, undefined, `m/44'/60'/0'/0/${index}`).connect(provider);
const signer = account(3);
let contract;

before(async () => {
  const factory = new ContractFactory(artefact.abi, artefact.bytecode, signer);
  contract = await (await factory.deploy(7)).waitForDeployment();
});
after(() => open.forEach((p) => p.destroy()));

test('network, blocks and transactions agree', async () => {
  assert.equal((await provider.getNetwork()).chainId, 1n);
  const head = await provider.getBlockNumber();
  const block = await provider.getBlock(head - 64, true);
  assert.equal(block.number, head - 64);
  assert.equal((await provider.getBlock(block.hash)).number, block.number);
  const receipt = await provider.getTransactionReceipt(contract.deploymentTransaction().hash);
  assert.equal(receipt.contractAddress, await contract.getAddress());
  assert.equal((await receipt.getTransaction()).blockHash, receipt.blockHash);
});

test('state is read by address, without names', async () => {
  const address = await contract.getAddress();
  assert.ok((await provider.getBalance(signer.address)) > parseEther('9000'));
  assert.equal(await provider.getCode(address), artefact.deployedBytecode);
  assert.equal(BigInt(await provider.getStorage(address, 0)), await contract.value());
  assert.ok((await provider.getTransactionCount(signer.address)) > 0);
});

test('concurrent reads travel in one batch, which is its default', async () => {
  const sent = [];
  const batching = connect();
  await batching.getNetwork();
  batching.on('debug', ({ action, payload }) => action === 'sendRpcPayload' && sent.push(payload));
  const numbers = Array.from({ length: 40 }, (_, i) => i);
  const blocks = await Promise.all(numbers.map((n) => batching.getBlock(n)));
  assert.deepEqual(
    blocks.map((b) => b.number),
    numbers,
  );
  assert.ok(sent.some((payload) => Array.isArray(payload) && payload.length === 40));
});

test('fees are estimated', async () => {
  const fees = await provider.getFeeData();
  assert.ok(fees.gasPrice > 0n && fees.maxFeePerGas > fees.maxPriorityFeePerGas && fees.maxPriorityFeePerGas > 0n);
  assert.equal(await provider.estimateGas({ from: signer.address, to: signer.address, value: 1 }), 21_000n);
  assert.ok((await contract.store.estimateGas(8, 'gas')) > 30_000n);
});

test('a call changes the contract, and its event is found', async () => {
  assert.equal(await contract.store.staticCall(42, 'the note'), await contract.value());
  const receipt = await (await contract.store(42, 'the note')).wait();
  assert.equal(receipt.status, 1);
  assert.equal(await contract.value(), 42n);
  const [event] = await contract.queryFilter(contract.filters.Stored(signer.address), receipt.blockNumber, receipt.blockNumber);
  assert.deepEqual([...event.args], [signer.address, 42n, 'the note']);
  const [byHash] = await provider.getLogs({ address: await contract.getAddress(), blockHash: receipt.blockHash });
  assert.equal(byHash.index, event.index);
});

test('events are watched by polling', async () => {
  const polling = connect(undefined, { polling: true });
  const watched = contract.connect(polling);
  const notes = [];
  await watched.on('Stored', (by, value, note) => notes.push(note));
  await eventually('the event', async () => {
    if (notes.length === 0) await (await contract.store(43, 'watched')).wait();
    return notes.length > 0;
  });
  assert.equal(notes[0], 'watched');
  await watched.removeAllListeners();
});

test('reverts are decoded: a custom error, a text, a panic', async () => {
  const revert = (check) => (error) => {
    assert.ok(isError(error, 'CALL_EXCEPTION'), String(error));
    check(error);
    return true;
  };
  const tooLarge = revert((e) => {
    assert.equal(e.revert.name, 'TooLarge');
    assert.deepEqual([...e.revert.args], [5_000n, 1_000n]);
  });
  await assert.rejects(contract.store.staticCall(5_000, ''), tooLarge);
  // In the estimate before a transaction ethers does not decode the error, but the data is there.
  await assert.rejects(
    contract.store(5_000, ''),
    revert((e) => assert.equal(contract.interface.parseError(e.data).name, 'TooLarge')),
  );
  await assert.rejects(contract.refuse(), revert((e) => assert.equal(e.reason, 'not today')));
  await assert.rejects(contract.divide(0), revert((e) => assert.match(e.reason, /DIVIDE_BY_ZERO/)));
});

test('a transaction that reverts is told when it is waited for', async () => {
  const sent = await contract.store(5_000, '', { gasLimit: 100_000 });
  await assert.rejects(sent.wait(), (error) => isError(error, 'CALL_EXCEPTION') && error.receipt.status === 0);
});

test('nonces: managed ones follow each other, a used one is told', async () => {
  const managed = new NonceManager(account(4));
  const to = Wallet.createRandom().address;
  const sent = await Promise.all([1, 2, 3].map((value) => managed.sendTransaction({ to, value })));
  await Promise.all(sent.map((transaction) => transaction.wait()));
  assert.equal(await provider.getBalance(to), 6n);
  await assert.rejects(signer.sendTransaction({ to, value: 1, nonce: 0 }), (error) => isError(error, 'NONCE_EXPIRED'));
});

test('who has nothing is told so', async () => {
  const poor = Wallet.createRandom().connect(provider);
  await assert.rejects(poor.sendTransaction({ to: signer.address, value: 1 }), (error) => isError(error, 'INSUFFICIENT_FUNDS'));
});

// A refused call that is not in a batch is an HTTP error, which ethers reports as a server error;
// the refusal is in the body.
const alone = () => connect(1, { staticNetwork: true });
const refused = (status, code, pattern) => (error) => {
  assert.ok(isError(error, 'SERVER_ERROR'), String(error));
  assert.equal(error.info.responseStatus.slice(0, 3), String(status));
  const { error: refusal } = JSON.parse(error.info.responseBody);
  assert.equal(refusal.code, code);
  assert.match(refusal.message, pattern);
  assert.ok(refusal.data.contact && refusal.data.docs && refusal.data.request_id);
  return true;
};

test('a log range over the cap is refused with the way to paginate', async () => {
  await assert.rejects(alone().getLogs({ fromBlock: 0, toBlock: 5_000 }), refused(400, -32602, /Paginate: ask for fromBlock 0x0 toBlock 0x3e7/));
});

test('filters are refused, and the refusal names the setting that does without', async () => {
  await assert.rejects(alone().send('eth_newFilter', [{}]), refused(404, -32601, /polling: true/));
});

test('in a batch a refusal reaches the call that it is about, and no other', async () => {
  const batching = alone();
  const [head, range, balance] = await Promise.allSettled([
    batching.send('eth_blockNumber', []),
    batching.send('eth_getLogs', [{ fromBlock: '0x0', toBlock: '0x1388' }]),
    batching.send('eth_getBalance', [signer.address, 'latest']),
  ]);
  assert.equal(head.status, 'fulfilled');
  assert.equal(balance.status, 'fulfilled');
  assert.equal(range.reason.error.code, -32602);
  assert.equal(range.reason.error.data.index, 1);
});
