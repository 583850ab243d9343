// Unmodified viem with its own definition of Base.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import {
  BaseError,
  ContractFunctionRevertedError,
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  http,
  MethodNotFoundRpcError,
  nonceManager,
  NonceTooLowError,
  parseEther,
  parseEventLogs,
  RpcRequestError,
  toFunctionSelector,
} from 'viem';
import { generatePrivateKey, mnemonicToAccount, privateKeyToAccount, privateKeyToAddress } from 'viem/accounts';
import { multicall3Bytecode } from './node_modules/viem/_esm/constants/contracts.js';
import { artefact, evmChains, eventually, headers, mnemonic, urlOf } from './client.js';

const { abi, bytecode, deployedBytecode } = artefact;
const chain = evmChains.base_mainnet;
const transport = http(urlOf('base_mainnet'), { fetchOptions: { headers } });
const client = createPublicClient({ chain, transport, pollingInterval: 500 });
const account = mnemonicToAccount(mnemonic, { addressIndex: 3 });
const wallet = createWalletClient({ account, chain, transport, pollingInterval: 500 });
const wait = (hash) => client.waitForTransactionReceipt({ hash, timeout: 60_000 });
const sample = { abi };

before(async () => {
  const receipt = await wait(await wallet.deployContract({ abi, bytecode, args: [7n] }));
  assert.equal(receipt.status, 'success');
  Object.assign(sample, { address: receipt.contractAddress, block: receipt.blockNumber });
});

const store = (value, note, more) => wallet.writeContract({ ...sample, functionName: 'store', args: [value, note], ...more });

// Finds the contract error that viem decoded in its chain of causes.
const reverted = (check) => (error) => {
  assert.ok(error instanceof BaseError, String(error));
  const revert = error.walk((e) => e instanceof ContractFunctionRevertedError);
  assert.ok(revert, `not decoded: ${error}`);
  check(revert);
  return true;
};

// Finds the JSON-RPC error in viem's chain of causes.
const rpcError = (code, pattern) => (error) => {
  const cause = error.walk((e) => e instanceof RpcRequestError);
  assert.ok(cause, String(error));
  assert.equal(cause.code, code, String(error));
  assert.match(cause.details, pattern);
  return true;
};

test('chain id, blocks and transactions agree', async () => {
  assert.equal(await client.getChainId(), chain.id);
  const head = await client.getBlockNumber({ cacheTime: 0 });
  const block = await client.getBlock({ blockNumber: head - 64n, includeTransactions: true });
  assert.equal(block.number, head - 64n);
  assert.equal((await client.getBlock({ blockHash: block.hash })).number, block.number);
  for (const blockTag of ['safe', 'finalized', 'earliest']) {
    const { number } = await client.getBlock({ blockTag });
    assert.ok(number <= (await client.getBlock()).number, blockTag);
  }
  const [log] = await client.getLogs({ fromBlock: 0n, toBlock: 32n });
  const transaction = await client.getTransaction({ hash: log.transactionHash });
  const receipt = await client.getTransactionReceipt({ hash: log.transactionHash });
  assert.equal(transaction.blockHash, receipt.blockHash);
  const { transactions } = await client.getBlock({ blockNumber: log.blockNumber });
  assert.ok(transactions.includes(log.transactionHash));
  assert.equal(await client.getBlockTransactionCount({ blockNumber: log.blockNumber }), transactions.length);
  assert.ok((await client.getTransactionConfirmations({ hash: log.transactionHash })) > 64n);
});

test('state is read by address, without names', async () => {
  const { address } = sample;
  assert.ok((await client.getBalance({ address: account.address })) > parseEther('9000'));
  assert.equal(await client.getCode({ address }), deployedBytecode);
  assert.equal(BigInt(await client.getStorageAt({ address, slot: '0x0' })), await client.readContract({ ...sample, functionName: 'value' }));
  assert.ok((await client.getTransactionCount({ address: account.address })) > 0);
  const proof = await client.getProof({ address, storageKeys: [`0x${'0'.repeat(64)}`], blockNumber: sample.block });
  assert.equal(proof.storageProof[0].value, 7n);
  const { accessList } = await client.createAccessList({ to: address, data: encodeFunctionData({ abi, functionName: 'value' }) });
  assert.equal(accessList[0].storageKeys.length, 1);
});

test('concurrent reads travel in one batch and come back to their callers', async () => {
  const sent = [];
  const batched = createPublicClient({
    chain,
    transport: http(urlOf('base_mainnet'), {
      batch: { batchSize: 50 },
      fetchOptions: { headers },
      onFetchRequest: (_, init) => void sent.push(JSON.parse(init.body)),
    }),
  });
  const numbers = Array.from({ length: 40 }, (_, i) => BigInt(i));
  const blocks = await Promise.all(numbers.map((blockNumber) => batched.getBlock({ blockNumber })));
  assert.deepEqual(
    blocks.map((b) => b.number),
    numbers,
  );
  assert.equal(sent.length, 1);
  assert.equal(sent[0].length, 40);
});

test('reads go through multicall, deployed or not', async () => {
  const contracts = [
    { ...sample, functionName: 'value' },
    { ...sample, functionName: 'divide', args: [8n] },
    { ...sample, functionName: 'refuse' },
  ];
  const deployed = await wait(await wallet.deployContract({ abi: [], bytecode: multicall3Bytecode }));
  for (const how of [{ multicallAddress: deployed.contractAddress }, { deployless: true }]) {
    const [value, divided, refused] = await client.multicall({ contracts, ...how });
    assert.equal(typeof value.result, 'bigint');
    assert.equal(divided.result, 125n);
    assert.equal(refused.status, 'failure');
    assert.match(String(refused.error), /not today/);
  }
});

test('fees are estimated, and a transaction with them is mined', async () => {
  const fees = await client.estimateFeesPerGas();
  assert.ok(fees.maxFeePerGas > fees.maxPriorityFeePerGas);
  assert.ok((await client.estimateMaxPriorityFeePerGas()) > 0n);
  assert.ok((await client.getGasPrice()) > 0n);
  assert.ok((await client.getBlobBaseFee()) > 0n);
  const history = await client.getFeeHistory({ blockCount: 20, rewardPercentiles: [10, 50, 90], blockTag: 'latest' });
  assert.equal(history.baseFeePerGas.length, 21);
  assert.equal(history.reward.length, 20);
  const gas = await client.estimateContractGas({ ...sample, account, functionName: 'store', args: [8n, 'gas'] });
  const receipt = await wait(await store(8n, 'gas', { gas, ...fees }));
  assert.equal(receipt.status, 'success');
  assert.ok(receipt.gasUsed <= gas && receipt.effectiveGasPrice <= fees.maxFeePerGas);
});

test('a call changes the contract, and its event is found in every way', async () => {
  const { request, result } = await client.simulateContract({ ...sample, account, functionName: 'store', args: [42n, 'the note'] });
  assert.equal(result, await client.readContract({ ...sample, functionName: 'value' }));
  const receipt = await wait(await wallet.writeContract(request));
  assert.equal(await client.readContract({ ...sample, functionName: 'value' }), 42n);
  const [event] = parseEventLogs({ abi, logs: receipt.logs, eventName: 'Stored' });
  assert.deepEqual(event.args, { by: account.address, value: 42n, note: 'the note' });
  const range = { fromBlock: receipt.blockNumber, toBlock: receipt.blockNumber };
  const found = await client.getContractEvents({ ...sample, eventName: 'Stored', args: { by: account.address }, ...range });
  assert.equal(found[0].transactionHash, receipt.transactionHash);
  const byHash = await client.getLogs({ address: sample.address, blockHash: receipt.blockHash });
  assert.equal(byHash[0].logIndex, event.logIndex);
  const none = await client.getContractEvents({ ...sample, eventName: 'Stored', args: { by: sample.address }, ...range });
  assert.deepEqual(none, []);
});

test('events are watched although there are no filters', async () => {
  const seen = [];
  const unwatch = client.watchContractEvent({ ...sample, eventName: 'Stored', onLogs: (logs) => seen.push(...logs), onError: (e) => seen.push(e) });
  try {
    await eventually('the event', async () => {
      if (seen.length === 0) await wait(await store(43n, 'watched'));
      return seen.length > 0;
    });
  } finally {
    unwatch();
  }
  assert.equal(seen[0].args?.note, 'watched', String(seen[0]));
});

test('reverts are decoded: a custom error, a text, a panic', async () => {
  const simulate = (functionName, args) => client.simulateContract({ ...sample, account, functionName, args });
  await assert.rejects(
    simulate('store', [5_000n, '']),
    reverted((e) => {
      assert.equal(e.data.errorName, 'TooLarge');
      assert.deepEqual(e.data.args, [5_000n, 1_000n]);
    }),
  );
  await assert.rejects(simulate('refuse'), reverted((e) => assert.equal(e.reason, 'not today')));
  await assert.rejects(simulate('divide', [0n]), reverted((e) => assert.match(e.reason, /divided? by zero|division/i)));
  // The estimate before a transaction returns the same.
  await assert.rejects(store(5_000n, ''), reverted((e) => assert.equal(e.data.errorName, 'TooLarge')));
});

test('a transaction that reverts is mined as such', async () => {
  const receipt = await wait(await store(5_000n, '', { gas: 100_000n }));
  assert.equal(receipt.status, 'reverted');
  const trace = await client.request({ method: 'debug_traceTransaction', params: [receipt.transactionHash, { tracer: 'callTracer' }] });
  assert.equal(trace.error, 'execution reverted');
  assert.equal(trace.output.slice(0, 10), toFunctionSelector('TooLarge(uint256,uint256)'));
});

test('nonces: managed ones follow each other, a used one is told', async () => {
  const managed = createWalletClient({ account: mnemonicToAccount(mnemonic, { addressIndex: 4, nonceManager }), chain, transport });
  const to = privateKeyToAddress(generatePrivateKey());
  const hashes = await Promise.all([1n, 2n, 3n].map((value) => managed.sendTransaction({ to, value })));
  const receipts = await Promise.all(hashes.map(wait));
  assert.ok(receipts.every((r) => r.status === 'success'));
  assert.equal(await client.getBalance({ address: to }), 6n);
  await assert.rejects(wallet.sendTransaction({ to, value: 1n, nonce: 0, gas: 21_000n }), (error) => {
    assert.ok(error.walk((e) => e instanceof NonceTooLowError), String(error));
    return true;
  });
});

test('the same signed bytes sent twice are known, and mined once', async () => {
  const to = privateKeyToAddress(generatePrivateKey());
  const request = await wallet.prepareTransactionRequest({ to, value: 5n });
  const serializedTransaction = await wallet.signTransaction(request);
  const hash = await client.sendRawTransaction({ serializedTransaction });
  await assert.rejects(client.sendRawTransaction({ serializedTransaction }), rpcError(-32000, /already known|nonce too low/));
  await wait(hash);
  assert.equal(await client.getBalance({ address: to }), 5n);
});

test('who has nothing is told so', async () => {
  const poor = createWalletClient({ account: privateKeyToAccount(generatePrivateKey()), chain, transport });
  await assert.rejects(poor.sendTransaction({ to: account.address, value: 1n }), /insufficient funds|exceeds the balance/i);
});

test('calls and blocks are simulated', async () => {
  const { results } = await client.simulateCalls({
    account: account.address,
    calls: [
      { to: sample.address, abi, functionName: 'store', args: [9n, 'simulated'] },
      { to: sample.address, abi, functionName: 'value' },
    ],
  });
  assert.equal(results[1].result, 9n);
});

test('a log range over the cap is refused with the way to paginate, and the pages are served', async () => {
  await assert.rejects(client.getLogs({ fromBlock: 0n, toBlock: 5_000n }), rpcError(-32602, /Paginate: ask for fromBlock 0x0 toBlock 0x3e7/));
  assert.ok(Array.isArray(await client.getLogs({ fromBlock: 0n, toBlock: await client.getBlockNumber() })));
});

test('what the gateway does not serve says what to do instead', async () => {
  for (const [method, advice] of [['eth_newFilter', /Poll eth_getLogs/], ['eth_sendTransaction', /Sign in your wallet/]]) {
    await assert.rejects(client.request({ method, params: [] }), (error) => {
      assert.ok(error.walk((e) => e instanceof MethodNotFoundRpcError), String(error));
      return rpcError(-32601, advice)(error);
    });
  }
});
