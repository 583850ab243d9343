import { FetchRequest, JsonRpcProvider } from 'ethers';

const request = new FetchRequest('<<.URL>>/rpc/eth_mainnet');
request.setHeader('X-PAYMENT', process.env.CREDENTIAL);
const provider = new JsonRpcProvider(request, 1, { batchMaxCount: 1, staticNetwork: true });
const refusalIn = (error) => JSON.parse(error.info?.responseBody ?? '{}').error;

try {
  console.log(await provider.getBlockNumber());
} catch (error) {
  const refused = refusalIn(error);
  if (refused?.code !== <<.Code>>) throw error;
  // data.reason is unknown, spent or expired: redeem again within the window, or pay again.
  console.error(refused.message, refused.data);
}
provider.destroy();
