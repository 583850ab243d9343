// The balances in /data/{chain}/balances must be those that ethers reads from the chain: the native
// coin, and USDC by balanceOf.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Contract, FetchRequest, HDNodeWallet, JsonRpcProvider, Mnemonic, Network, parseUnits } from 'ethers';
import { evmChains, eventually, gateway, headers, mnemonic, urlOf } from './client.js';

const usdc = {
  eth_mainnet: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
  base_mainnet: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  arbitrum_one: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
  optimism_mainnet: '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85',
  polygon_pos: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
};
const account = (index) => HDNodeWallet.fromMnemonic(Mnemonic.fromPhrase(mnemonic), `m/44'/60'/0'/0/${index}`).address;

const open = [];
after(() => open.forEach((p) => p.destroy()));

const providerOf = (chain) => {
  const request = new FetchRequest(urlOf(chain));
  request.setHeader('Authorization', headers.Authorization);
  const network = Network.from(evmChains[chain].id);
  const provider = new JsonRpcProvider(request, network, { staticNetwork: network });
  open.push(provider);
  return provider;
};

async function balances(chain, address) {
  const response = await fetch(`${gateway}/data/${chain}/balances/${address}`, { headers });
  const body = await response.json();
  assert.equal(response.status, 200, JSON.stringify(body));
  return body;
}

for (const chain of Object.keys(usdc)) {
  test(`balances on ${chain} are those that ethers reads`, async () => {
    const provider = providerOf(chain);
    const token = new Contract(usdc[chain], ['function balanceOf(address) view returns (uint256)', 'function decimals() view returns (uint8)'], provider);
    const decimals = Number(await token.decimals());
    // The last three accounts trade all the time, and other tests send from others; the balances of
    // these two do not change.
    for (const index of [2, 6]) {
      const address = account(index);
      const coin = await provider.getBalance(address);
      const amount = await token.balanceOf(address);
      assert.ok(amount > 0n, `account ${index} has no USDC, so nothing is compared`);
      const body = await eventually(`tokens on ${chain}`, async () => {
        const said = await balances(chain, address);
        return Array.isArray(said.tokens) && said; // null until the probes know which upstream has an index
      });
      assert.equal(body.address, address);
      assert.equal(body.native.balance, coin.toString());
      const held = body.tokens.find((t) => t.contract === usdc[chain]);
      assert.ok(held, `USDC is not among ${JSON.stringify(body.tokens)}`);
      assert.equal(held.balance, amount.toString());
      assert.equal(held.decimals, decimals);
      assert.equal(parseUnits(held.formatted, decimals), amount);
      assert.equal(held.symbol, 'USDC');
    }
  });
}
