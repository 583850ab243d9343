package solana

import (
	"encoding/json"
	"fmt"

	"github.com/mr-tron/base58"
)

// params are the positional parameters of a call.
type params struct {
	values []json.RawMessage
}

// options is the configuration object, the last parameter of most methods; each method reads the
// members that it knows.
type options struct {
	Commitment      string   `json:"commitment"`
	MinContextSlot  *uint64  `json:"minContextSlot"`
	Encoding        string   `json:"encoding"`
	DataSlice       *slicing `json:"dataSlice"`
	TransactionPart string   `json:"transactionDetails"`
	Rewards         *bool    `json:"rewards"`
	MaxVersion      *int     `json:"maxSupportedTransactionVersion"`

	SkipPreflight       bool    `json:"skipPreflight"`
	PreflightCommitment string  `json:"preflightCommitment"`
	SigVerify           bool    `json:"sigVerify"`
	ReplaceBlockhash    bool    `json:"replaceRecentBlockhash"`
	Accounts            *wanted `json:"accounts"`

	Limit    *int    `json:"limit"`
	Before   string  `json:"before"`
	Until    string  `json:"until"`
	Epoch    *uint64 `json:"epoch"`
	Identity string  `json:"identity"`
	Vote     string  `json:"votePubkey"`
	Range    *struct {
		First uint64  `json:"firstSlot"`
		Last  *uint64 `json:"lastSlot"`
	} `json:"range"`
	ExcludeAccounts bool `json:"excludeNonCirculatingAccountsList"`
}

type slicing struct {
	Offset int `json:"offset"`
	Length int `json:"length"`
}

type wanted struct {
	Encoding  string   `json:"encoding"`
	Addresses []string `json:"addresses"`
}

func newParams(raw json.RawMessage) (*params, error) {
	p := &params{}
	if len(raw) == 0 || string(raw) == "null" {
		return p, nil
	}
	if err := json.Unmarshal(raw, &p.values); err != nil {
		return nil, invalidParams("Invalid params: expected an array")
	}
	return p, nil
}

// has reports whether the parameter is present and not null.
func (p *params) has(i int) bool { return i < len(p.values) && string(p.values[i]) != "null" }

func (p *params) read(i int, into any) error {
	if i >= len(p.values) {
		return invalidParams("`params` should have at least %d argument(s)", i+1)
	}
	if err := json.Unmarshal(p.values[i], into); err != nil {
		return invalidParams("Invalid params: %s", jsonCause(err))
	}
	return nil
}

// jsonCause returns the cause of a decoding error without Go's terms.
func jsonCause(err error) string {
	if wrong, ok := err.(*json.UnmarshalTypeError); ok { //nolint:errorlint // json returns it unwrapped
		return fmt.Sprintf("invalid type: %s", wrong.Value)
	}
	return "invalid value"
}

func (p *params) slot(i int) (slot uint64, err error) {
	err = p.read(i, &slot)
	return slot, err
}

func (p *params) text(i int) (s string, err error) {
	err = p.read(i, &s)
	return s, err
}

func (p *params) key(i int) (key, error) {
	s, err := p.text(i)
	if err != nil {
		return key{}, err
	}
	return parseKey(s)
}

func (p *params) keys(i, limit int) ([]key, error) {
	var texts []string
	if err := p.read(i, &texts); err != nil {
		return nil, err
	}
	if len(texts) > limit {
		return nil, invalidParams("Too many inputs provided; max %d", limit)
	}
	all := make([]key, len(texts))
	for j, s := range texts {
		k, err := parseKey(s)
		if err != nil {
			return nil, err
		}
		all[j] = k
	}
	return all, nil
}

// options parses the optional configuration at i; older clients send only an encoding there.
func (p *params) options(i int) (o options, err error) {
	if !p.has(i) {
		return o, nil
	}
	if p.values[i][0] == '"' {
		return o, p.read(i, &o.Encoding)
	}
	return o, p.read(i, &o)
}

func parseKey(s string) (key, error) {
	raw, err := base58.Decode(s)
	switch {
	case err != nil:
		return key{}, invalidParams("Invalid param: Invalid")
	case len(raw) != len(key{}):
		return key{}, invalidParams("Invalid param: WrongSize")
	}
	return key(raw), nil
}

func parseSignature(s string) (signature, error) {
	raw, err := base58.Decode(s)
	switch {
	case err != nil:
		return signature{}, invalidParams("Invalid param: Invalid")
	case len(raw) != len(signature{}):
		return signature{}, invalidParams("Invalid param: WrongSize")
	}
	return signature(raw), nil
}

// The commitments of the documentation.
const (
	processed = "processed"
	confirmed = "confirmed"
	finalized = "finalized"
)

// view returns the block of a commitment, after a check of the minimum context slot.
func (n *Node) view(o options) (*block, error) {
	b, err := n.atCommitment(o.Commitment)
	if err != nil {
		return nil, err
	}
	if o.MinContextSlot != nil && b.slot < *o.MinContextSlot {
		return nil, &rpcError{
			Code: -32016, Message: "Minimum context slot has not been reached", Data: map[string]uint64{
				"contextSlot": b.slot,
			},
		}
	}
	return b, nil
}

func (n *Node) atCommitment(commitment string) (*block, error) {
	switch commitment {
	case processed:
		return n.ledger.tip(), nil
	case confirmed:
		return n.ledger.behind(confirmedDepth), nil
	case finalized, "":
		return n.ledger.behind(finalizedDepth), nil
	default:
		return nil, invalidParams(
			"Invalid params: unknown variant `%s`, expected one of `processed`, `confirmed`, `finalized`.", commitment)
	}
}

// contextual is the result of methods that report the slot of their data.
type contextual struct {
	Context struct {
		APIVersion string `json:"apiVersion"`
		Slot       uint64 `json:"slot"`
	} `json:"context"`
	Value any `json:"value"`
}

func inContext(b *block, value any) contextual {
	c := contextual{Value: value}
	c.Context.APIVersion, c.Context.Slot = solanaVersion, b.slot
	return c
}
