import { createPublicClient, http, RpcRequestError } from 'viem';
import { mainnet } from 'viem/chains';

const client = createPublicClient({
  chain: mainnet,
  transport: http('<<.URL>>/rpc/eth_mainnet', {
    fetchOptions: { headers: { 'X-PAYMENT': process.env.CREDENTIAL } },
    retryCount: 0,
  }),
});
const refusalIn = (error) => error.walk?.((e) => e instanceof RpcRequestError);

try {
  console.log(await client.getBlockNumber());
} catch (error) {
  const refused = refusalIn(error);
  if (refused?.code !== <<.Code>>) throw error;
  // data.reason is unknown, spent or expired: redeem again within the window, or pay again.
  console.error(refused.details, refused.data);
}
