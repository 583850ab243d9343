package toolbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/chainaccess/gateway/api/console/view"
)

// keyVariable replaces a key in commands that are run unchanged.
const keyVariable = "$API_KEY"

// curl returns the command for a POSIX shell that does the same as a tool's form. toolbox.js writes
// the same line while the user types.
func (t *tool) curl(publicURL string, values map[string]string) string {
	path := t.meta.Route.Path
	var query, body []string
	for i := range t.inputs {
		in := &t.inputs[i]
		value, given := in.typed(values[in.name])
		switch {
		case in.place == view.InPath:
			path = strings.Replace(path, "{"+in.name+"}", percent(values[in.name]), 1)
		case !given:
		case in.place == view.InQuery:
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

// quoted returns a text as one word of a POSIX shell. Nothing is special between single quotes, and
// a single quote is written outside of them.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// percent encodes a text for a path or a query (RFC 3986): every byte that is not unreserved,
// except commas, which separate list items.
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

// jsonText returns a value as JSON for a terminal, without HTML escapes.
func jsonText(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil { // only strings, numbers, booleans and lists of strings
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
