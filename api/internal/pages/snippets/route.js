const answer = await fetch('<<.URL>><<.Path>>', {
  method: '<<.Method>>',
  headers: { Authorization: `Bearer ${process.env.API_KEY}`<<if .Body>>, 'Content-Type': 'application/json'<<end>> },<<if .Body>>
  body: '<<.Body>>',<<end>>
});
const { error, ...body } = await answer.json();
if (error?.code === <<.Code>>) {
  console.error(error.message, error.data);
} else {
  console.log(answer.status, error ?? Object.keys(body));
}
