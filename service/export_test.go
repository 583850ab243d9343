package service

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

func (in *TrialInput) check() *fault.Error {
	if in.Word == "wrong" {
		return fault.New(fault.FieldRefused, "word: take another one.")
	}
	if in.Word == "ALIAS" {
		in.Word = "alias"
	}
	return nil
}

func (in *TrialInput) chain() chain.ID {
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
func (c *Registry) Try(meta Meta,
	run func(context.Context, *Call, TrialInput) (TrialOutput, error),
) *Operation[TrialInput, TrialOutput] {
	return define(c.house, meta, run)
}

// IsFlat reports whether the input is decoded without JSON.
func (o *Operation[In, Out]) IsFlat() bool { return o.fill != nil }

// SharedRedeems returns how many redeems waited for another one of the same payer.
func (c *Registry) SharedRedeems() uint64 { return c.house.payers.Followed() }

// Followed returns how many uses waited for the run of another use.
func (c *Registry) Followed() uint64 { return c.house.flights.Followed() }

// Occupy takes every slot for reading texts until free is called.
func (c *Registry) Occupy() (free func()) {
	for range cap(c.house.readers) {
		c.house.readers <- struct{}{}
	}
	return func() {
		for range cap(c.house.readers) {
			<-c.house.readers
		}
	}
}

// MaxLines is the maximum number of lines in a usage table.
const MaxLines = maxLines

// BoundTables changes the maximum number of lines in a usage table.
func (c *Registry) BoundTables(limit int) { c.house.maxLines = limit }
