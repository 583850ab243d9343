package consoletest

import (
	"context"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/operation"
)

// Tool is a metered operation with scripted answers. It records its callers and inputs.
type Tool struct {
	About   operation.Meta
	in, out *huma.Schema

	mu      sync.Mutex // guards the following fields
	Answer  operation.Answer
	Refusal *fault.Error
	Caller  operation.Caller
	Args    map[string]any
	Uses    int
}

// Meta implements operation.Definition.
func (f *Tool) Meta() operation.Meta { return f.About }

// Input implements operation.Definition.
func (f *Tool) Input() *huma.Schema { return f.in }

// Output implements operation.Definition.
func (f *Tool) Output() *huma.Schema { return f.out }

// Serve implements operation.Definition: it records the call and returns the scripted answer.
func (f *Tool) Serve(_ context.Context, caller *operation.Caller,
	args operation.Args,
) (operation.Answer, *fault.Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Uses++
	f.Caller = *caller
	given, refusal := args()
	f.Args = given
	if refusal == nil {
		refusal = f.Refusal
	}
	return f.Answer, refusal
}

// Inputs and outputs of the fake tools.
type (
	// ChainInput is the input of a tool of a chain.
	ChainInput struct {
		Chain string `json:"chain" enum:"eth_mainnet,base_mainnet" doc:"the EVM chain"`
	}
	// ChainAnswer is the answer of a tool.
	ChainAnswer struct {
		Chain string `json:"chain" doc:"which chain it was"`
		Base  string `json:"base_fee_per_gas"`
	}
	searchInput struct {
		Value  string   `json:"value" minLength:"1" maxLength:"80" doc:"a decimal number" example:"1.5"`
		From   string   `json:"from" enum:"wei,gwei,eth" example:"eth" doc:"eth is the largest. Others are smaller"`
		Text   string   `json:"text" maxLength:"100" doc:"any text"`
		Limit  int      `json:"limit,omitempty" minimum:"1" maximum:"10" default:"5" doc:"how many"`
		Exact  bool     `json:"exact,omitempty" doc:"nothing else"`
		Safe   bool     `json:"safe,omitempty" default:"true" doc:"leave out the rest"`
		Labels []string `json:"labels,omitempty" doc:"separated by commas"`
		To     string   `json:"to,omitempty" enum:"wei,gwei" doc:"the other unit"`
	}
	callInput struct {
		Chain   string `json:"chain" enum:"eth_mainnet,base_mainnet" doc:"the EVM chain"`
		Address string `json:"address" pattern:"^0x[0-9a-fA-F]{40}$" doc:"the contract" example:"0xdAC17F958D2ee523a2206206994597C13D831ec7"`
		Data    string `json:"data" pattern:"^0x[0-9a-fA-F]*$" doc:"the call's data" example:"0xa9059cbb"`
		Note    string `json:"note,omitempty" doc:"any lines"`
		Deep    bool   `json:"deep,omitempty" doc:"look further"`
		Most    int    `json:"most,omitempty" doc:"how many"`
	}
)

func schemaOf(t reflect.Type) *huma.Schema {
	r := huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
	return r.SchemaFromRef(r.Schema(t, true, "").Ref)
}

// NewTool returns a fake tool with the schemas of two types.
func NewTool[In, Out any](name, title string, of account.Service, method, path string) *Tool {
	return &Tool{
		in: schemaOf(reflect.TypeFor[In]()), out: schemaOf(reflect.TypeFor[Out]()),
		Answer: operation.Answer{JSON: []byte(`{}`)},
		About: operation.Meta{
			Name: name, Title: title, Description: "Tells what there is. It costs something. Repeat at will.",
			Service: of, Units: plan.Unit, TTL: 12 * time.Second, Access: operation.KeyHolders, Reads: true,
			Route: operation.Route{
				Method: method, Path: path, Status: http.StatusOK,
			},
		},
	}
}

// Tools returns tools of each kind.
func Tools() []*Tool {
	return []*Tool{
		NewTool[searchInput, ChainAnswer]("search", "Search", account.Utils, http.MethodGet, "/toolbox/utils/search"),
		NewTool[ChainInput, ChainAnswer]("get_gas", "Get gas", account.Gas, http.MethodGet, "/toolbox/gas/{chain}"),
		NewTool[callInput, ChainAnswer]("decode", "Decode a call", account.Contracts, http.MethodPost,
			"/toolbox/decode/{chain}/{address}"),
		NewTool[callInput, ChainAnswer]("get_balances", "Get balances", account.Data, http.MethodPost,
			"/data/{chain}/balances/{address}"),
	}
}

// Definitions returns tools as operations.
func Definitions(tools []*Tool) []operation.Definition {
	var all []operation.Definition
	for _, one := range tools {
		all = append(all, one)
	}
	return all
}
