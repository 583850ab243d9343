package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
)

// Tool describes a tool for documents.
type Tool struct {
	Name    string
	Title   string
	Purpose string // one sentence
	KeyFree bool
}

// listOf returns the result of tools/list, and the descriptions of the tools for documents.
func listOf(known huma.Registry, chains *chain.Set, tools []*tool) ([]byte, []Tool) {
	var result struct { // sdk.ListToolsResult without the additions of later protocol versions
		Tools []*sdk.Tool `json:"tools"`
	}
	var told []Tool
	for _, t := range tools {
		t.check()
		d, o := t.hints&destructive != 0, t.hints&openWorld != 0
		result.Tools = append(result.Tools, &sdk.Tool{
			Name: t.name, Title: t.title, Description: t.about.String() + t.strangersLine(),
			InputSchema: t.inputSchema(known, chains), OutputSchema: t.outputSchema(known),
			Annotations: &sdk.ToolAnnotations{
				Title: t.title, ReadOnlyHint: t.hints&readOnly != 0, IdempotentHint: t.hints&idempotent != 0,
				DestructiveHint: &d, OpenWorldHint: &o,
			},
		})
		told = append(told, Tool{t.name, t.title, t.about.Purpose, t.keyFree})
	}
	list, err := json.Marshal(&result)
	if err != nil {
		panic(fmt.Sprintf("mcp: tools/list: %v", err))
	}
	return list, told
}

// inputSchema returns the schema of the parameters: that of the tool's own input, or that of its
// only way with the tool's names.
func (t *tool) inputSchema(known huma.Registry, chains *chain.Set) json.RawMessage {
	if t.input != nil {
		own := huma.NewMapRegistry(refs, huma.DefaultSchemaNamer)
		s := own.Schema(reflect.TypeOf(t.input), false, "")
		operation.ListChains(s, chains, false)
		return standalone(own, s)
	}
	s := *t.ways[0].of.Input()
	s.Properties = maps.Clone(s.Properties)
	s.Required = slices.Clone(s.Required)
	for ours, theirs := range t.ways[0].names {
		s.Properties[ours] = s.Properties[theirs]
		delete(s.Properties, theirs)
		if i := slices.Index(s.Required, theirs); i >= 0 {
			s.Required[i] = ours
		}
	}
	return standalone(known, &s)
}

// outputSchema returns the schema of the result. With several ways, it is any of theirs.
func (t *tool) outputSchema(known huma.Registry) json.RawMessage {
	if t.relays {
		return json.RawMessage(relayedSchema)
	}
	if len(t.ways) == 1 {
		return standalone(known, t.ways[0].of.Output())
	}
	either := &huma.Schema{Type: huma.TypeObject}
	for _, w := range t.ways {
		either.AnyOf = append(either.AnyOf, w.of.Output())
	}
	return standalone(known, either)
}

// relayedSchema is the body of POST /rpc/{chain}: a result of any type, or the error that the chain
// answered.
const relayedSchema = `{"type":"object","properties":{"jsonrpc":{"type":"string","const":"2.0"},"id":{"type":"null"},` +
	`"result":{"description":"what the method gave, as the chain's node has it"},` +
	`"error":{"type":"object","description":"the chain's own answer that the call fails, a revert for instance; it ` +
	`is charged as an answer",` +
	`"properties":{"code":{"type":"integer"},"message":{"type":"string"},"data":{}},"required":["code","message"]}},` +
	`"required":["jsonrpc","id"]}`

// Prefixes of references: refs in the schemas of operations, defs in a standalone schema.
const (
	refs = "#/components/schemas/"
	defs = "#/$defs/"
)

// standalone returns a schema together with every schema that it refers to.
func standalone(known huma.Registry, s *huma.Schema) json.RawMessage {
	body := plainSchema(s)
	needed := map[string]any{}
	for open := referred(body); len(open) > 0; {
		name := open[0]
		open = open[1:]
		if needed[name] != nil {
			continue
		}
		to := known.Map()[name]
		if to == nil {
			panic("mcp: no schema is called " + name)
		}
		d := plainSchema(to)
		needed[name] = d
		open = append(open, referred(d)...)
	}
	if len(needed) > 0 {
		body["$defs"] = needed
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("mcp: schema: %v", err))
	}
	return json.RawMessage(strings.ReplaceAll(string(text), `"$ref":"`+refs, `"$ref":"`+defs))
}

// plainSchema returns a schema as decoded JSON.
func plainSchema(s *huma.Schema) map[string]any {
	text, err := json.Marshal(s)
	var body map[string]any
	if err == nil {
		err = json.Unmarshal(text, &body)
	}
	if err != nil {
		panic(fmt.Sprintf("mcp: schema: %v", err))
	}
	return body
}

// referred returns the names of the schemas that a value refers to, in a deterministic order.
func referred(v any) []string {
	var names []string
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			names = append(names, strings.TrimPrefix(ref, refs))
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			names = append(names, referred(v[key])...)
		}
	case []any:
		for _, item := range v {
			names = append(names, referred(item)...)
		}
	}
	return names
}
