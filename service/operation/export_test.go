package operation

import (
	"context"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
)

// TrialInput is the input of an operation that exists only in tests.
type TrialInput struct {
	Chain chain.ID `json:"chain,omitempty" enum:"eth_mainnet,base_mainnet"`
	Word  string   `json:"word" minLength:"1" maxLength:"20"`
}

func (in *TrialInput) Check() *fault.Error {
	if in.Word == "wrong" {
		return fault.New(fault.FieldRefused, "word: take another one.")
	}
	if in.Word == "ALIAS" {
		in.Word = "alias"
	}
	return nil
}

func (in *TrialInput) OnChain() chain.ID {
	if in.Chain == "" {
		return chain.EthMainnet
	}
	return in.Chain
}

// TrialOutput is its output.
type TrialOutput struct {
	Word string `json:"word"`
	Run  int64  `json:"run"`
}

// Try adds an operation to a registry.
func (r *Runner) Try(meta Meta,
	run func(context.Context, *Call, TrialInput) (TrialOutput, error),
) *Operation[TrialInput, TrialOutput] {
	return Define(r, meta, run)
}

// IsFlat reports whether the input is decoded without JSON.
func (o *Operation[In, Out]) IsFlat() bool { return o.fill != nil }

// Followed returns how many uses waited for the run of another use.
func (r *Runner) Followed() uint64 { return r.flights.Followed() }
