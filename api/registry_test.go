package api_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chainaccess/gateway/api"
	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/service"
)

// registrySchema returns the registry's own schema, see testdata/registry.
func registrySchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	file, err := os.Open("testdata/registry/server.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	document, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	id, _ := document.(map[string]any)["$id"].(string)
	if err := compiler.AddResource(id, document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(id)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestServerJSON_IsValidAndNamesOneRemote(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	text := read(g, "/server.json").Body
	entry, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	g.Must(err)
	schema := registrySchema(t)
	if err := schema.Validate(entry); err != nil {
		t.Errorf("the registry would refuse it: %v", err)
	}
	var told struct {
		Schema     string `json:"$schema"`
		Name       string
		Version    string
		WebsiteURL string
		Packages   []any
		Remotes    []struct{ Type, URL string }
	}
	g.Must(json.Unmarshal([]byte(text), &told))
	if told.Schema != schema.Location[:len(schema.Location)-len("#")] {
		t.Errorf("it names the schema %s, and is held against %s", told.Schema, schema.Location)
	}
	if told.Name != "example.gateway/chain-access-gateway" || told.Version != service.InterfaceVersion {
		t.Errorf("it is %s %s", told.Name, told.Version)
	}
	in := expect.In(t, "it is reached")
	require.Len(in, told.Remotes, 1)
	expect.Equal(in, told.Remotes[0].Type, "streamable-http")
	expect.Equal(in, told.Remotes[0].URL, "https://gateway.example/mcp")
	expect.Nil(in, told.Packages)
	if told.WebsiteURL != "https://gateway.example/docs/agents" {
		t.Errorf("it leads to %s", told.WebsiteURL)
	}
}

// The schema must refuse invalid entries; otherwise the test above could not fail.
func TestServerJSON_InvalidOnesAreRefusedByTheSchema(t *testing.T) {
	t.Parallel()
	schema := registrySchema(t)
	for _, text := range []string{
		`{"name":"example","description":"d","version":"1"}`,
		`{"name":"example/server","description":"d"}`,
		`{"name":"example/server","description":"` + strings.Repeat("d", 101) + `","version":"1"}`,
		`{"name":"example/server","description":"d","version":"1","remotes":[{"type":"http",` +
			`"url":"https://gateway.example/mcp"}]}`,
		`{"name":"example/server","description":"d","version":"1","remotes":[{"type":"streamable-http",` +
			`"url":"gateway.example"}]}`,
	} {
		entry, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if schema.Validate(entry) == nil {
			t.Errorf("%.80s passes", text)
		}
	}
}

func TestServerJSON_NamesServersByReversedHost(t *testing.T) {
	t.Parallel()
	schema := registrySchema(t)
	for address, want := range map[string]string{
		"https://rpc.example.org":                         "org.example.rpc",
		"https://RPC.Example.ORG.:8443":                   "org.example.rpc",
		"https://example.org/gateway":                     "org.example",
		"https://a-b.xn--bcher-kva.de":                    "de.xn--bcher-kva.a-b",
		"http://localhost:8080":                           "localhost",
		"http://127.0.0.1:8080":                           "localhost",
		"http://[::1]:8080":                               "localhost",
		"https://under_score.example.org":                 "localhost",
		"https://bücher.example":                          "localhost",
		"https://" + strings.Repeat("a", 63) + ".example": "example." + strings.Repeat("a", 63),
	} {
		t.Run(address, func(t *testing.T) {
			text, err := api.ServerJSON(address)
			if err != nil {
				t.Fatal(err)
			}
			var told struct{ Name string }
			if err := json.Unmarshal(text, &told); err != nil {
				t.Fatal(err)
			}
			if told.Name != want+"/chain-access-gateway" {
				t.Errorf("at %s it is %s", address, told.Name)
			}
			entry, _ := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
			// an address that is not a URI is refused here as well
			if err := schema.Validate(entry); err != nil && !strings.Contains(address, "ü") {
				t.Errorf("at %s: %v", address, err)
			}
		})
	}
}
