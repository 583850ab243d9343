import { FetchRequest, JsonRpcProvider, Wallet } from 'ethers';

const request = new FetchRequest('<<.URL>>/rpc/eth_mainnet');
request.setHeader('Authorization', `Bearer ${process.env.API_KEY}`);
const provider = new JsonRpcProvider(request, 1, { batchMaxCount: 1, staticNetwork: true });
const wallet = new Wallet(process.env.PRIVATE_KEY, provider);

// Sign once, and keep the bytes until the outcome is known.
const unsigned = await wallet.populateTransaction({ to: wallet.address, value: 1n });
const signed = await wallet.signTransaction(unsigned);

let hash;
try {
  ({ hash } = await provider.broadcastTransaction(signed));
} catch (error) {
  const refused = JSON.parse(error.info?.responseBody ?? '{}').error;
  if (refused?.code !== <<.Code>>) throw error;
  hash = refused.data.transaction_hash;
  // No node has seen it: the identical bytes may be sent again, a new signature may not.
  if (!(await provider.getTransaction(hash))) await provider.broadcastTransaction(signed);
}
const receipt = await provider.waitForTransaction(hash);
console.log(receipt.status);
provider.destroy();
