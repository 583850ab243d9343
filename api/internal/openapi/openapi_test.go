package openapi_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chainaccess/gateway/api/internal/openapi"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/operation"
)

const publicURL = "https://gateway.example"

type greeting struct {
	Text string `json:"text" doc:"what is said"`
}

// describe builds the document of the registry and one plain route.
func describe() *huma.OpenAPI {
	catalogue := service.New(service.Options{PublicURL: publicURL})
	return openapi.Build(openapi.Options{
		Operations: catalogue.All(), Schemas: catalogue.Schemas(), PublicURL: publicURL,
		Contact: "contact@gateway.example", Console: []openapi.Console{
			{Operation: catalogue.AdoptKey, Path: "/agents/adopt"},
		},
		Plain: []openapi.Plain{{
			Method: http.MethodGet, Path: "/healthz", Name: "health", Title: "Whether it lives",
			Description: "It answers.", Answers: map[int]openapi.Answer{
				http.StatusOK: {Description: "It lives.", Media: "application/json", Type: reflect.TypeFor[greeting]()},
			},
		}},
	})
}

// build returns the document as text and decoded.
func build(t *testing.T) (text []byte, tree map[string]any) {
	t.Helper()
	text, err := json.Marshal(describe())
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text, tree
}

// The sections are in the order of importance, and every operation is in exactly one.
func TestOpenAPI_OperationsAreListedInSections(t *testing.T) {
	t.Parallel()
	list := openapi.Operations(describe())
	var names []string
	var listed []openapi.Operation
	for _, s := range openapi.Sections(list) {
		names, listed = append(names, s.Name), append(listed, s.Operations...)
		for _, op := range s.Operations {
			if op.Tag != s.Name {
				t.Errorf("%s %s of %s stands under %s", op.Method, op.Path, op.Tag, s.Name)
			}
		}
	}
	if want := []string{
		"Relay", "Keys", "Toolbox", "Data", "Pay per call", "Statements", "Agents", "Status", "Documents", "Health",
	}; !slices.Equal(names, want) {
		t.Errorf("the sections are %q, want %q", names, want)
	}
	if !slices.Equal(listed, list) {
		t.Errorf("the sections hold %v, want %v", listed, list)
	}
	var keys []string
	for _, op := range list {
		if op.Tag == "Keys" {
			keys = append(keys, op.Path)
		}
	}
	if !slices.Equal(keys, []string{"/keys", "/keys/bind", "/keys/bind/start"}) {
		t.Errorf("a path stands after what is below it: %v", keys)
	}
	if openapi.Sections(nil) != nil {
		t.Error("nothing has sections")
	}
}

// official compiles the official schema of OpenAPI 3.1 documents with OpenAPI's own schema dialect.
func official(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for address, file := range map[string]string{
		"https://spec.openapis.org/oas/3.1/schema":       "schema.json",
		"https://spec.openapis.org/oas/3.1/schema-base":  "schema-base.json",
		"https://spec.openapis.org/oas/3.1/dialect/base": "dialect-base.json",
		"https://spec.openapis.org/oas/3.1/meta/base":    "meta-base.json",
	} {
		f, err := os.Open(filepath.Join("testdata", "oas-3.1", file))
		if err != nil {
			t.Fatal(err)
		}
		tree, err := jsonschema.UnmarshalJSON(f)
		if err == nil {
			err = c.AddResource(address, tree)
		}
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Compile("https://spec.openapis.org/oas/3.1/schema-base")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(tree)
}

func TestOpenAPI_IsValid31(t *testing.T) {
	t.Parallel()
	text, tree := build(t)
	s := official(t)
	if err := validate(t, s, text); err != nil {
		t.Error(err)
	}
	info, _ := tree["info"].(map[string]any)
	expect.Equal[any](t, tree["openapi"], "3.1.0")
	expect.Equal[any](t, info["version"], "1.0.0")
	expect.Equal[any](t, info["termsOfService"], publicURL+"/terms")
	// The schema must find mistakes on each level: document, operation, schema.
	for _, mistake := range [][2]string{
		{`"openapi":"3.1.0"`, `"openapi":"3.0.3"`},
		{`"operationId":"get_key"`, `"operationId":7`},
		{`"in":"path"`, `"in":"trail"`},
		{`"minLength":1`, `"minLength":-1`},
	} {
		broken := strings.Replace(string(text), mistake[0], mistake[1], 1)
		if broken == string(text) {
			t.Errorf("the document has no %s", mistake[0])
		} else if validate(t, s, []byte(broken)) == nil {
			t.Errorf("%s passes", mistake[1])
		}
	}
}

// each calls visit with every object of a tree.
func each(node any, visit func(map[string]any)) {
	switch n := node.(type) {
	case map[string]any:
		visit(n)
		for _, child := range n {
			each(child, visit)
		}
	case []any:
		for _, child := range n {
			each(child, visit)
		}
	}
}

func TestOpenAPI_ReferencesResolveAndComponentsAreUsed(t *testing.T) {
	t.Parallel()
	_, tree := build(t)
	used := map[string]bool{}
	each(tree, func(n map[string]any) {
		ref, ok := n["$ref"].(string)
		if !ok {
			return
		}
		used[ref] = true
		at := any(tree)
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			m, _ := at.(map[string]any)
			at = m[part]
		}
		if at == nil {
			t.Errorf("%s leads nowhere", ref)
		}
	})
	if len(used) < 20 {
		t.Fatalf("only %d references were seen", len(used))
	}
	components, _ := tree["components"].(map[string]any)
	for _, kind := range []string{"schemas", "headers", "examples"} {
		of, _ := components[kind].(map[string]any)
		for name := range of {
			if !used["#/components/"+kind+"/"+name] {
				t.Errorf("nothing uses %s %s", kind, name)
			}
		}
	}
}

// operations returns every operation of the document by method and path.
func operations(t *testing.T, tree map[string]any) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	paths, _ := tree["paths"].(map[string]any)
	for path, item := range paths {
		methods, _ := item.(map[string]any)
		for method, op := range methods {
			all[strings.ToUpper(method)+" "+path], _ = op.(map[string]any)
		}
	}
	if len(all) < 4 {
		t.Fatalf("only %d operations", len(all))
	}
	return all
}

func TestOpenAPI_DescribesOperationsOnceWithEveryPathParameter(t *testing.T) {
	t.Parallel()
	_, tree := build(t)
	seen := map[any]string{}
	for route, op := range operations(t, tree) {
		if other := seen[op["operationId"]]; other != "" {
			t.Errorf("%s and %s are both called %v", other, route, op["operationId"])
		}
		seen[op["operationId"]] = route
		for _, member := range []string{"operationId", "summary", "description", "tags", "security"} {
			if op[member] == nil || op[member] == "" {
				t.Errorf("%s lacks %s", route, member)
			}
		}
		declared := map[any]bool{}
		parameters, _ := op["parameters"].([]any)
		for _, p := range parameters {
			if p, _ := p.(map[string]any); p["in"] == "path" {
				declared[p["name"]] = p["required"] == true
			}
		}
		for segment := range strings.SplitSeq(route, "/") {
			rest, ok := strings.CutPrefix(segment, "{")
			if name, _, _ := strings.Cut(rest, "}"); ok && !declared[name] {
				t.Errorf("%s does not declare %s as required", route, segment)
			}
		}
	}
}

// Each operation with a route is in the document as it is defined, with all its refusals.
func TestOpenAPI_DescribesEveryRoutedCapabilityFromItsDefinition(t *testing.T) {
	t.Parallel()
	text, tree := build(t)
	all := operations(t, tree)
	routed := 0
	for _, c := range service.New(service.Options{PublicURL: publicURL}).All() {
		m := c.Meta()
		if m.Name == "adopt_key" { // on the console
			m.Route = operation.Route{Method: http.MethodPost, Path: "/agents/adopt", Status: http.StatusFound}
			m.Description, _ = all["POST /agents/adopt"]["description"].(string)
		}
		if m.Route.Path == "" {
			if strings.Contains(string(text), `"operationId":"`+m.Name+`"`) {
				t.Errorf("%s has no route and is described", m.Name)
			}
			continue
		}
		routed++
		op := all[m.Route.Method+" "+m.Route.Path]
		if op == nil || op["operationId"] != m.Name || op["summary"] != m.Title || op["description"] != m.Description {
			t.Errorf("%s is described as %v", m.Name, op)
			continue
		}
		responses, _ := op["responses"].(map[string]any)
		if responses[strconv.Itoa(m.Route.Status)] == nil {
			t.Errorf("%s: %d is not declared", m.Name, m.Route.Status)
		}
		for _, r := range m.Refusals() {
			if !declares(responses, r) {
				t.Errorf("%s does not declare %s", m.Name, r)
			}
		}
	}
	if routed == 0 {
		t.Error("no capability has a route")
	}
	for _, r := range []fault.Reason{
		fault.RateWindow, fault.OutcomeUnknown, fault.PaymentRequired, fault.UnknownChain,
		fault.MethodNotServed, fault.RangeTooLarge,
	} {
		responses, _ := all["POST /rpc/{chain}"]["responses"].(map[string]any)
		if !declares(responses, r) {
			t.Errorf("the relay does not declare %s", r)
		}
	}
}

// POST /agents/adopt takes JSON and forms from a person who signed in, and redirects
// (docs/interface.md, 2.4).
func TestOpenAPI_DescribesAdoptionAsTheConsolesRedirect(t *testing.T) {
	t.Parallel()
	_, tree := build(t)
	op := operations(t, tree)["POST /agents/adopt"]
	text, err := json.Marshal(op)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"application/x-www-form-urlencoded":{`, `"application/json":{`,
		`"302":{"description":"Found","headers":{"Location":`, `"security":[{"session":[]}]`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("it lacks %s: %s", want, text)
		}
	}
	components, _ := tree["components"].(map[string]any)
	schemes, _ := components["securitySchemes"].(map[string]any)
	in := expect.In(t, "security schemes")
	expect.NotEqual(in, schemes["session"], nil)
	expect.NotEqual(in, schemes["key"], nil)
	expect.NotEqual(in, schemes["payment"], nil)
}

// declares reports whether responses have the reason's status with its code and its meaning.
func declares(responses map[string]any, r fault.Reason) bool {
	e := r.Entry()
	response, _ := responses[strconv.Itoa(e.HTTP)].(map[string]any)
	description, _ := response["description"].(string)
	code := false
	each(response, func(n map[string]any) {
		codes, _ := n["enum"].([]any)
		code = code || slices.Contains(codes, any(float64(e.Code)))
	})
	return code && strings.Contains(description, e.Meaning)
}

func TestOpenAPI_DescribesTheRelayFromTheCatalogs(t *testing.T) {
	t.Parallel()
	_, tree := build(t)
	names := map[string]bool{}
	each(operations(t, tree)["POST /rpc/{chain}"]["parameters"], func(n map[string]any) {
		values, _ := n["enum"].([]any)
		for _, v := range values {
			text, _ := v.(string)
			names[text] = true
		}
	})
	for _, c := range chain.BuiltIn().All() {
		if !names[string(c.ID)] {
			t.Errorf("%s is not declared; there are %v", c.ID, slices.Sorted(maps.Keys(names)))
		}
	}
	in := expect.In(t, "the route tiers are not declared")
	expect.True(in, names["cheap"])
	expect.True(in, names["balanced"])
	expect.True(in, names["fast"])
}

// Readers copy examples first.
func TestOpenAPI_EveryExampleMatchesItsSchema(t *testing.T) {
	t.Parallel()
	text, tree := build(t)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = c.AddResource("https://document.example/", document)
	}
	if err != nil {
		t.Fatal(err)
	}
	components, _ := tree["components"].(map[string]any)
	shared, _ := components["examples"].(map[string]any)
	checked := 0
	each(tree["paths"], func(n map[string]any) {
		examples, _ := n["examples"].(map[string]any)
		schema, _ := n["schema"].(map[string]any)
		if examples == nil || schema == nil {
			return
		}
		own, err := json.Marshal(map[string]any{"schema": schema})
		if err != nil {
			t.Fatal(err)
		}
		s := inline(t, c, string(own), checked)
		for name, e := range examples {
			example, _ := e.(map[string]any)
			if ref, ok := example["$ref"].(string); ok {
				example, _ = shared[ref[strings.LastIndexByte(ref, '/')+1:]].(map[string]any)
			}
			if err := s.Validate(example["value"]); err != nil {
				t.Errorf("example %s: %v", name, err)
			}
			checked++
		}
	})
	if checked < 30 {
		t.Errorf("only %d examples were checked", checked)
	}
}

// inline compiles a schema that is not a component, with its references.
func inline(t *testing.T, c *jsonschema.Compiler, text string, n int) *jsonschema.Schema {
	t.Helper()
	tree, err := jsonschema.UnmarshalJSON(
		strings.NewReader(strings.ReplaceAll(text, `"#/components`, `"https://document.example/#/components`)))
	if err != nil {
		t.Fatal(err)
	}
	address := "https://inline.example/" + strconv.Itoa(n)
	if err := c.AddResource(address, tree); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(address + "#/schema")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
