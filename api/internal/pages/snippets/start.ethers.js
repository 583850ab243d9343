import { FetchRequest, JsonRpcProvider } from 'ethers';

const request = new FetchRequest('<<.URL>>/rpc/eth_mainnet');
request.setHeader('Authorization', `Bearer ${process.env.API_KEY}`);
const provider = new JsonRpcProvider(request, 1, { batchMaxCount: 1, staticNetwork: true });

console.log(await provider.getBlockNumber());
provider.destroy();
