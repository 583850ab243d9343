# Get a key without sign-up: the member "key" of the answer. Send it with every call.
curl -s -X POST <<.URL>>/keys
curl -s <<.URL>>/rpc/eth_mainnet \
  -H "Authorization: Bearer $API_KEY" \
  -H 'Content-Type: application/json' \
  -d '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
