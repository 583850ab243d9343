# HASH is data.transaction_hash of the refusal; null means that no node has seen the transaction yet.
curl -s <<.URL>>/rpc/eth_mainnet \
  -H "Authorization: Bearer $API_KEY" \
  -H 'Content-Type: application/json' \
  -d '{"jsonrpc":"2.0","id":1,"method":"eth_getTransactionByHash","params":["'"$HASH"'"]}'
