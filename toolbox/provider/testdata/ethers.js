const { JsonRpcProvider, WebSocketProvider, Wallet } = require("ethers")
// polls and listens
const provider = new JsonRpcProvider("https://polygon-mainnet.infura.io/v3/9a0SECRET3infura4242")
const socket = new WebSocketProvider("wss://polygon-amoy.g.alchemy.com/v2/9a0SECRET4ws424242")
const wallet = new Wallet("0xdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeef", provider)
await provider.send("eth_getLogs", [{ fromBlock: "0x1", toBlock: "latest" }])
await socket.send("eth_subscribe", ["newHeads"])
