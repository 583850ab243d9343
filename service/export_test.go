package service

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
)

// TrialInput is of an operation that only tests have.
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

// TrialOutput is what it gives.
type TrialOutput struct {
	Word string `json:"word"`
	Run  int64  `json:"run"`
}

// Try adds an operation to a catalogue.
func (c *Registry) Try(meta Meta,
	run func(context.Context, *Call, TrialInput) (TrialOutput, error),
) *Operation[TrialInput, TrialOutput] {
	return define(c.house, meta, run)
}

// Keep is keep.
func (c *Call) Keep(seconds int) { c.keep(time.Duration(seconds) * time.Second) }

// SharedRedeems counts the redeems that waited for another one of their payer.
func (c *Registry) SharedRedeems() uint64 { return c.house.payers.Followed() }

// Followed is how many uses waited for the run of another.
func (c *Registry) Followed() uint64 { return c.house.flights.Followed() }

// Occupy takes every place of those that read texts, until it is told to give them back.
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

// MaxLines is how many lines a table of usage has at most.
const MaxLines = maxLines

// BoundTables makes tables of usage of fewer lines at most.
func (c *Registry) BoundTables(limit int) { c.house.maxLines = limit }
