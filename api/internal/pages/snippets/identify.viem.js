import { createPublicClient, http, RpcRequestError } from 'viem';
import { mainnet } from 'viem/chains';

const client = createPublicClient({
  chain: mainnet,
  transport: http('<<.URL>>/rpc/eth_mainnet', {
    fetchOptions: { headers: { Authorization: `Bearer ${process.env.API_KEY}` } },
    retryCount: 0,
  }),
});
const refusalIn = (error) => error.walk?.((e) => e instanceof RpcRequestError);

try {
  console.log(await client.getBlockNumber());
} catch (error) {
  const refused = refusalIn(error);
  if (refused?.code !== <<.Code>>) throw error;
  // The key is missing, cut off or revoked: set API_KEY to a valid one.
  console.error(refused.details, refused.data);
}
