# Without a key, with the credential from redeeming.
curl -s <<.URL>>/rpc/eth_mainnet \
  -H "X-PAYMENT: $CREDENTIAL" \
  -H 'Content-Type: application/json' \
  -d '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
