// viem and ethers on every EVM chain: the first calls of a wallet or a dapp.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { FetchRequest, HDNodeWallet, JsonRpcProvider, Network, Wallet } from 'ethers';
import { createPublicClient, createWalletClient, http, parseAbiItem } from 'viem';
import { generatePrivateKey, mnemonicToAccount, privateKeyToAddress } from 'viem/accounts';
import { evmChains, headers, mnemonic, post, urlOf } from './client.js';

const transfer = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)');

describe('every EVM chain', { concurrency: true }, () => {
  for (const [name, chain] of Object.entries(evmChains)) {
    test(`viem on ${name}`, async () => {
      const transport = http(urlOf(name), { batch: true, fetchOptions: { headers } });
      const client = createPublicClient({ chain, transport, pollingInterval: 500 });
      const [id, head, block, fees] = await Promise.all([
        client.getChainId(),
        client.getBlockNumber(),
        client.getBlock({ blockTag: 'latest', includeTransactions: true }),
        client.estimateFeesPerGas(),
      ]);
      assert.equal(id, chain.id);
      assert.ok(block.number >= head - 2n && block.number <= head + 2n);
      assert.ok(fees.maxFeePerGas > 0n);
      const logs = await client.getLogs({ event: transfer, fromBlock: head - 60n, toBlock: head });
      assert.ok(logs.length > 0 && logs[0].args.value > 0n);
      const wallet = createWalletClient({ account: mnemonicToAccount(mnemonic, { addressIndex: 5 }), chain, transport });
      const to = privateKeyToAddress(generatePrivateKey());
      const hash = await wallet.sendTransaction({ to, value: 12_345n });
      const receipt = await client.waitForTransactionReceipt({ hash, timeout: 60_000 });
      assert.equal(receipt.status, 'success');
      assert.equal(await client.getBalance({ address: to }), 12_345n);
    });

    test(`ethers on ${name}`, async () => {
      const request = new FetchRequest(urlOf(name));
      request.setHeader('Authorization', headers.Authorization);
      // For Polygon, ethers asks a gas station on the internet for fees, unless it does not know
      // the network's name.
      const provider =
        name === 'polygon_pos'
          ? new JsonRpcProvider(request, new Network('sandbox', chain.id), { staticNetwork: true })
          : new JsonRpcProvider(request);
      after(() => provider.destroy());
      provider.pollingInterval = 500;
      const [network, head, fees] = await Promise.all([provider.getNetwork(), provider.getBlockNumber(), provider.getFeeData()]);
      assert.equal(network.chainId, BigInt(chain.id));
      assert.ok(head > 64 && fees.gasPrice > 0n);
      const signer = HDNodeWallet.fromPhrase(mnemonic, undefined, "m/44'/60'/0'/0/6").connect(provider);
      const to = Wallet.createRandom().address;
      const receipt = await (await signer.sendTransaction({ to, value: 54_321 })).wait(1, 60_000);
      assert.equal(receipt.status, 1);
      assert.equal(await provider.getBalance(to), 54_321n);
    });
  }
});

test('methods of one chain are sent there by the refusal of the others', async () => {
  for (const name of Object.keys(evmChains)) {
    for (const [method, home] of [['bor_getAuthor', 'polygon_pos'], ['arbtrace_block', 'arbitrum_one']]) {
      const { status, body } = await post(name, method, ['0x1']);
      assert.equal(status, 404);
      assert.equal(body.error.code, -32601);
      if (name !== home) assert.match(body.error.message, new RegExp(`Send it to /rpc/${home}`));
    }
  }
});
