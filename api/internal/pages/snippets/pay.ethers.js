import { Contract, JsonRpcProvider, Wallet } from 'ethers';

const menu = await (await fetch('<<.URL>>/x402')).json();
if (!menu.payTo) throw new Error(menu.credential); // nothing is sold here today
const tier = menu.tiers.find((t) => t.name === 'balanced');

// The wallet that pays: it needs USDC, and a little ETH for gas, on the chain of menu.chainId.
const provider = new JsonRpcProvider(process.env.BASE_RPC_URL, menu.chainId, { staticNetwork: true });
const wallet = new Wallet(process.env.PRIVATE_KEY, provider);

// 1. Pay. maxAmountRequired includes VAT; menu.tax says whether you owe it.
const usdc = new Contract(menu.assetAddress, ['function transfer(address to, uint256 value) returns (bool)'], wallet);
const payment = await usdc.transfer(menu.payTo, tier.maxAmountRequired);
console.log(`paid with ${payment.hash}`); // keep it: it redeems the payment even if this program stops
await payment.wait();

// 2. Sign the message of the menu with the wallet that paid, and redeem; retry until the payment has enough confirmations.
const signature = await wallet.signMessage(menu.messageToSign.replace('{tx_hash}', payment.hash));
let redeemed;
do {
  redeemed = await fetch(menu.redeem, {
    method: 'POST', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ tx_hash: payment.hash, tier: tier.name, signature }),
  });
  // 202: not enough confirmations yet. 503: the chain cannot be read right now. Retry both later.
  const seconds = Number(redeemed.headers.get('Retry-After') ?? 5);
  if (redeemed.status === 202 || redeemed.status === 503) await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
} while (redeemed.status === 202 || redeemed.status === 503);
const bought = await redeemed.json();
if (redeemed.status !== 200) throw new Error(bought.error.message);
console.log(`${bought.units} units until ${bought.expires_at}, receipt ${bought.receipt}`);

// 3. Call with the credential instead of a key, until its units or its time are used up.
const answer = await fetch('<<.URL>>/rpc/eth_mainnet', {
  method: 'POST', headers: { 'Content-Type': 'application/json', [menu.header]: bought.credential },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }),
});
console.log((await answer.json()).result);
provider.destroy();
