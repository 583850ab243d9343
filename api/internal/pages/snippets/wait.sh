# --retry waits for the seconds in Retry-After, or backs off exponentially if there are none.
curl -s --retry 5 <<.URL>>/rpc/eth_mainnet \
  -H "Authorization: Bearer $API_KEY" \
  -H 'Content-Type: application/json' \
  -d '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
