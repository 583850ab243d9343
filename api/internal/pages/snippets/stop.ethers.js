import { FetchRequest, JsonRpcProvider } from 'ethers';

const request = new FetchRequest('<<.URL>>/rpc/eth_mainnet');
request.setHeader('Authorization', `Bearer ${process.env.API_KEY}`);
request.retryFunc = async () => false; // it may be hours until the limit resets
const provider = new JsonRpcProvider(request, 1, { batchMaxCount: 1, staticNetwork: true });
const refusalIn = (error) => JSON.parse(error.info?.responseBody ?? '{}').error;

try {
  console.log(await provider.getBlockNumber());
} catch (error) {
  const refused = refusalIn(error);
  if (refused?.code !== <<.Code>>) throw error;
  // Stop calling until then, or follow the way past the limit that the answer names.
  const { retry_after, next_door, doorways } = refused.data;
  console.error(refused.message, { retry_after, next_door, doorways });
}
provider.destroy();
