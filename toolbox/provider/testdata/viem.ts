import { createPublicClient, http, fallback } from 'viem'
import { mainnet, base } from 'viem/chains'

export const client = createPublicClient({
  chain: mainnet,
  transport: fallback([http('https://eth-mainnet.g.alchemy.com/v2/k0SECRET1alchemy4242'), http()]),
})
export const onBase = createPublicClient({ chain: base, transport: http('https://cool-name.base-mainnet.quiknode.pro/7f0SECRET2quick4242/') })
