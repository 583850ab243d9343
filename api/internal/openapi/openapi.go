// Package openapi builds the OpenAPI 3.1 document of the HTTP interface from the registry of
// operations, the plain routes of package api, and its own description of the relay's route.
// Fields, operations and refusals are described where they are defined. The package serves nothing.
package openapi

import (
	"cmp"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
)

// Version is the version of the interface (docs/interface.md, 1.9).
const Version = "1.0.0"

// ServiceName is the name of the service in documents.
const ServiceName = "Chain Access Gateway"

// Options are the inputs of the document.
type Options struct {
	Operations []operation.Definition
	Schemas    huma.Registry // of the inputs and outputs of the operations
	Chains     *chain.Set
	Plain      []Plain
	Console    []Console
	Shown      []Shown
	// StockClients reports whether stock x402 clients may pay for calls.
	StockClients bool
	PublicURL    string // without a trailing slash
	Contact      string // an e-mail address or a URL
}

// Plain is a route that is not an operation and needs no key: a page, a document, a health check.
type Plain struct {
	Method      string
	Path        string
	Name        string // operationId
	Title       string
	Description string
	Values      []Value // of the path's parameters
	Body        string  // description of the JSON body; empty for a route without one
	Answers     map[int]Answer
	Fails       []fault.Reason // its refusals, in addition to those of every route
	Messages    bool           // it takes JSON-RPC messages, and refuses in their form
}

// Value describes a parameter of a plain route's path.
type Value struct{ Name, Description, Example string }

// Console is a POST of the console that runs an operation for the person who signed in, and
// redirects to a page with the result.
type Console struct {
	Operation operation.Definition
	Path      string
}

// Shown is a public page of the console that shows what an operation returns, at its own path.
type Shown struct {
	Operation operation.Definition
	Path      string
}

// Answer is a plain route's answer with a status.
type Answer struct {
	Description string
	Media       string       // empty for no body
	Type        reflect.Type // of a JSON body; nil for an undescribed one
}

// document is the document under construction.
type document struct {
	*huma.OpenAPI

	own      huma.Registry // schemas of plain routes
	borrowed huma.Registry // schemas of the operations
	tags     map[string]bool
}

// Build returns the document. It panics on an operation, a route or a refusal that it cannot
// describe, because that is a bug.
func Build(o Options) *huma.OpenAPI {
	d := &document{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: ServiceName, Version: Version, Description: introduction,
				TermsOfService: o.PublicURL + "/terms", Contact: contact(o.Contact),
			},
			Servers: []*huma.Server{{URL: o.PublicURL, Description: "this gateway"}},
			Paths:   map[string]*huma.PathItem{},
			Components: &huma.Components{
				Schemas:         huma.NewMapRegistry(schemasPrefix, huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{},
				Headers:         headers(),
				Examples:        map[string]*huma.Example{},
			},
			ExternalDocs: &huma.ExternalDocs{
				Description: "How a program uses the service", URL: o.PublicURL + "/skill.md",
			},
		},
		own: huma.NewMapRegistry(schemasPrefix, huma.DefaultSchemaNamer), borrowed: o.Schemas, tags: map[string]bool{},
	}
	maps.Copy(d.schemas(), envelopeSchemas())
	d.relay(o.Chains, o.StockClients)
	for _, op := range o.Operations {
		if op.Meta().Route.Path != "" {
			d.operation(op)
		}
	}
	for _, c := range o.Console {
		d.console(c)
	}
	for _, s := range o.Shown {
		d.shown(s)
	}
	for _, p := range o.Plain {
		d.plain(p)
	}
	d.describeTags()
	return d.OpenAPI
}

const schemasPrefix = "#/components/schemas/"

const introduction = "Blockchain access through one key: JSON-RPC to six chains, metered in weighted units, and the " +
	"operations around it. Every answer carries X-Request-Id; every refusal says what to do next. How a program uses " +
	"the service is told at /skill.md, the methods of each chain and their units at /docs/methods."

func contact(at string) *huma.Contact {
	if strings.Contains(at, "@") {
		return &huma.Contact{Name: ServiceName, Email: strings.TrimPrefix(at, "mailto:")}
	}
	return &huma.Contact{Name: ServiceName, URL: at}
}

func (d *document) schemas() map[string]*huma.Schema { return d.Components.Schemas.Map() }

// add adds an operation under the tag of its path.
func (d *document) add(op *huma.Operation) {
	tag := tagOf(op.Path)
	d.tags[tag] = true
	op.Tags = []string{tag}
	for _, alternative := range op.Security {
		for scheme := range alternative {
			d.Components.SecuritySchemes[scheme] = securitySchemes()[scheme]
		}
	}
	d.AddOperation(op)
}

// take copies a schema, and every schema that it refers to, from a registry into the document. It
// returns a reference to it.
func (d *document) take(from huma.Registry, s *huma.Schema) *huma.Schema {
	name := nameOf(from, s)
	if name == "" {
		d.takeParts(from, s)
		return s
	}
	if d.schemas()[name] == nil {
		d.schemas()[name] = s
		d.takeParts(from, s)
	}
	return &huma.Schema{Ref: schemasPrefix + name}
}

func (d *document) takeParts(from huma.Registry, s *huma.Schema) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		d.take(from, from.SchemaFromRef(s.Ref))
		return
	}
	parts := slices.Concat([]*huma.Schema{s.Items, s.Not}, s.OneOf, s.AnyOf, s.AllOf,
		slices.Collect(maps.Values(s.Properties)))
	if more, ok := s.AdditionalProperties.(*huma.Schema); ok {
		parts = append(parts, more)
	}
	for _, part := range parts {
		d.takeParts(from, part)
	}
}

// nameOf returns the name of a schema in a registry, or "" when the registry does not have it.
func nameOf(r huma.Registry, s *huma.Schema) string {
	for name, known := range r.Map() {
		if known == s {
			return name
		}
	}
	return ""
}

// plain describes a route that is not an operation.
func (d *document) plain(p Plain) {
	op := &huma.Operation{
		Method: p.Method, Path: p.Path, OperationID: p.Name, Summary: p.Title, Description: p.Description,
		Responses: map[string]*huma.Response{}, Security: []map[string][]string{{}},
	}
	for _, v := range p.Values {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: v.Name, In: "path", Required: true, Description: v.Description, Schema: &huma.Schema{
				Type: huma.TypeString,
			}, Example: v.Example,
		})
	}
	for status, a := range p.Answers {
		r := &huma.Response{
			Description: a.Description, Headers: map[string]*huma.Param{requestID: headerRef(requestID)},
		}
		if a.Media != "" {
			r.Content = map[string]*huma.MediaType{a.Media: {Schema: &huma.Schema{Type: huma.TypeString}}}
			if a.Type != nil {
				r.Content[a.Media].Schema = d.take(d.own, d.schemaOf(a.Type))
			} else if a.Media == jsonMedia {
				r.Content[a.Media].Schema = &huma.Schema{Type: huma.TypeObject}
			}
		}
		op.Responses[strconv.Itoa(status)] = r
	}
	if p.Body != "" {
		op.RequestBody = &huma.RequestBody{
			Description: p.Body, Required: true, Content: map[string]*huma.MediaType{
				jsonMedia: {Schema: &huma.Schema{Type: huma.TypeObject}},
			},
		}
	}
	form := plainEnvelope
	if p.Messages {
		form = rpcEnvelope
	}
	d.refuses(op, p.Fails, form)
	d.refuses(op, []fault.Reason{fault.HeadersTooLarge, fault.InternalFault}, plainEnvelope)
	d.add(op)
}

func (d *document) schemaOf(t reflect.Type) *huma.Schema {
	s := d.own.Schema(t, true, "")
	if s.Ref != "" {
		return d.own.SchemaFromRef(s.Ref)
	}
	return s
}

const (
	jsonMedia = "application/json"
	csvMedia  = "text/csv"
	formMedia = "application/x-www-form-urlencoded"
	htmlMedia = "text/html"
)

// Operation is the summary of an operation, for lists.
type Operation struct {
	Method  string
	Path    string
	Name    string
	Title   string
	Tag     string
	Details string
}

// Operations lists the operations of a document by tag and path.
func Operations(d *huma.OpenAPI) []Operation {
	var list []Operation
	for path, item := range d.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete, item.Options} {
			if op != nil {
				list = append(list, Operation{
					Method: op.Method, Path: path, Name: op.OperationID, Title: op.Summary,
					Tag: op.Tags[0], Details: op.Description,
				})
			}
		}
	}
	order := map[string]int{}
	for i, t := range d.Tags {
		order[t.Name] = i
	}
	slices.SortFunc(list, func(a, b Operation) int {
		if by := order[a.Tag] - order[b.Tag]; by != 0 {
			return by
		}
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(methodOrder(a.Method), methodOrder(b.Method)))
	})
	return list
}

// Section holds the operations of one tag.
type Section struct {
	Name       string
	Operations []Operation
}

// Sections groups a list that is ordered by tag.
func Sections(list []Operation) []Section {
	var sections []Section
	for _, op := range list {
		if last := len(sections) - 1; last < 0 || sections[last].Name != op.Tag {
			sections = append(sections, Section{Name: op.Tag})
		}
		last := &sections[len(sections)-1]
		last.Operations = append(last.Operations, op)
	}
	return sections
}

// methodOrder returns a sort key that puts OPTIONS after the other methods of a path.
func methodOrder(method string) string {
	if method == http.MethodOptions {
		return "~"
	}
	return method
}
