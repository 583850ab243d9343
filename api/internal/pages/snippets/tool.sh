# A refusal of a tool comes with HTTP 200: isError is true, and its text is the error object.
curl -s <<.URL>>/mcp \
  -H "Authorization: Bearer $API_KEY" \
  -H 'Content-Type: application/json' \
  -d '<<.Body>>'
