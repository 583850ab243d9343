package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// keyVariable stands for a key in commands that are run as they are.
const keyVariable = "$API_KEY"

// curl is the command that does what a tool's form does, for a POSIX shell. toolbox.js writes the
// same line while people type.
func (t *tool) curl(publicURL string, values map[string]string) string {
	path := t.meta.Route.Path
	var query, body []string
	for i := range t.inputs {
		in := &t.inputs[i]
		value, given := in.typed(values[in.name])
		switch {
		case in.place == inPath:
			path = strings.Replace(path, "{"+in.name+"}", percent(values[in.name]), 1)
		case !given:
		case in.place == inQuery:
			query = append(query, percent(in.name)+"="+percent(values[in.name]))
		default:
			body = append(body, jsonText(in.name)+":"+jsonText(value))
		}
	}
	if len(query) > 0 {
		path += "?" + strings.Join(query, "&")
	}
	lines := []string{"curl " + quoted(publicURL+path), `-H "Authorization: Bearer ` + keyVariable + `"`}
	if t.meta.Route.Method != http.MethodGet {
		lines = append(lines, "-H 'Content-Type: application/json'", "-d "+quoted("{"+strings.Join(body, ",")+"}"))
	}
	return strings.Join(lines, " \\\n  ")
}

// quoted is a text as one word of a POSIX shell: nothing in single quotes means anything, and a
// quote stands outside of them.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// percent writes a text as a part of a path or a query (RFC 3986): what is not unreserved as its
// bytes, but for the comma, which lists have.
func percent(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~,", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// jsonText writes a value as JSON, for a terminal and not for HTML.
func jsonText(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil { // texts, numbers, booleans and lists of texts can be written
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
