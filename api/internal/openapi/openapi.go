// Package openapi owns the document that describes the HTTP door (OpenAPI 3.1): it is built from
// the registry of operations, from the plain routes of package api, and from what is said here
// of the relay's own route. What a field, an operation or a refusal means is taken from where it is
// defined. The package serves nothing.
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
	"github.com/chainaccess/gateway/service"
)

// Version is the version of the interface (docs/interface.md, 1.9).
const Version = "1.0.0"

// ServiceName is what the service is called to those who read about it.
const ServiceName = "Chain Access Gateway"

// Options are what the document is made from.
type Options struct {
	Operations []service.Definition
	Schemas    huma.Registry // that inputs and outputs of the operations refer to
	Plain      []Plain
	Console    []Console
	Shown      []Shown
	// StockClients says that stock x402 clients may pay for calls.
	StockClients bool
	PublicURL    string // without a slash at its end
	Contact      string // an e-mail address or a URL
}

// Plain is a route that is no operation and needs no key: a page, a document, a sign of life.
type Plain struct {
	Method      string
	Path        string
	Name        string // operationId
	Title       string
	Description string
	Values      []Value // of the path
	Body        string  // what the JSON body is; empty for a route that takes none
	Answers     map[int]Answer
	Fails       []fault.Reason // with which it refuses, beside those of every route
	Messages    bool           // it takes messages of JSON-RPC, and refuses in their form
}

// Value is a part of a plain route's path.
type Value struct{ Name, Description, Example string }

// Console is a POST of the console that carries out an operation for whoever signed in, and leads
// on to a page with the result.
type Console struct {
	Operation service.Definition
	Path      string
}

// Shown is a public page of the console that shows people what an operation reads, at a path of its
// own.
type Shown struct {
	Operation service.Definition
	Path      string
}

// Answer is what a plain route answers with a status.
type Answer struct {
	Description string
	Media       string       // empty for no body
	Type        reflect.Type // of a body in JSON; nil for one that is not described further
}

// document is what is being built.
type document struct {
	*huma.OpenAPI

	own      huma.Registry // schemas of plain routes
	borrowed huma.Registry // schemas of the operations
	tags     map[string]bool
}

// Build makes the document. An operation, route or refusal that it does not know how to describe is
// a mistake of the program, and panics.
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
	d.relay(o.StockClients)
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

// add enters an operation under the tag of its path.
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

// take copies a schema, and all that it refers to, from a registry into the document, and gives a
// reference to it.
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

// nameOf is the name under which a registry keeps a schema; empty for one that it does not keep.
func nameOf(r huma.Registry, s *huma.Schema) string {
	for name, known := range r.Map() {
		if known == s {
			return name
		}
	}
	return ""
}

// plain describes a route that is no operation.
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

// Operation is an operation of the document in short, for a list.
type Operation struct {
	Method  string
	Path    string
	Name    string
	Title   string
	Tag     string
	Details string
}

// Operations lists what a document describes, by tag and path.
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

// Section is the operations of one tag.
type Section struct {
	Name       string
	Operations []Operation
}

// Sections groups a list that stands in the order of tags.
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

// methodOrder puts what a path is for before what browsers ask beforehand.
func methodOrder(method string) string {
	if method == http.MethodOptions {
		return "~"
	}
	return method
}
