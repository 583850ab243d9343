import { createPublicClient, createWalletClient, http, RpcRequestError } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { mainnet } from 'viem/chains';

const transport = http('<<.URL>>/rpc/eth_mainnet', {
  fetchOptions: { headers: { Authorization: `Bearer ${process.env.API_KEY}` } },
  retryCount: 0, // no automatic retries: nothing is sent twice
});
const client = createPublicClient({ chain: mainnet, transport });
const account = privateKeyToAccount(process.env.PRIVATE_KEY);
const wallet = createWalletClient({ account, chain: mainnet, transport });

// Sign once and keep the bytes until the outcome is known.
const unsigned = await wallet.prepareTransactionRequest({ to: account.address, value: 1n });
const serializedTransaction = await wallet.signTransaction(unsigned);

let hash;
try {
  hash = await client.sendRawTransaction({ serializedTransaction });
} catch (error) {
  const refused = error.walk?.((e) => e instanceof RpcRequestError);
  if (refused?.code !== <<.Code>>) throw error;
  hash = refused.data.transaction_hash;
  // This node has not seen it: send the identical bytes again, never a new signature. Another node may hold it and
  // answer "already known" or "nonce too low", so only the receipt decides.
  const seen = await client.getTransaction({ hash }).catch(() => null);
  if (!seen) await client.sendRawTransaction({ serializedTransaction }).catch((again) => console.log(again.details));
}
const receipt = await client.waitForTransactionReceipt({ hash });
console.log(receipt.status);
