# -i shows the status; error.message and error.data say what to do next.
curl -i -X <<.Method>> <<.URL>><<.Path>> \
  -H "Authorization: Bearer $API_KEY"<<if .Body>> \
  -H 'Content-Type: application/json' \
  -d '<<.Body>>'<<end>>
