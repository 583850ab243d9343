# RateLimit-Reset says in how many seconds the limit resets.
curl -i <<.URL>>/rpc/eth_mainnet \
  -H "Authorization: Bearer $API_KEY" \
  -H 'Content-Type: application/json' \
  -d '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
