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

for (let attempt = 1; ; attempt++) {
  try {
    console.log(await client.getBlockNumber());
    break;
  } catch (error) {
    const refused = refusalIn(error);
    if (refused?.code !== <<.Code>> || attempt === 5) throw error;
    const seconds = refused.data.retry_after ?? attempt;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}
