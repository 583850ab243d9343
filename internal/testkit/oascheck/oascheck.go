// Package oascheck checks HTTP answers against an OpenAPI 3.1 document: the status must be declared
// for the route and method, the body must have the declared media type and match its schema, and
// required headers must be present. It knows nothing about the gateway; its user names the schema
// of answers to undeclared routes.
package oascheck

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// location is the base URL under which the document's schemas are compiled.
const location = "https://contract.example/openapi.json"

// Document is a parsed document. It is safe for concurrent use; each schema is compiled once, on
// first use.
type Document struct {
	root      document
	undefined string // pointer to the schema of answers to undeclared routes

	mu       sync.Mutex // guards compiler and schemas
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
}

type document struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Headers map[string]header `json:"headers"`
	} `json:"components"`
}

type operation struct {
	Responses map[string]response `json:"responses"`
}

type response struct {
	Headers map[string]header          `json:"headers"`
	Content map[string]json.RawMessage `json:"content"`
}

type header struct {
	Ref      string `json:"$ref"`
	Required bool   `json:"required"`
	Schema   struct {
		Type string `json:"type"`
	} `json:"schema"`
}

// Load parses a document. undefined is the name of the component schema for answers to undeclared
// routes.
func Load(text []byte, undefined string) (*Document, error) {
	d := &Document{
		schemas: map[string]*jsonschema.Schema{}, compiler: jsonschema.NewCompiler(),
		undefined: pointer("components", "schemas", undefined),
	}
	if err := json.Unmarshal(text, &d.root); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(location, tree); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	if _, err := d.schema(d.undefined); err != nil {
		return nil, err
	}
	return d, nil
}

// Answer is the response to a request.
type Answer struct {
	Method string
	URL    *url.URL
	Status int
	Header http.Header
	Body   []byte
	Cut    bool // the body was not read to its end, so only status and headers are checked
}

// Check returns an error that describes what is wrong with an answer; nil when nothing is.
func (d *Document) Check(a *Answer) error {
	path, item := d.find(a.URL.EscapedPath())
	method := strings.ToLower(a.Method)
	if method == "head" && item["head"] == nil {
		method = "get"
	}
	if item == nil || item[method] == nil {
		return wrap(a, d.undeclared(a, item))
	}
	var op operation
	if err := json.Unmarshal(item[method], &op); err != nil {
		return wrap(a, err)
	}
	declared, ok := op.Responses[strconv.Itoa(a.Status)]
	if !ok {
		return wrap(a, fmt.Errorf("the status is not declared; %s of %s has %s", a.Method, path,
			strings.Join(slices.Sorted(maps.Keys(op.Responses)), ", ")))
	}
	if err := d.checkHeaders(a, declared.Headers); err != nil {
		return wrap(a, err)
	}
	return wrap(a,
		d.checkBody(a, declared, pointer("paths", path, method, "responses", strconv.Itoa(a.Status), "content")))
}

func wrap(a *Answer, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s answered %d outside its contract: %w\n%.600s", a.Method, a.URL.EscapedPath(), a.Status,
		err, a.Body)
}

// find returns the path item that a request's path matches. A path without templates is preferred
// (OpenAPI 3.1, section 4.8.8.2).
func (d *Document) find(path string) (template string, item map[string]json.RawMessage) {
	if item, ok := d.root.Paths[path]; ok {
		return path, item
	}
	if strings.Contains(path, "/rpc/") {
		path = strings.TrimSuffix(path, "/")    // the relay answers both forms alike,
		path, _, _ = strings.Cut(path, "/cag_") // and refuses a key in the path in its own form
	}
	asked := strings.Split(path, "/")
	for each, its := range d.root.Paths {
		// Of two matching templates the longer one is more specific: {hash}.json before {hash}.
		if len(each) > len(template) && matches(strings.Split(each, "/"), asked) {
			template, item = each, its
		}
	}
	return template, item
}

func matches(template, asked []string) bool {
	if len(template) != len(asked) {
		return false
	}
	for i, segment := range template {
		if segment == asked[i] {
			continue
		}
		_, end, braced := strings.Cut(segment, "}")
		if value, ok := strings.CutSuffix(asked[i], end); !braced || !strings.HasPrefix(segment, "{") || !ok ||
			value == "" {
			return false
		}
	}
	return true
}

// undeclared checks an answer to a route or method that the document does not declare: it must be a
// refusal.
func (d *Document) undeclared(a *Answer, item map[string]json.RawMessage) error {
	switch {
	case a.Status < http.StatusBadRequest:
		return fmt.Errorf("the route is not declared")
	case item != nil && a.Status == http.StatusMethodNotAllowed && a.Header.Get("Allow") == "":
		return fmt.Errorf("it lacks the Allow header")
	case a.Method == http.MethodHead || a.Cut:
		return nil
	}
	return d.match(d.undefined, a)
}

func (d *Document) checkHeaders(a *Answer, declared map[string]header) error {
	for name, h := range declared {
		if h.Ref != "" {
			h = d.root.Components.Headers[h.Ref[strings.LastIndexByte(h.Ref, '/')+1:]]
		}
		value := one(a.Header, name)
		switch {
		case value == "" && h.Required:
			return fmt.Errorf("it lacks the header %s", name)
		case value == "":
		case h.Schema.Type == "integer":
			if _, err := strconv.ParseUint(value, 10, 63); err != nil {
				return fmt.Errorf("the header %s is %q, which is no whole number", name, value)
			}
		}
	}
	return nil
}

// one returns a header by its case-insensitive name.
func one(h http.Header, name string) string {
	for spelled, values := range h {
		if strings.EqualFold(spelled, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

func (d *Document) checkBody(a *Answer, declared response, content string) error {
	if a.Method == http.MethodHead {
		return nil
	}
	if len(declared.Content) == 0 {
		if len(a.Body) > 0 {
			return fmt.Errorf("it has a body, and none is declared")
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if err != nil || declared.Content[media] == nil {
		return fmt.Errorf("its Content-Type is %q; declared are %s", a.Header.Get("Content-Type"),
			strings.Join(slices.Sorted(maps.Keys(declared.Content)), ", "))
	}
	if a.Cut || media != "application/json" {
		return nil
	}
	return d.match(content+pointer(media, "schema"), a)
}

// match checks a JSON body against the schema at a location in the document.
func (d *Document) match(at string, a *Answer) error {
	schema, err := d.schema(at)
	if err != nil {
		return err
	}
	body := a.Body
	if strings.EqualFold(a.Header.Get("Content-Encoding"), "gzip") {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return fmt.Errorf("gzip: %w", err)
		}
		if body, err = io.ReadAll(z); err != nil {
			return fmt.Errorf("gzip: %w", err)
		}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the body is no JSON: %w", err)
	}
	return schema.Validate(value)
}

func (d *Document) schema(at string) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.schemas[at]; ok {
		return s, nil
	}
	s, err := d.compiler.Compile(location + "#" + at)
	if err != nil {
		return nil, fmt.Errorf("schema at %s: %w", at, err)
	}
	d.schemas[at] = s
	return s, nil
}

// pointer returns a JSON pointer as a URI fragment (RFC 6901, section 6).
func pointer(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		p = strings.NewReplacer("~", "~0", "/", "~1").Replace(p)
		b.WriteString("/" + url.PathEscape(p))
	}
	return b.String()
}
