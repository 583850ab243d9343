// Package ens resolves names of the Ethereum Name Service to addresses and addresses to names, on
// Ethereum only, through ENS' Universal Resolver (ENSIP-23). It normalizes names (ENSIP-15, the
// ASCII subset), follows names with off-chain records (EIP-3668, ENSIP-21), and distinguishes a
// name without a record from a record that could not be read. It repeats no text that a name's
// owner chose, except normalized names. It knows nothing of keys, charges and caches (package
// service), nor of HTTP; package internal/egress decides which gateway addresses are allowed.
package ens

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/egress"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/toolbox/node"
)

// caller calls the chain; node.Reader implements it.
type caller interface {
	Call(ctx context.Context, q node.Query) (json.RawMessage, error)
}

// fetcher sends requests to gateways; egress.Client implements it.
type fetcher interface {
	Do(ctx context.Context, r egress.Request) (egress.Answer, error)
}

// Names resolves names and addresses. It is safe for concurrent use.
type Names struct {
	chain    caller
	gateways fetcher
	now      func() time.Time
}

// New returns a resolver that reads from chain and gateways.
func New(chain caller, gateways fetcher, now func() time.Time) *Names {
	return &Names{chain, gateways, now}
}

// Forward is the result of resolving a name.
type Forward struct {
	Name      string          `json:"name" doc:"the name in its normal form (ENSIP-15), which is what was resolved"`
	Address   *wallet.Address `json:"address" nullable:"true" doc:"with its checksum (EIP-55); null when the name has none"`
	Resolved  bool            `json:"resolved" doc:"whether the name has an Ethereum address"`
	Note      string          `json:"note,omitempty" doc:"why there is no address"`
	CheckedAt time.Time       `json:"checked_at" doc:"when the chain was asked, UTC"`
	// UnitWeight is set by the caller, who charges: this package knows no prices.
	UnitWeight plan.Units `json:"unit_weight" doc:"weighted units of a call that is not answered from the cache"`
}

// Reverse is the primary name of an address.
type Reverse struct {
	Address         wallet.Address `json:"address" doc:"with its checksum (EIP-55)"`
	Name            *string        `json:"name" nullable:"true" doc:"the address' primary name; only one that forward resolution leads back to the address, else null"`
	Resolved        bool           `json:"resolved" doc:"whether there is such a name"`
	UnconfirmedName *string        `json:"unconfirmed_name,omitempty" doc:"the name that the address claims and that does not lead back to it: do not show it as the address'"`
	Note            string         `json:"note" doc:"whether forward resolution confirms the name, or why there is none"`
	CheckedAt       time.Time      `json:"checked_at" doc:"when the chain was asked, UTC"`
	UnitWeight      plan.Units     `json:"unit_weight" doc:"weighted units of a call that is not answered from the cache"`
}

// The notes in answers.
const (
	noteNoResolver  = "The name has no resolver: it was never registered, or not set up."
	noteNotContract = "The name's resolver is not a contract, so it keeps no address."
	noteNoProfile   = "The name's resolver keeps no addresses."
	noteNoAddress   = "The name has a resolver, but no Ethereum address is set there."
	noteRefused     = "The name's resolver refused to answer, so the name has no address that can be used."
	noteUnreadable  = "The name's resolver gave an answer that is no address."
	noteConfirmed   = "Forward resolution confirms the name: it resolves to this address. Reverse records are " +
		"self-declared and change at any time; verify again before relying on it."
	noteNoRecord = "The address declares no name."
	noteMismatch = "The address claims the name in unconfirmed_name, which resolves to another address. Forward " +
		"resolution does not confirm it: do not trust it."
	noteNotForward = "The address claims the name in unconfirmed_name, which resolves to no address. Forward " +
		"resolution does not confirm it: do not trust it."
	noteNotNormal = "The address claims a name that is not in its normal form (ENSIP-15) and may look like " +
		"another one. It is not repeated here: do not trust it."
	noteNotASCII = "The address claims a name with characters beyond ASCII, which this service neither checks " +
		"nor repeats. Read it by eth_call of reverse() on the Universal Resolver, and normalise it with a library of " +
		"ENSIP-15 before trusting it."
	noteReverseBroken = "A resolver on the way from the address to its name and back refused to answer, so forward " +
		"resolution confirms no name."
)

// Resolve returns the address of a name that Normalize returned. A name without an address is no
// error. The error is a *fault.Error if the service, the chain or the gateway of the name's records
// failed, and wraps ctx's error if time ran out.
func (n *Names) Resolve(ctx context.Context, name string) (Forward, error) {
	answer := Forward{Name: name, CheckedAt: n.checkedAt()}
	s := n.begin()
	raw, err := s.resolve(ctx, name, call(callAddr, hash(namehash(name))))
	address, ok := encoded(raw).address()
	if r := asRevert(err); r != nil && r.selector == failUnsupported {
		// Some resolvers have addresses only by coin (ENSIP-9).
		raw, err = s.resolve(ctx, name, call(callAddrOfCoin, hash(namehash(name)), number(coinEther)))
		address, ok = readAddress(raw)
	}
	switch r := asRevert(err); {
	case r != nil:
		answer.Note = whyNoAddress(r)
	case err != nil:
		return Forward{}, err
	case !ok:
		answer.Note = noteUnreadable
	case address.IsZero():
		answer.Note = noteNoAddress
	default:
		answer.Address, answer.Resolved = &address, true
	}
	return answer, nil
}

// readAddress reads an Ethereum address as ENSIP-9 encodes it, as bytes; none is the zero address.
func readAddress(raw encoded) (address wallet.Address, ok bool) {
	b, ok := raw.bytes(0)
	if !ok || (len(b) != len(address) && len(b) != 0) {
		return address, false
	}
	copy(address[:], b)
	return address, true
}

func whyNoAddress(r *revert) string {
	switch r.selector {
	case failNotFound:
		return noteNoResolver
	case failNotContract:
		return noteNotContract
	case failUnsupported:
		return noteNoProfile
	case failResolver:
		return noteRefused
	default:
		return noteUnreadable
	}
}

// Reverse returns the primary name of an address (ENSIP-3, ENSIP-19). An address without one is no
// error. Errors are those of Resolve.
func (n *Names) Reverse(ctx context.Context, address wallet.Address) (Reverse, error) {
	answer := Reverse{Address: address, CheckedAt: n.checkedAt()}
	claimed, err := n.begin().claimed(ctx, address)
	if r := asRevert(err); r != nil {
		answer.UnconfirmedName, answer.Note = whyNoName(r, address)
		return answer, nil
	}
	if err != nil {
		return Reverse{}, err
	}
	if claimed == "" {
		answer.Note = noteNoRecord
		return answer, nil
	}
	if answer.Name, answer.Note = shown(claimed, noteConfirmed); answer.Name != nil {
		answer.Resolved = true
	}
	return answer, nil
}

// whyNoName returns the unconfirmed name that an address claims, if it can be shown, and why it is
// not confirmed.
func whyNoName(r *revert, address wallet.Address) (claims *string, note string) {
	switch r.selector {
	case failNotFound, failNotContract:
		encodedName, ok := r.args.bytes(0)
		claimed, fine := dnsDecode(encodedName)
		switch {
		case !ok || !fine:
			return nil, noteReverseBroken
		case claimed == reverseName(address):
			return nil, noteNoRecord
		}
		return shown(claimed, noteNotForward)
	case failMismatch:
		claimed, ok := r.args.bytes(0)
		other, fine := r.args.bytes(1)
		switch {
		case !ok || !fine:
			return nil, noteReverseBroken
		case len(bytes.TrimLeft(other, "\x00")) == 0:
			return shown(string(claimed), noteNotForward)
		}
		return shown(string(claimed), noteMismatch)
	case failDNSEncoding:
		return nil, noteNotNormal
	case failUnsupported:
		if asked, _ := r.args.selector(0); asked == callName {
			return nil, noteNoRecord
		}
	}
	return nil, noteReverseBroken
}

// shown returns a claimed name with its note, or nil and why it is not repeated.
func shown(claimed, note string) (name *string, why string) {
	normal, err := Normalize(claimed)
	if told, ok := errors.AsType[*NameError](err); ok && told.BeyondASCII {
		return nil, noteNotASCII
	}
	if err != nil || normal != claimed {
		return nil, noteNotNormal
	}
	return &claimed, note
}

// reverseName returns the name under which an address stores its primary name on Ethereum
// (ENSIP-3).
func reverseName(address wallet.Address) string {
	return hex.EncodeToString(address[:]) + ".addr.reverse"
}

func (n *Names) checkedAt() time.Time { return n.now().UTC().Truncate(time.Second) }
