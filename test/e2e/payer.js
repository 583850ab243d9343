// A payer without an account who pays per call with ethers: with a new wallet, USDC from the
// sandbox's faucet, and only the gateway's URL.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { Contract, JsonRpcProvider, Wallet } from 'ethers';
import { fetchAsTold } from './wait.js';

const usdc = ['function transfer(address to, uint256 value) returns (bool)'];

const asJSON = (body) => ({ method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

export async function stranger(gateway) {
  const menu = await (await fetch(`${gateway}/x402`)).json();
  assert.equal(menu.mainnetLive, true);
  const { address, privateKey } = Wallet.createRandom();
  const given = await fetch(`${gateway}/dev/faucet`, asJSON({ address }));
  assert.equal(given.status, 200, await given.clone().text());
  const { rpc_url: rpcURL } = await given.json();
  const provider = new JsonRpcProvider(rpcURL, menu.chainId, { staticNetwork: true });
  provider.pollingInterval = 500;
  const wallet = new Wallet(privateKey, provider);
  return {
    address, menu, rpcURL, wallet,
    close: () => provider.destroy(),
    tier: (name) => menu.tiers.find((t) => t.name === name),
    // Transfers an amount to the seller and returns the transaction's hash.
    transfer: async (amount) => {
      const tx = await new Contract(menu.assetAddress, usdc, wallet).transfer(menu.payTo, amount);
      await tx.wait();
      return tx.hash;
    },
    sign: (hash) => wallet.signMessage(menu.messageToSign.replace('{tx_hash}', hash)),
    // Redeems until the payment has enough confirmations, and returns the answer.
    redeem: async (tx_hash, tier, signature) => {
      for (;;) {
        const answer = await fetchAsTold(menu.redeem, asJSON({ tx_hash, tier, signature }));
        const body = await answer.json();
        if (answer.status !== 202) return { status: answer.status, body };
        await pause(Number(answer.headers.get('Retry-After')) * 1000);
      }
    },
    // Calls the relay with a credential.
    call: async (credential, method = 'eth_chainId', params = []) => {
      const answer = await fetch(`${gateway}/rpc/eth_mainnet`, {
        method: 'POST', headers: { 'Content-Type': 'application/json', [menu.header]: credential },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
      return { status: answer.status, body: await answer.json() };
    },
    receipt: async (hash) => {
      const answer = await fetchAsTold(`${gateway}/x402/receipts/${hash}.json`);
      return { status: answer.status, body: await answer.json() };
    },
  };
}
