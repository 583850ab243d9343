import { createSolanaRpc } from '@solana/kit';

const rpc = createSolanaRpc('<<.URL>>/rpc/solana_mainnet', {
  headers: { Authorization: `Bearer ${process.env.API_KEY}` },
});

console.log(await rpc.getSlot().send());
