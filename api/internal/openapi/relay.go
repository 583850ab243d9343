package openapi

import (
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay"
	"github.com/chainaccess/gateway/relay/chain"
)

// relayRefusals are the refusals of a single request. In a batch, each item has its own refusal.
var relayRefusals = []fault.Reason{
	fault.KeyInvalid, fault.AccountSuspended,
	fault.RateWindow, fault.KeyBudget, fault.PlanQuota, fault.ServiceCap, fault.DoorKeyDay,
	fault.ServiceOff,
	fault.NotJSON, fault.NotARequest, fault.BodyTooLarge, fault.BatchTooLarge, fault.UnknownChain,
	fault.MethodNotServed, fault.RangeTooLarge, fault.ParameterRefused, fault.OutcomeUnknown, fault.PaymentRequired,
	fault.NoUpstream, fault.MeterUnreachable, fault.UpstreamFailed, fault.UpstreamTimeout, fault.DurableUnavailable,
	fault.InternalFault,
}

// relay describes /rpc/{chain} (docs/interface.md, 1.4).
func (d *document) relay(chains *chain.Set, stockClients bool) {
	maps.Copy(d.schemas(), rpcSchemas())
	chainParam := &huma.Param{
		Name: "chain", In: "path", Required: true, Description: "the chain",
		Schema: &huma.Schema{
			Type: huma.TypeString, Enum: chainNames(chains), Examples: []any{string(chain.EthMainnet)},
		},
	}
	op := &huma.Operation{
		Method: http.MethodPost, Path: "/rpc/{chain}", OperationID: "rpc", Summary: "Send JSON-RPC to a chain",
		Description: fmt.Sprintf(
			"Relays one JSON-RPC 2.0 request, or a batch of up to %d, to a healthy upstream of the chain. Reads fail "+
				"over to other upstreams; submissions go to exactly one and are never sent again. A call costs the "+
				"units of its method (GET /docs/methods) times the route tier's multiplier; an answer from the cache "+
				"costs nothing. Each item of a batch is metered and refused on its own, inside an answer with status "+
				"200; a batch that is refused as a whole has the status of its refusal and the same error for each "+
				"id. In-band errors of an upstream pass through with status 200.", relay.MaxBatch),
		Security:   []map[string][]string{{keyScheme: {}}, {paymentScheme: {}}},
		Parameters: relayParameters(chainParam),
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{jsonMedia: {
			Schema: &huma.Schema{OneOf: []*huma.Schema{
				{Ref: schemasPrefix + "RpcRequest"},
				{
					Type: huma.TypeArray, MinItems: new(1), MaxItems: new(relay.MaxBatch),
					Items: &huma.Schema{Ref: schemasPrefix + "RpcRequest"},
				},
			}},
			Examples: rpcExamples(),
		}}},
		Responses: map[string]*huma.Response{},
	}
	ok := success(http.StatusOK, &huma.Schema{OneOf: []*huma.Schema{
		{Ref: schemasPrefix + "RpcResponse"},
		{Type: huma.TypeArray, MinItems: new(1), MaxItems: new(relay.MaxBatch), Items: &huma.Schema{
			Ref: schemasPrefix + "RpcResponse",
		}},
	}})
	ok.Description = "The upstream's answer with the request's id, or those of a batch in the order of its requests."
	ok.Content[jsonMedia].Examples = map[string]*huma.Example{
		"block":     {Summary: "The newest block's number", Value: answered(1, "0x10d56f")},
		"two_calls": {Summary: "Two calls at once", Value: []any{answered(1, "0x1"), answered(2, "0x3b9aca00")}},
	}
	ok.Headers[verified] = headerRef(verified)
	ok.Headers[cacheHit], ok.Headers[timing] = headerRef(cacheHit), headerRef(timing)
	paced(ok)
	op.Responses[statusKey(http.StatusOK)] = ok
	d.refuses(op, relayRefusals, rpcEnvelope)
	for status, r := range op.Responses {
		if status != statusKey(http.StatusOK) {
			r.Headers[timing] = headerRef(timing)
			if status != statusKey(http.StatusTooManyRequests) {
				paced(r)
			}
		}
	}
	// Failures before the body is read cannot use the JSON-RPC form.
	d.refuses(op, []fault.Reason{fault.HeadersTooLarge}, plainEnvelope)
	either := op.Responses[statusKey(http.StatusInternalServerError)].Content[jsonMedia]
	either.Schema.AllOf[0] = &huma.Schema{
		AnyOf: []*huma.Schema{{Ref: schemasPrefix + rpcRefusalSchema}, {Ref: schemasPrefix + refusalSchema}},
	}
	if stockClients {
		d.pay(op)
	}
	refusesBatches(op)
	d.add(op)
	d.preflight(chainParam, op.Path, "rpc_preflight")
	if stockClients {
		d.paidRelay(op, chainParam)
	}
}

// relayParameters returns the parameters of the relay's paths.
func relayParameters(chainParam *huma.Param) []*huma.Param {
	return []*huma.Param{chainParam, {
		Name: "X-Route-Tier", In: "header", Description: tierText(),
		Schema: &huma.Schema{Type: huma.TypeString, Enum: tierNames(), Default: string(plan.Balanced)},
	}, {
		Name: "X-Route-Submission", In: "header",
		Description: "private sends transactions to an endpoint that keeps them out of the public mempool",
		Schema:      &huma.Schema{Type: huma.TypeString, Enum: []any{"public", "private"}, Default: "public"},
	}, {
		Name: "X-Route-Consistency", In: "header",
		Description: "head has only upstreams asked that have the newest block that the gateway stands for. " +
			"Without it, a read goes to upstreams that have the block that it is about.",
		Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"head"}},
	}, {
		Name: "X-Route-Verify", In: "header",
		Description: "How many upstreams must agree on the answer to each call. A call costs so many times its " +
			"units, and nothing when they do not agree. It is for the methods with verifiable in GET " +
			"/docs/methods.",
		Schema: &huma.Schema{Type: huma.TypeInteger, Enum: []any{2, relay.MaxVerify}},
	}}
}

// refusesBatches adds to each refusal its form for a batch that is refused as a whole: the same
// error for each id.
func refusesBatches(op *huma.Operation) {
	for status, r := range op.Responses {
		if status == statusKey(http.StatusOK) {
			continue
		}
		media := r.Content[jsonMedia]
		media.Schema = &huma.Schema{AnyOf: []*huma.Schema{media.Schema, {
			Type: huma.TypeArray, MinItems: new(1), Items: &huma.Schema{Ref: schemasPrefix + rpcRefusalSchema},
			Description: "of a batch that is refused as a whole: the same error for each id",
		}}}
	}
}

// preflight describes the preflight request with which browsers ask whether a page of another
// origin may call the relay.
func (d *document) preflight(chainParam *huma.Param, path, name string) {
	op := &huma.Operation{
		Method: http.MethodOptions, Path: path, OperationID: name,
		Summary:     "Ask whether pages of other origins may call",
		Description: "They may, from every origin. It needs no key and is not metered.",
		Parameters:  []*huma.Param{chainParam}, Security: []map[string][]string{{}},
		Responses: map[string]*huma.Response{statusKey(http.StatusNoContent): {
			Description: "They may.", Headers: map[string]*huma.Param{requestID: headerRef(requestID)},
		}},
	}
	d.refuses(op, []fault.Reason{fault.HeadersTooLarge, fault.InternalFault}, plainEnvelope)
	d.add(op)
}

func chainNames(chains *chain.Set) []any {
	var names []any
	for _, c := range chains.All() {
		names = append(names, string(c.ID))
	}
	return names
}

func tierNames() []any {
	var names []any
	for _, t := range plan.Tiers() {
		names = append(names, string(t))
	}
	return names
}

func tierText() string {
	var told []string
	for _, t := range plan.Tiers() {
		told = append(told, fmt.Sprintf("%s %s", t, plan.Units(t.Multiplier())))
	}
	return "which upstreams of the key's supply serve the call, and what its units are multiplied with: " +
		strings.Join(told, ", ")
}

func jsonrpcVersion() *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Enum: []any{"2.0"}}
}

// idSchema returns a schema that accepts any JSON value.
func idSchema(text string) *huma.Schema { return &huma.Schema{Description: text} }

func rpcSchemas() map[string]*huma.Schema {
	request := &huma.Schema{
		Type: huma.TypeObject, Required: []string{"jsonrpc", "method"}, Description: "A JSON-RPC 2.0 request.",
		Properties: map[string]*huma.Schema{
			"jsonrpc": jsonrpcVersion(), "id": idSchema("any JSON value; the answer has it byte for byte"),
			"method": {
				Type: huma.TypeString, MinLength: new(1),
				Description: "exact name of a method of the chain's catalog (GET /docs/methods)",
			},
			"params": {
				Type: huma.TypeArray, Nullable: true, Items: &huma.Schema{},
				Description: "the method's parameters; absent or null for none",
			},
		},
	}
	result := &huma.Schema{
		Type: huma.TypeObject, Required: []string{"jsonrpc", "id", "result"}, AdditionalProperties: false,
		Title: "Result", Properties: map[string]*huma.Schema{
			"jsonrpc": jsonrpcVersion(),
			"id":      idSchema("the request's id"), "result": {Description: "what the method gives"},
		},
	}
	failure := &huma.Schema{
		Type: huma.TypeObject, Required: []string{"jsonrpc", "id", "error"}, AdditionalProperties: false,
		Title: "Error",
		Properties: map[string]*huma.Schema{
			"jsonrpc": jsonrpcVersion(), "id": idSchema("the request's id"),
			"error": {
				Type: huma.TypeObject, Required: []string{"code", "message"},
				Description: "The upstream's own error as it came; in a batch also the error envelope of an item " +
					"that was refused.",
				Properties: map[string]*huma.Schema{
					"code": {Type: huma.TypeInteger}, "message": {Type: huma.TypeString}, "data": {},
				},
			},
		},
	}
	return map[string]*huma.Schema{
		"RpcRequest": request,
		"RpcResponse": {
			Description: "A JSON-RPC 2.0 response.", OneOf: []*huma.Schema{
				{Ref: schemasPrefix + "RpcResult"}, {Ref: schemasPrefix + "RpcError"},
			},
		},
		"RpcResult": result, "RpcError": failure,
	}
}

func answered(id int, result string) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": id, "result": result}
}

func rpcExamples() map[string]*huma.Example {
	call := func(id int, method string, params ...any) map[string]any {
		return map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": append([]any{}, params...)}
	}
	return map[string]*huma.Example{
		"block": {Summary: "The newest block's number", Value: call(1, "eth_blockNumber")},
		"slot":  {Summary: "The newest slot, on Solana", Value: call(1, "getSlot")},
		"logs": {
			Summary: "Logs of a range",
			Value:   call(1, "eth_getLogs", map[string]any{"fromBlock": "0x10d4f0", "toBlock": "0x10d56f"}),
		},
		"two_calls":   {Summary: "Two calls at once", Value: []any{call(1, "eth_chainId"), call(2, "eth_gasPrice")}},
		"transaction": {Summary: "A signed transaction", Value: call(1, "eth_sendRawTransaction", "0x02f8…")},
	}
}
