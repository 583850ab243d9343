package mcp

import (
	"encoding/json"
	"net/http"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/service/operation"
)

// maxAnswer limits the answer of rpc_call, in bytes: it is held in memory more than once, is sent
// twice, and a model reads it.
const maxAnswer = 512 << 10

// relayCall runs rpc_call: a relayed call with the arguments of a tool. The outcome is the body
// that POST /rpc/{chain} returns.
func (d *Door) relayCall(x *exchange, arguments []byte) outcome {
	ctx := x.r.Context()
	e := &relay.Envelope{RequestID: x.caller.RequestID, Tier: plan.Balanced, Network: x.caller.Network}
	if x.caller.Bearer == "" {
		return outcome{refusal: x.caller.NoKey()}
	}
	var refusal *fault.Error
	if e.Subject, refusal = d.Limits.Identify(ctx, x.caller.Bearer, x.caller.Network); refusal != nil {
		return outcome{refusal: refusal}
	}
	req, own := d.requestOf(e, arguments)
	if own != nil {
		return outcomeOf(d.Relay.Refuse(ctx, e, 0, nil, own))
	}
	return outcomeOf(d.Relay.Whole(ctx, e, req, maxAnswer))
}

func outcomeOf(reply *relay.Reply) outcome {
	if f := reply.Fault; f != nil {
		return outcome{refusal: f, done: func(written int) { reply.Close(f.HTTP(), int64(written)) }}
	}
	member, value := `"result":`, reply.Result
	if reply.Error != nil {
		member, value = `"error":`, reply.Error
	}
	object := make([]byte, 0, len(value)+48)
	object = append(append(object, `{"jsonrpc":"2.0","id":null,`...), member...)
	return outcome{
		object: append(append(object, value...), '}'), hit: reply.Hit,
		done: func(written int) { reply.Close(http.StatusOK, int64(written)) },
	}
}

// requestOf reads the arguments. When it refuses them, the refusal still has to be counted.
func (d *Door) requestOf(e *relay.Envelope, arguments []byte) (req jsonrpc.Request, own *fault.Error) {
	var on string
	var chosen choices
	seen := map[string]bool{}
	jsonrpc.Members(arguments, func(member, val []byte) bool {
		name := string(member)
		switch name {
		case "chain":
			on, own = text(name, val, "one of the chains, like eth_mainnet")
		case "method":
			var method string
			method, own = text(name, val, "the method's name, like eth_getBalance")
			req.Method = []byte(method)
		case "params":
			if string(val) != "null" && val[0] != '[' {
				own = wrongField(name, "takes the method's parameters as an array, like [\"0x…\",\"latest\"]")
			} else if val[0] == '[' {
				req.Params = val
			}
		case "tier":
			chosen.tier, own = text(name, val, "cheap, balanced or fast")
		case "submission":
			chosen.submission, own = text(name, val, "public or private")
		case "consistency":
			chosen.consistency, own = text(name, val, "head")
		case "verify":
			chosen.verify = string(val)
		default:
			own = wrongField(shown(name),
				"is no parameter of rpc_call; it takes chain, method, params, tier, submission, consistency and verify")
		}
		if seen[name] && own == nil {
			own = wrongField(name, "stands twice")
		}
		seen[name] = true
		return own == nil
	})
	if own != nil {
		return req, own
	}
	switch {
	case !seen["chain"]:
		return req, wrongField("chain", "is missing; it takes one of the chains, like eth_mainnet")
	case len(req.Method) == 0 || len(req.Method) > maxMethod:
		return req, wrongField("method", "takes the method's name, like eth_getBalance")
	}
	var known bool
	if e.Chain, known = d.Pool.Chain(chain.ID(on)); !known {
		return req, operation.UnknownChain(d.Pool.Known(), on, d.Links)
	}
	return req, chosen.apply(e)
}

// choices are the arguments that take one of several words; an empty one was left out.
type choices struct{ tier, submission, consistency, verify string }

func (c *choices) apply(e *relay.Envelope) *fault.Error {
	var known bool
	if e.Tier, known = plan.ParseTier(c.tier); !known {
		return wrongField("tier", "takes cheap, balanced or fast")
	}
	if e.Private = c.submission == "private"; !e.Private && c.submission != "" && c.submission != "public" {
		return wrongField("submission", "takes public or private")
	}
	if e.AtHead = c.consistency == "head"; !e.AtHead && c.consistency != "" {
		return wrongField("consistency", "takes head, or is left out")
	}
	switch c.verify {
	case "":
	case "2":
		e.Verify = 2
	case "3":
		e.Verify = relay.MaxVerify
	default:
		return wrongField("verify", "takes 2 or 3, or is left out")
	}
	return nil
}

// maxMethod limits the length of a method's name, in bytes, as on the relay's own route.
const maxMethod = 128

// text reads an argument that is a string.
func text(name string, val []byte, takes string) (string, *fault.Error) {
	var s string
	if err := json.Unmarshal(val, &s); err != nil || val[0] != '"' {
		return "", wrongField(name, "takes "+takes)
	}
	return s, nil
}

// wrongField refuses an argument in the form in which operations refuse fields.
func wrongField(name, problem string) *fault.Error {
	return fault.New(fault.FieldRefused, "Correct and send again. %s: %s.", name, problem).
		With("fields", []map[string]string{{"field": name, "problem": problem}})
}

// shown truncates a name from the client.
func shown(name string) string {
	const maxBytes = 64
	if len(name) > maxBytes {
		return name[:maxBytes] + "…"
	}
	return name
}
