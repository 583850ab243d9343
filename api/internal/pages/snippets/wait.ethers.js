import { FetchRequest, JsonRpcProvider } from 'ethers';

const request = new FetchRequest('<<.URL>>/rpc/eth_mainnet');
request.setHeader('Authorization', `Bearer ${process.env.API_KEY}`);
request.retryFunc = async () => false; // the loop below waits as long as the error says
const provider = new JsonRpcProvider(request, 1, { batchMaxCount: 1, staticNetwork: true });
const refusalIn = (error) => JSON.parse(error.info?.responseBody ?? '{}').error;

for (let attempt = 1; ; attempt++) {
  try {
    console.log(await provider.getBlockNumber());
    break;
  } catch (error) {
    const refused = refusalIn(error);
    if (refused?.code !== <<.Code>> || attempt === 5) throw error;
    const seconds = refused.data.retry_after ?? attempt;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}
provider.destroy();
