# --retry waits for the seconds of Retry-After, and longer each time where there are none.
curl -s --retry 5 <<.URL>>/rpc/eth_mainnet \
  -H "Authorization: Bearer $API_KEY" \
  -H 'Content-Type: application/json' \
  -d '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
