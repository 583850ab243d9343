import { FetchRequest, JsonRpcProvider, Wallet } from 'ethers';

const request = new FetchRequest('<<.URL>>/rpc/eth_mainnet');
request.setHeader('Authorization', `Bearer ${process.env.API_KEY}`);
const provider = new JsonRpcProvider(request, 1, { batchMaxCount: 1, staticNetwork: true });
const wallet = new Wallet(process.env.PRIVATE_KEY, provider);

// Sign once and keep the bytes until the outcome is known.
const unsigned = await wallet.populateTransaction({ to: wallet.address, value: 1n });
const signed = await wallet.signTransaction(unsigned);

let hash;
try {
  ({ hash } = await provider.broadcastTransaction(signed));
} catch (error) {
  const refused = JSON.parse(error.info?.responseBody ?? '{}').error;
  if (refused?.code !== <<.Code>>) throw error;
  hash = refused.data.transaction_hash;
  // This node has not seen it: send the identical bytes again, never a new signature. Another node may hold it and
  // answer "already known" or "nonce too low", so only the receipt decides.
  const seen = await provider.getTransaction(hash);
  if (!seen) await provider.broadcastTransaction(signed).catch((again) => console.log(again.shortMessage ?? again.message));
}
const receipt = await provider.waitForTransaction(hash);
console.log(receipt.status);
provider.destroy();
