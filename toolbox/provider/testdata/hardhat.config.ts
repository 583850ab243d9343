import { HardhatUserConfig } from "hardhat/config"

const config: HardhatUserConfig = {
  networks: {
    mainnet: {
      url: "https://ethereum-mainnet.core.chainstack.com/cd0SECRET6stack424242",
      accounts: ["0xdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeef"],
    },
    sepolia: {
      url: `https://sepolia.infura.io/v3/${process.env.INFURA_KEY}`,
      accounts: { mnemonic: "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about" },
    },
    localhost: { url: "http://127.0.0.1:8545", accounts: ["deadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeef"] },
  },
}
export default config
