package openapi

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/operation"
)

// operation describes the route of an operation: parameters and body from its input, answers from
// its output and its refusals.
func (d *document) operation(c operation.Definition) {
	m := c.Meta()
	op := &huma.Operation{
		Method: m.Route.Method, Path: m.Route.Path, OperationID: m.Name, Summary: m.Title, Description: m.Description,
		Security: security(m.Access), Responses: map[string]*huma.Response{},
	}
	reasons := append(m.Refusals(), fault.HeadersTooLarge)
	in := c.Input()
	rest := maps.Clone(in.Properties)
	for _, name := range pathParams(m.Route.Path) {
		op.Parameters = append(op.Parameters, d.parameter(in, name, "path"))
		delete(rest, name)
	}
	if m.Route.Method == http.MethodGet {
		for _, name := range slices.Sorted(maps.Keys(rest)) {
			op.Parameters = append(op.Parameters, d.parameter(in, name, "query"))
		}
	} else {
		reasons = append(reasons, fault.NotJSON, fault.BodyTooLarge)
		op.RequestBody = d.body(in, rest)
	}
	if strings.HasSuffix(m.Route.Path, ".csv") {
		table := success(m.Route.Status, nil)
		table.Content = map[string]*huma.MediaType{csvMedia: {Schema: &huma.Schema{Type: huma.TypeString}}}
		op.Responses[statusKey(m.Route.Status)] = table
	} else {
		op.Responses[statusKey(m.Route.Status)] = success(m.Route.Status, d.take(d.borrowed, c.Output()))
	}
	if m.Metered() {
		paced(op.Responses[statusKey(m.Route.Status)])
	}
	if m.Pends {
		later := success(http.StatusAccepted, op.Responses[statusKey(m.Route.Status)].Content[jsonMedia].Schema)
		later.Headers[retryAfter] = headerRef(retryAfter)
		op.Responses[statusKey(http.StatusAccepted)] = later
	}
	slices.Sort(reasons)
	d.refuses(op, slices.Compact(reasons), plainEnvelope)
	d.add(op)
}

// console describes a POST of the console. Programs send and receive JSON; forms are answered with
// pages.
func (d *document) console(c Console) {
	m, in := c.Operation.Meta(), c.Operation.Input()
	op := &huma.Operation{
		Method: http.MethodPost, Path: c.Path, OperationID: m.Name, Summary: m.Title,
		Description: m.Description +
			" It takes JSON or a form, and leads to a page of the console with the result; a form is refused there " +
			"too.",
		Security: security(m.Access), RequestBody: d.body(in, in.Properties),
		Responses: map[string]*huma.Response{statusKey(http.StatusFound): success(http.StatusFound, nil)},
	}
	op.RequestBody.Content[formMedia] = op.RequestBody.Content[jsonMedia]
	reasons := append(m.Refusals(), fault.HeadersTooLarge, fault.NotJSON, fault.BodyTooLarge)
	slices.Sort(reasons)
	d.refuses(op, slices.Compact(reasons), plainEnvelope)
	d.add(op)
}

// shown describes a page that shows what an operation returns. Its refusals are pages, too.
func (d *document) shown(s Shown) {
	m, in := s.Operation.Meta(), s.Operation.Input()
	op := &huma.Operation{
		Method: http.MethodGet, Path: s.Path, OperationID: m.Name + "_page", Summary: m.Title + ", as a page",
		Description: "Shows people what " + m.Route.Path + " gives programs.", Security: security(m.Access),
		Responses: map[string]*huma.Response{},
	}
	for _, name := range pathParams(s.Path) {
		op.Parameters = append(op.Parameters, d.parameter(in, name, "path"))
	}
	d.refuses(op, append(m.Refusals(), fault.HeadersTooLarge), plainEnvelope)
	for _, refusal := range op.Responses {
		refusal.Content[htmlMedia] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	op.Responses[statusKey(http.StatusOK)] = &huma.Response{
		Description: "The page.", Headers: map[string]*huma.Param{requestID: headerRef(requestID)},
		Content: map[string]*huma.MediaType{htmlMedia: {Schema: &huma.Schema{Type: huma.TypeString}}},
	}
	d.add(op)
}

// security returns the credentials that satisfy an access.
func security(a operation.Access) []map[string][]string {
	key, session := map[string][]string{keyScheme: {}}, map[string][]string{sessionScheme: {}}
	switch a {
	case operation.Everybody:
		return []map[string][]string{{}}
	case operation.KeyHolders:
		return []map[string][]string{key}
	case operation.Managers, operation.Holders:
		return []map[string][]string{key, session}
	case operation.Users, operation.Owners, operation.Staff:
		return []map[string][]string{session}
	}
	panic(fmt.Sprintf("openapi: nothing is known of access %d", a))
}

func (d *document) parameter(in *huma.Schema, name, place string) *huma.Param {
	s := in.Properties[name]
	if s == nil {
		panic("openapi: no input has the parameter " + name)
	}
	d.takeParts(d.borrowed, s)
	p := &huma.Param{
		Name: name, In: place, Schema: s, Description: s.Description, Required: place == "path" ||
			slices.Contains(in.Required, name),
	}
	if s.Type == huma.TypeArray {
		p.Explode = new(bool) // one comma-separated value
	}
	return p
}

// body describes the fields that are not in the path. It returns nil when there are none.
func (d *document) body(in *huma.Schema, rest map[string]*huma.Schema) *huma.RequestBody {
	if len(rest) == 0 {
		return nil
	}
	schema := in
	if len(rest) < len(in.Properties) {
		schema = &huma.Schema{Type: huma.TypeObject, Properties: rest, AdditionalProperties: false}
		for _, name := range in.Required {
			if rest[name] != nil {
				schema.Required = append(schema.Required, name)
			}
		}
	}
	return &huma.RequestBody{
		Required: len(schema.Required) > 0, Content: map[string]*huma.MediaType{
			jsonMedia: {Schema: d.take(d.borrowed, schema)},
		},
	}
}
