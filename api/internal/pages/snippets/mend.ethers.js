import { FetchRequest, JsonRpcProvider } from 'ethers';

const request = new FetchRequest('<<.URL>>/rpc/eth_mainnet');
request.setHeader('Authorization', `Bearer ${process.env.API_KEY}`);
const provider = new JsonRpcProvider(request, 1, { batchMaxCount: 1, staticNetwork: true });
const refusalIn = (error) => JSON.parse(error.info?.responseBody ?? '{}').error;

try {
  console.log(await provider.getBlockNumber());
} catch (error) {
  const refused = refusalIn(error);
  if (refused?.code !== <<.Code>>) throw error;
  // The same request is refused again: report what to change.
  console.error(refused.message, refused.data);
}
provider.destroy();
