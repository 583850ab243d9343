package toolbox

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/view"
)

// words returns the arguments that a shell passes to curl for a command.
func words(t *testing.T, line string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `curl() { for word; do printf '%s\0' "$word"; done; }`+
		"\n"+line)
	cmd.Env = []string{"API_KEY=cag_of-the-test", "HOME=/elsewhere"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the shell does not take %s: %v", line, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// httpRequest returns the request that curl sends for its arguments, as far as our commands use
// them.
func httpRequest(t *testing.T, words []string) *http.Request {
	t.Helper()
	address, method, body, header := "", http.MethodGet, "", http.Header{}
	for len(words) > 0 {
		word := words[0]
		switch {
		case word == "-H" && len(words) > 1:
			name, value, _ := strings.Cut(words[1], ": ")
			header.Set(name, value)
			words = words[1:]
		case word == "-d" && len(words) > 1:
			if strings.HasPrefix(words[1], "@") {
				t.Fatal("curl would send a file")
			}
			method, body, words = http.MethodPost, words[1], words[1:]
		case strings.HasPrefix(word, "-") || address != "":
			t.Fatalf("curl gets %q", word)
		default:
			address = word
		}
		words = words[1:]
	}
	if !regexp.MustCompile(`^https://gateway\.example/[A-Za-z0-9/._~,%?&=-]*$`).MatchString(address) {
		t.Fatalf("curl would read the address %q in its own way", address)
	}
	r := httptest.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	r.Header = header
	return r
}

// arrived returns the arguments that a route receives: texts from path and query, the body as JSON.
func arrived(t *testing.T, tool *tool, r *http.Request) map[string]any {
	t.Helper()
	got := map[string]any{}
	mux := http.NewServeMux()
	mux.HandleFunc(tool.meta.Route.Method+" "+tool.meta.Route.Path, func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer cag_of-the-test" {
			t.Errorf("the key goes as %q", r.Header.Get("Authorization"))
		}
		body, err := io.ReadAll(r.Body)
		if err == nil && len(body) > 0 {
			d := json.NewDecoder(bytes.NewReader(body))
			err = d.Decode(&got)
			if r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("the body goes as %q", r.Header.Get("Content-Type"))
			}
		}
		if err != nil {
			t.Errorf("body %q: %v", body, err)
		}
		for i := range tool.inputs {
			in := &tool.inputs[i]
			switch {
			case in.place == view.InPath:
				got[in.name], _ = in.typed(r.PathValue(in.name))
			case in.place == view.InQuery && r.URL.Query().Has(in.name):
				got[in.name], _ = in.typed(r.URL.Query().Get(in.name))
			}
		}
	})
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s %s finds no route: %d", r.Method, r.URL, w.Code)
	}
	return got
}

// Texts that are special to shells, URLs and JSON.
var hostileTexts = []string{
	"a b", "it's", `''`, `"quoted"`, "$API_KEY", "$(id)", "`id`", `back\slash`, "!history", "~", "*", "[1-3]{a,b}",
	"a&b=c", "a+b", "100%", "%41", "#x", "?y", "line one\nline two", "tab\tand\rreturn", "\x01\x1f\x7f", "päß", "🦄",
	"\u2028\u2029", "</script>", "-d", "@/etc/passwd", "null", "a/b",
}

// fill puts a text into every field that accepts one, and a valid value into the others.
func fill(tool *tool, values map[string]string, text string) {
	for i := range tool.inputs {
		switch in := &tool.inputs[i]; {
		case in.kind == view.TickKind:
			values[in.name] = "true"
		case in.schema.Type == huma.TypeInteger:
			values[in.name] = "7"
		case in.schema.Type == huma.TypeArray:
			values[in.name] = "x, y"
		case in.kind != view.ChoiceKind:
			values[in.name] = text
		}
	}
}

func TestCurlCommand_SendsWhatItsFormSends(t *testing.T) {
	t.Parallel()
	groups, err := newToolGroups(nil, consoletest.Definitions(consoletest.Tools()))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		for _, tool := range g.tools {
			t.Run(tool.meta.Name, func(t *testing.T) {
				t.Parallel()
				for _, text := range append([]string{""}, hostileTexts...) {
					values := tool.examples()
					if text != "" {
						fill(tool, values, text)
					}
					want, refusal := tool.args(values)()
					if refusal != nil {
						t.Fatal(refusal)
					}
					line := tool.curl("https://gateway.example", values)
					if got := arrived(t, tool, httpRequest(t, words(t, line))); !reflect.DeepEqual(got, want) {
						t.Errorf("%s\nbrings %v, the form %v", line, got, want)
					}
				}
			})
		}
	}
}

func TestCurlCommand_IsReadable(t *testing.T) {
	t.Parallel()
	groups, err := newToolGroups(nil, consoletest.Definitions(consoletest.Tools()))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, g := range groups {
		for _, tool := range g.tools {
			got[tool.meta.Name] = tool.curl("https://gateway.example", tool.examples())
		}
	}
	want := map[string]string{
		"get_gas": "curl 'https://gateway.example/toolbox/gas/eth_mainnet' \\\n  -H \"Authorization: Bearer $API_KEY\"",
		"search": "curl 'https://gateway.example/toolbox/utils/search?value=1.5&from=eth&text=&limit=5&safe=true' " +
			"\\\n  -H \"Authorization: Bearer $API_KEY\"",
		"decode": "curl " +
			"'https://gateway.example/toolbox/decode/eth_mainnet/0xdAC17F958D2ee523a2206206994597C13D831ec7' \\\n  " +
			"-H \"Authorization: Bearer $API_KEY\" \\\n  -H 'Content-Type: application/json' \\\n  -d " +
			"'{\"data\":\"0xa9059cbb\"}'",
	}
	want["get_balances"] = strings.Replace(want["decode"], "toolbox/decode/eth_mainnet", "data/eth_mainnet/balances", 1)
	if text := jsonText("<b> & \"c\""); text != `"<b> & \"c\""` {
		t.Errorf("a text for a terminal is written as %s", text)
	}
	if !maps.Equal(got, want) {
		t.Errorf("the commands are\n%v, want\n%v", got, want)
	}
}
