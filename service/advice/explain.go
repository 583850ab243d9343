package advice

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
)

// ExplainInput is an error code or the name of a reason.
type ExplainInput struct {
	Code ErrorCode `json:"code" doc:"error.code as an integer or as a text, or the name of a reason such as rate_window" example:"-32005"`
}

// ErrorCode is a code or the name of a reason, as text.
type ErrorCode string

// UnmarshalJSON accepts an integer as well as a string.
func (c *ErrorCode) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*c = ErrorCode(text)
		return nil
	}
	var n float64
	if err := json.Unmarshal(raw, &n); err != nil {
		return err
	}
	*c = ErrorCode(strconv.FormatFloat(n, 'f', -1, 64))
	return nil
}

// maxCode is larger than every code of JSON-RPC.
const maxCode = math.MaxInt32

// Schema returns the schema of an integer or a string.
func (ErrorCode) Schema(huma.Registry) *huma.Schema {
	least, limit, short, long := float64(-maxCode), float64(maxCode), 1, 60
	return &huma.Schema{
		OneOf: []*huma.Schema{
			{Type: huma.TypeInteger, Minimum: &least, Maximum: &limit, Description: "error.code, such as -32005"},
			{
				Type: huma.TypeString, MinLength: &short, MaxLength: &long, Pattern: "^ *[-+0-9A-Za-z_]+ *$",
				Description: "the same as a text, or a reason's name in snake_case",
			},
		},
	}
}

// Explanation is the meaning of a code and what to do about it. If several reasons share the code,
// the fields next to it hold what they have in common.
type Explanation struct {
	Known   bool           `json:"known" doc:"false when the code is neither the gateway's nor one that chains' nodes agree upon"`
	Code    *int           `json:"code" nullable:"true" doc:"null for a name that is no reason's"`
	HTTP    *int           `json:"http" nullable:"true" doc:"HTTP status of the gateway's answer; 200 for what a node says; null when unknown, or when reasons differ in it"`
	Title   string         `json:"title,omitempty"`
	Meaning string         `json:"meaning,omitempty"`
	Steps   []string       `json:"steps" doc:"what to do next, in order"`
	Doorway *string        `json:"doorway" nullable:"true" doc:"path that leads past the limit; null when there is none"`
	Origin  string         `json:"origin,omitempty" enum:"gateway,chain,both" doc:"who says it: the gateway, a node of the chain whose answer passes through, or both of them"`
	Reasons []Reason       `json:"reasons" doc:"every reason of the gateway with this code; error.message and the HTTP status tell them apart"`
	Nodes   []NodesMeaning `json:"chain_meanings" doc:"what the code means in an answer of a chain's node, which passes through unchanged with HTTP 200"`
	Hint    string         `json:"hint,omitempty" doc:"how to tell the meanings apart, or where to look when the code is not known"`
}

// Reason is one of the gateway's refusals.
type Reason struct {
	Name    string   `json:"reason" doc:"stable name, as in usage and statements"`
	HTTP    int      `json:"http"`
	Title   string   `json:"title"`
	Meaning string   `json:"meaning"`
	Steps   []string `json:"steps"`
	Doorway *string  `json:"doorway" nullable:"true"`
}

// NodesMeaning is the meaning of a code in answers of a family of nodes.
type NodesMeaning struct {
	Family  string   `json:"family" enum:"evm,solana"`
	Title   string   `json:"title"`
	Meaning string   `json:"meaning"`
	Steps   []string `json:"steps"`
}

func (h *handlers) explainError() *operation.Operation[ExplainInput, Explanation] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "explain_error", Title: "Explain an error code", Access: operation.Everybody, PerNetwork: true,
		Reads:    true,
		Computes: true,
		Description: "Explains an error code: what it means, with which HTTP status it comes, what to do next, and " +
			"whether the gateway or a chain's node says it. A code with several reasons gives all of them. It costs " +
			"nothing and changes nothing.",
	}, func(_ context.Context, _ *operation.Call, in ExplainInput) (Explanation, error) {
		return explain(string(in.Code)), nil
	})
}

// explain explains a code or the name of a reason.
func explain(text string) Explanation {
	text = strings.TrimSpace(text)
	e := Explanation{Steps: []string{}, Reasons: []Reason{}, Nodes: []NodesMeaning{}}
	code, err := strconv.Atoi(text)
	if err != nil {
		reason, ok := fault.Named(strings.ToLower(text))
		if !ok {
			e.Hint = "No reason has this name. Give error.code of the answer as an integer, such as -32005, or a " +
				"reason's name, such as rate_window."
			return e
		}
		entry := reason.Entry()
		e.ours([]fault.Entry{entry})
		e.Known, e.Code, e.Origin = true, &entry.Code, "gateway"
		return e
	}
	e.Code = &code
	entries, nodes := fault.Explain(code), chain.NodeErrors(code)
	e.theirs(nodes)
	e.ours(entries)
	e.Known = len(entries)+len(nodes) > 0
	switch {
	case len(entries) > 0 && len(nodes) > 0:
		e.Origin = "both"
		e.Hint = "The gateway's refusal has the HTTP status that stands here and error.data.request_id. A node's " +
			"answer comes with HTTP 200 and without it."
	case len(entries) > 0:
		e.Origin = "gateway"
	case len(nodes) > 0:
		e.Origin = "chain"
		e.Hint = "A node of the chain says it, not the gateway: the call was relayed, and costs what it weighs."
	default:
		e.Hint = unknownCode(code)
	}
	if len(entries) > 1 {
		e.Hint = strings.TrimSpace(
			"Several reasons share this code: error.message and the HTTP status tell which it is. " + e.Hint)
	}
	return e
}

// ours adds the gateway's reasons. If there is only one, its text is also at the top.
func (e *Explanation) ours(entries []fault.Entry) {
	for i := range entries {
		r := &entries[i]
		reason := Reason{Name: r.Name, HTTP: r.HTTP, Title: r.Title, Meaning: r.Meaning, Steps: r.Steps}
		if r.Doorway != "" {
			reason.Doorway = &r.Doorway
		}
		e.Reasons = append(e.Reasons, reason)
	}
	if len(e.Reasons) > 1 {
		e.shared()
	} else if len(e.Reasons) == 1 {
		first := &e.Reasons[0]
		e.HTTP, e.Title, e.Meaning, e.Steps, e.Doorway = &first.HTTP, first.Title, first.Meaning, first.Steps,
			first.Doorway
	}
}

// sharedTitles are JSON-RPC's titles of codes that several reasons share.
var sharedTitles = map[int]string{-32600: "Request refused", -32602: "Parameters refused"}

// shared sets the top-level fields to what all reasons have in common: the code alone does not
// determine the reason.
func (e *Explanation) shared() {
	titles := make([]string, len(e.Reasons))
	status := e.Reasons[0].HTTP
	e.HTTP, e.Doorway = &status, nil
	for i := range e.Reasons {
		titles[i] = e.Reasons[i].Title
		if e.Reasons[i].HTTP != status {
			e.HTTP = nil
		}
	}
	e.Title = cmp.Or(sharedTitles[*e.Code], "Refused for one of several reasons")
	e.Meaning = fmt.Sprintf("%d reasons share this code: %s.", len(titles), strings.Join(titles, "; "))
	e.Steps = []string{
		"Find the reason in reasons by error.message and the HTTP status of the answer.",
		"Do the steps that stand there with it.",
	}
}

// theirs adds what the code means to nodes.
func (e *Explanation) theirs(nodes []chain.NodeError) {
	for i := range nodes {
		n := &nodes[i]
		e.Nodes = append(e.Nodes, NodesMeaning{
			Family: n.Family.String(), Title: n.Title, Meaning: n.Meaning, Steps: []string{n.Step},
		})
	}
	if len(e.Nodes) > 0 {
		ok, first := 200, &e.Nodes[0]
		e.HTTP, e.Title, e.Meaning, e.Steps = &ok, first.Title, first.Meaning, first.Steps
	}
}

// unknownCode returns a hint on where an unknown number may come from.
func unknownCode(code int) string {
	const statuses, lastStatus = 100, 599
	switch {
	case code >= statuses && code <= lastStatus:
		return fmt.Sprintf("%d is an HTTP status. Give error.code of the JSON body instead, such as -32005.", code)
	case code >= -32099 && code <= -32000:
		return "The gateway has no such code, and nodes do not agree on it: a node's own answer passed through. Its " +
			"message says what it means."
	case code > 0 && fault.Explain(-code) != nil:
		return fmt.Sprintf("Codes are negative: ask for %d.", -code)
	}
	return "The gateway has no such code. When it came with HTTP 200, a node of the chain or a contract said it, and " +
		"its message says what it means; otherwise file a ticket at data.support."
}
