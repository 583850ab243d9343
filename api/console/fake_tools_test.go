package console

import (
	"context"
	"net/http"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
)

// fakeTool is a metered operation with scripted answers. It records its callers and inputs.
type fakeTool struct {
	meta    service.Meta
	in, out *huma.Schema

	mu      sync.Mutex // guards the following fields
	answer  service.Answer
	refusal *fault.Error
	caller  service.Caller
	args    map[string]any
	uses    int
}

func (f *fakeTool) Meta() service.Meta   { return f.meta }
func (f *fakeTool) Input() *huma.Schema  { return f.in }
func (f *fakeTool) Output() *huma.Schema { return f.out }

func (f *fakeTool) Serve(_ context.Context, caller *service.Caller, args service.Args) (service.Answer, *fault.Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.uses++
	f.caller = *caller
	given, refusal := args()
	f.args = given
	if refusal == nil {
		refusal = f.refusal
	}
	return f.answer, refusal
}

// Inputs and outputs of the fake tools.
type (
	chainInput struct {
		Chain string `json:"chain" enum:"eth_mainnet,base_mainnet" doc:"the EVM chain"`
	}
	chainAnswer struct {
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

func fake[In, Out any](name, title string, of account.Service, method, path string) *fakeTool {
	return &fakeTool{
		in: schemaOf(reflect.TypeFor[In]()), out: schemaOf(reflect.TypeFor[Out]()),
		answer: service.Answer{JSON: []byte(`{}`)},
		meta: service.Meta{
			Name: name, Title: title, Description: "Tells what there is. It costs something. Repeat at will.",
			Service: of, Units: plan.Unit, TTL: 12 * time.Second, Access: service.KeyHolders, Reads: true,
			Route: service.Route{
				Method: method, Path: path, Status: http.StatusOK,
			},
		},
	}
}

// fakeTools returns tools of each kind.
func fakeTools() []*fakeTool {
	return []*fakeTool{
		fake[searchInput, chainAnswer]("search", "Search", account.Utils, http.MethodGet, "/toolbox/utils/search"),
		fake[chainInput, chainAnswer]("get_gas", "Get gas", account.Gas, http.MethodGet, "/toolbox/gas/{chain}"),
		fake[callInput, chainAnswer]("decode", "Decode a call", account.Contracts, http.MethodPost,
			"/toolbox/decode/{chain}/{address}"),
		fake[callInput, chainAnswer]("get_balances", "Get balances", account.Data, http.MethodPost,
			"/data/{chain}/balances/{address}"),
	}
}

func definitions(tools []*fakeTool) []service.Definition {
	var all []service.Definition
	for _, one := range tools {
		all = append(all, one)
	}
	return all
}

// toolVisitor is a browser on a toolbox of the fake tools, which are returned by name.
func toolVisitor(t *testing.T) (*browser, map[string]*fakeTool) {
	t.Helper()
	tools, byName := fakeTools(), map[string]*fakeTool{}
	for _, one := range tools {
		byName[one.meta.Name] = one
	}
	b := visitorOf(t, newHouse())
	groups, err := newToolGroups(definitions(tools))
	if err != nil {
		t.Fatal(err)
	}
	b.pages.tools = groups
	return b, byName
}
