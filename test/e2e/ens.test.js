// Names of the sandbox's ENS: the toolbox must answer what viem resolves through the relay,
// including off-chain names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPublicClient, getAddress, http } from 'viem';
import { mainnet } from 'viem/chains';
import { mnemonicToAccount } from 'viem/accounts';
import { headers, mnemonic, urlOf } from './client.js';

const client = createPublicClient({ chain: mainnet, transport: http(urlOf('eth_mainnet'), { fetchOptions: { headers } }) });
const address = (addressIndex) => mnemonicToAccount(mnemonic, { addressIndex }).address;

async function toolbox(path) {
  const response = await fetch(new URL(`/toolbox/ens/${path}`, process.env.GATEWAY_URL), { headers });
  return { status: response.status, body: await response.json() };
}

test('names resolve alike', async () => {
  const names = {
    'sandbox.eth': address(0), 'alice.sandbox.eth': address(1), 'bob.sandbox.eth': address(2), 'anything.wild.sandbox.eth': undefined,
    'carol.offchain.sandbox.eth': address(3), 'dave.direct.sandbox.eth': address(4), 'empty.sandbox.eth': null, 'nobody.sandbox.eth': null,
    'nobody.offchain.sandbox.eth': null,
  };
  for (const [name, want] of Object.entries(names)) {
    const theirs = await client.getEnsAddress({ name });
    const { status, body } = await toolbox(`resolve/${name}`);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.address, theirs === null ? null : getAddress(theirs), name);
    assert.equal(body.resolved, theirs !== null, name);
    if (want !== undefined) assert.equal(body.address, want, name);
  }
});

test('addresses have the same names, and none that does not lead back', async () => {
  for (let i = 0; i < 9; i++) {
    const theirs = await client.getEnsName({ address: address(i) });
    const { status, body } = await toolbox(`reverse/${address(i)}`);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.name, theirs, `account ${i}`);
    assert.equal(body.resolved, theirs !== null, `account ${i}`);
  }
  const { body } = await toolbox(`reverse/${address(3)}`);
  assert.equal(body.unconfirmed_name, 'alice.sandbox.eth');
});

test('a gateway that lies or is missing gives no address', async () => {
  for (const label of ['missing', 'forged', 'expired']) {
    const name = `${label}.offchain.sandbox.eth`;
    assert.equal(await client.getEnsAddress({ name }), null, name);
    const { status, body } = await toolbox(`resolve/${name}`);
    assert.equal(status, 502, JSON.stringify(body));
    assert.equal(body.error.code, -32022);
  }
});
