package openapi

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/internal/fault"
)

// Names of the schemas of refusals.
const (
	refusalSchema    = "Refusal"
	rpcRefusalSchema = "RpcRefusal"
	errorSchema      = "Error"
)

// envelope is the form of a route's refusals.
type envelope struct {
	schema  string
	example func(fault.Entry) any
	prefix  string // of the names of examples
}

var (
	plainEnvelope = envelope{
		schema: refusalSchema, example: func(e fault.Entry) any { return map[string]any{"error": errorExample(e)} },
	}
	rpcEnvelope = envelope{
		schema: rpcRefusalSchema, prefix: "rpc_",
		example: func(e fault.Entry) any {
			return map[string]any{"jsonrpc": "2.0", "id": 1, "error": errorExample(e)}
		},
	}
)

const exampleID = "0199d5b2-6f00-7c3a-9d4e-2b1f0a9c8e77"

func errorExample(e fault.Entry) map[string]any {
	data := map[string]any{"request_id": exampleID, "support": "/support/new?request_id=" + exampleID}
	if e.HTTP == http.StatusTooManyRequests {
		data["retry_after"] = 1
	}
	return map[string]any{"code": e.Code, "message": e.Meaning, "data": data}
}

// refuses adds the answers with which an operation refuses. Reasons with the same status share an
// answer, which lists their codes.
func (d *document) refuses(op *huma.Operation, reasons []fault.Reason, form envelope) {
	byStatus := map[int][]fault.Entry{}
	for _, r := range reasons {
		e := r.Entry()
		byStatus[e.HTTP] = append(byStatus[e.HTTP], e)
	}
	for status, entries := range byStatus {
		op.Responses[strconv.Itoa(status)] = d.refusal(status, entries, form)
	}
}

func (d *document) refusal(status int, entries []fault.Entry, form envelope) *huma.Response {
	var told []string
	var codes []any
	examples := map[string]*huma.Example{}
	for _, e := range entries {
		told = append(told, fmt.Sprintf("**%s** (%d): %s", e.Title, e.Code, e.Meaning))
		if !slices.Contains(codes, any(e.Code)) {
			codes = append(codes, e.Code)
		}
		name := form.prefix + e.Name
		d.Components.Examples[name] = &huma.Example{Summary: e.Title, Value: form.example(e)}
		examples[e.Name] = &huma.Example{Ref: "#/components/examples/" + name}
	}
	r := &huma.Response{
		Description: strings.Join(told, "\n\n"),
		Headers:     map[string]*huma.Param{requestID: headerRef(requestID)},
		Content: map[string]*huma.MediaType{jsonMedia: {Examples: examples, Schema: &huma.Schema{AllOf: []*huma.Schema{
			{Ref: schemasPrefix + form.schema},
			{Type: huma.TypeObject, Properties: map[string]*huma.Schema{
				"error": {Type: huma.TypeObject, Properties: map[string]*huma.Schema{
					"code": {Type: huma.TypeInteger, Enum: codes},
				}},
			}},
		}}}},
	}
	switch status {
	case http.StatusUnauthorized:
		r.Headers[challenge] = headerRef(challenge)
	case http.StatusTooManyRequests:
		for _, name := range []string{retryAfter, limit, remaining, reset} {
			r.Headers[name] = headerRef(name)
		}
	case http.StatusServiceUnavailable:
		r.Headers[retryAfter] = headerRef(retryLater)
	}
	return r
}

// envelopeSchemas returns the schemas of the error envelope (docs/interface.md, 1.2) in both its
// forms.
func envelopeSchemas() map[string]*huma.Schema {
	said := func(text string) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Description: text} }
	data := map[string]*huma.Schema{
		"request_id": {Type: huma.TypeString, Format: "uuid", Description: "the same as X-Request-Id"},
		"support":    said("path at which the request is filed as a ticket"),
		"contact":    said("whom to ask for what is not served"),
		"docs":       said("the catalog of methods"),
		"retry_after": {
			Type: huma.TypeInteger, Minimum: new(1.0), Description: "seconds to wait, as in Retry-After",
		},
		"next_door": door("for the holder of a door key: what to do next, and where"),
		"doorways": {
			Type: huma.TypeObject, Description: "ways past the limit, by name", AdditionalProperties: true,
		},
		"also": {
			Type: huma.TypeArray, Items: &huma.Schema{}, Description: "other fences that would have refused as well",
		},
		"blocked_by": said("key when the key's own switch blocks the service"),
		"enable":     said("path that switches the service on"),
		"scope":      said("whose cap is reached: key or account"),
		"service":    said("the service that is switched off or capped"),
		"index": {
			Type: huma.TypeInteger, Minimum: new(0.0), Description: "position of the request in its batch",
		},
		"fields":           fields(),
		"transaction_hash": said("EVM: hash of the transaction that was sent"),
		"signature":        said("Solana: signature of the transaction that was sent"),
		"rule":             said("what to do about a submission whose outcome is not known"),
	}
	failure := &huma.Schema{
		Type: huma.TypeObject, Description: "What went wrong, and what to do next.",
		Required: []string{"code", "message", "data"}, AdditionalProperties: false,
		Properties: map[string]*huma.Schema{
			"code": {
				Type: huma.TypeInteger, Description: "JSON-RPC style code; the tool explain_error tells of each",
			},
			"message": {Type: huma.TypeString, MinLength: new(1), Description: "says what to do next"},
			"data": {
				Type: huma.TypeObject, Required: []string{"request_id", "support"}, Properties: data,
				AdditionalProperties: true,
				Description:          "what belongs to the refusal; further members may come with it",
			},
		},
	}
	refusal := &huma.Schema{
		Type: huma.TypeObject, Required: []string{"error"}, AdditionalProperties: false,
		Description: "The error envelope.", Properties: map[string]*huma.Schema{
			"error": {Ref: schemasPrefix + errorSchema},
		},
	}
	rpc := &huma.Schema{
		Type: huma.TypeObject, Required: []string{"jsonrpc", "id", "error"}, AdditionalProperties: false,
		Description: "The error envelope as a JSON-RPC response.", Properties: maps.Clone(refusal.Properties),
	}
	maps.Copy(rpc.Properties, map[string]*huma.Schema{
		"jsonrpc": jsonrpcVersion(), "id": idSchema("the request's id; null when it had none or none could be read"),
	})
	return map[string]*huma.Schema{errorSchema: failure, refusalSchema: refusal, rpcRefusalSchema: rpc}
}

func door(text string) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeObject, Description: text, Required: []string{"door", "do"}, AdditionalProperties: false,
		Properties: map[string]*huma.Schema{
			"door": {Type: huma.TypeString}, "do": {Type: huma.TypeString}, "where": {Type: huma.TypeString},
		},
	}
}

func fields() *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeArray, Description: "each field that is wrong",
		Items: &huma.Schema{
			Type: huma.TypeObject, Required: []string{"field", "problem"}, AdditionalProperties: false,
			Properties: map[string]*huma.Schema{"field": {Type: huma.TypeString}, "problem": {Type: huma.TypeString}},
		},
	}
}
