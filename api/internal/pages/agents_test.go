package pages //nolint:testpackage // it tests unexported functions that build the page

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

const testAddress = "https://gateway.example/mcp?a=1&b=<2>"

// addressIn is where each program's configuration has the address and the header, as the program
// documents it. Commands have none.
var addressIn = map[string][]string{
	"Cursor":   {"mcpServers", serverLabel, "url"},
	"VS Code":  {"servers", serverLabel, "url"},
	"Windsurf": {"mcpServers", serverLabel, "serverUrl"},
	"Cline":    {"mcpServers", serverLabel, "url"},
	"Zed":      {"context_servers", serverLabel, "url"},
	"Goose":    {"extensions", serverLabel, "uri"},
}

// memberOf returns a member by its path.
func memberOf(t *testing.T, of any, path ...string) string {
	t.Helper()
	for _, name := range path {
		object, _ := of.(map[string]any)
		of = object[name]
	}
	found, _ := of.(string)
	return found
}

// parsed parses a configuration in the program's format.
func parsed(t *testing.T, p agentProgram, s Snippet) any {
	t.Helper()
	var out any
	var err error
	if p.Name == "Goose" {
		err = yaml.Unmarshal([]byte(s.Text), &out)
	} else {
		err = json.Unmarshal([]byte(s.Text), &out)
	}
	if err != nil {
		t.Fatalf("%s: %v", s.What, err)
	}
	return out
}

func TestAgentSetup_ConfigurationsNameTheServer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range agentPrograms(testAddress) {
		for _, s := range []Snippet{p.Free, p.Keyed} {
			in := expect.In(t, "%s", p.Name)
			expect.False(in, seen[s.ID])
			expect.NotEqual(in, s.ID, "")
			expect.NotEqual(in, s.What, "")
			expect.NotEqual(in, p.Where, "")
			seen[s.ID] = true
			if !strings.Contains(s.Text, testAddress) {
				t.Errorf("%s does not hold the address as it is:\n%s", s.What, s.Text)
			}
		}
		hasKey := func(s Snippet) bool {
			return strings.Contains(s.Text, "Bearer ") || strings.Contains(s.Text, keyVariable)
		}
		if hasKey(p.Free) || !hasKey(p.Keyed) {
			t.Errorf("%s: the one without a key has one, or the other has none", p.Name)
		}
		path, ok := addressIn[p.Name]
		if !ok {
			continue
		}
		for _, s := range []Snippet{p.Free, p.Keyed} {
			if got := memberOf(t, parsed(t, p, s), path...); got != testAddress {
				t.Errorf("%s: the address is %q", s.What, got)
			}
		}
		header := slices.Concat(path[:2], []string{"headers", "Authorization"})
		if got := memberOf(t, parsed(t, p, p.Keyed), header...); !strings.HasPrefix(got, "Bearer ") {
			t.Errorf("%s: the header is %q", p.Keyed.What, got)
		}
		if got := memberOf(t, parsed(t, p, p.Free), header...); got != "" {
			t.Errorf("%s: the header is %q", p.Free.What, got)
		}
	}
	if len(seen) != 20 {
		t.Errorf("there are %d configurations", len(seen))
	}
}

// VS Code must send in the header what it asks the user for. mcp-remote must take its header from
// the environment, because a space in an argument is lost on Windows.
func TestAgentSetup_KeysReachTheHeaderInEveryFormat(t *testing.T) {
	t.Parallel()
	code := vsCode(testAddress)
	var asked struct {
		Inputs  []struct{ Type, ID string }
		Servers map[string]struct {
			Type    string
			Headers map[string]string
		}
	}
	if err := json.Unmarshal([]byte(code.Keyed.Text), &asked); err != nil {
		t.Fatal(err)
	}
	in := expect.In(t, "VS Code")
	require.Len(in, asked.Inputs, 1)
	expect.Equal(in, asked.Servers[serverLabel].Headers["Authorization"], "Bearer ${input:"+asked.Inputs[0].ID+"}")
	expect.Equal(in, asked.Servers[serverLabel].Type, "http")
	desktop := claudeDesktop(testAddress)
	var run struct {
		Servers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(desktop.Keyed.Text), &run); err != nil {
		t.Fatal(err)
	}
	server := run.Servers[serverLabel]
	in = expect.In(t, "Claude Desktop runs")
	expect.Equal(in, server.Command, "npx")
	expect.Equal(in, strings.Join(server.Args, " "),
		"-y mcp-remote "+testAddress+" --header Authorization:${AUTH_HEADER}")
	expect.Equal(in, server.Env["AUTH_HEADER"], keyInPlace)
	for _, program := range []agentProgram{claudeCode(testAddress), gemini(testAddress)} {
		if !strings.Contains(program.Keyed.Text, `--header "Authorization: Bearer $`+keyVariable+`"`) ||
			!strings.Contains(program.Keyed.Text, "--transport http ") {
			t.Errorf("%s is told %s", program.Name, program.Keyed.Text)
		}
	}
	if want := "[mcp_servers." + serverLabel + "]\nurl = \"" + testAddress + "\"\nbearer_token_env_var = \"" +
		keyVariable + `"`; codex(testAddress).Keyed.Text != want {
		t.Errorf("Codex is told %s", codex(testAddress).Keyed.Text)
	}
}

// The copy buttons of documents are the same as those of the console.
func TestAgentSetup_CopyButtonsAreTheConsoles(t *testing.T) {
	t.Parallel()
	own, err := os.ReadFile("assets/copy.js")
	if err != nil {
		t.Fatal(err)
	}
	console, err := os.ReadFile("../../console/view/assets/copy.js")
	if err != nil {
		t.Fatal(err)
	}
	if string(own) != string(console) {
		t.Error("assets/copy.js is not console/view/assets/copy.js; copy it")
	}
}
