import { createPublicClient, http } from 'viem';
import { mainnet } from 'viem/chains';

const client = createPublicClient({
  chain: mainnet,
  transport: http('<<.URL>>/rpc/eth_mainnet', {
    fetchOptions: { headers: { Authorization: `Bearer ${process.env.API_KEY}` } },
  }),
});

console.log(await client.getBlockNumber());
