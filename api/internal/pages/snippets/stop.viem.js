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
  // Stop calling until then, or follow the way past the limit that the answer names.
  const { retry_after, next_door, doorways } = refused.data;
  console.error(refused.details, { retry_after, next_door, doorways });
}
