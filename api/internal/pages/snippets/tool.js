const answer = await fetch('<<.URL>>/mcp', {
  method: 'POST',
  headers: { Authorization: `Bearer ${process.env.API_KEY}`, 'Content-Type': 'application/json' },
  body: '<<.Body>>',
});
const { result } = await answer.json();
const error = result.isError ? JSON.parse(result.content[0].text) : null;
if (error?.code === <<.Code>>) {
  console.error(error.message, error.data);
} else {
  console.log(error ?? 'done');
}
