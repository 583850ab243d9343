// Package x402 defines pay-per-call payments: what a settlement is and when it counts, the message
// that a payer signs, and the wire forms of the protocol. It interprets what a chain returned, but
// makes no calls and stores nothing.
package x402

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/metering/plan"
)

// TxHash identifies a transaction. Its text and JSON form is 0x and 64 lower-case hexadecimal
// digits.
type TxHash [32]byte

// ParseTxHash parses 0x and 64 hexadecimal digits of either case.
func ParseTxHash(text string) (TxHash, bool) {
	var h TxHash
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok || len(digits) != 2*len(h) {
		return TxHash{}, false
	}
	_, err := hex.Decode(h[:], []byte(digits))
	return h, err == nil
}

// String returns 0x and 64 hexadecimal digits.
func (h TxHash) String() string { return "0x" + hex.EncodeToString(h[:]) }

// MarshalText returns String.
func (h TxHash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText parses like ParseTxHash.
func (h *TxHash) UnmarshalText(text []byte) error {
	read, ok := ParseTxHash(string(text))
	if !ok {
		return fmt.Errorf("x402: a transaction hash is 0x and 64 hexadecimal digits, not %d characters", len(text))
	}
	*h = read
	return nil
}

// IsZero reports whether h is the zero hash, which no transaction has.
func (h TxHash) IsZero() bool { return h == TxHash{} }

// ID identifies a settlement: everything that one payer sent to the seller in one transaction of
// one chain, in any number of transfers. It is unique for ever.
type ID struct {
	Chain uint64         `json:"chain"` // EIP-155
	Tx    TxHash         `json:"tx"`
	Payer wallet.Address `json:"payer"`
}

// String returns <chain>/<transaction>/<payer in lower case>.
func (id ID) String() string {
	return strconv.FormatUint(id.Chain, 10) + "/" + id.Tx.String() + "/0x" + hex.EncodeToString(id.Payer[:])
}

// Origin returns the idempotency key under which the settlement's units are granted.
func (id ID) Origin() string { return "settlement/" + id.String() }

// Stage is the state of a settlement.
type Stage string

// The stages. A settlement is StageStuck until the chain can be read or support decides. From
// StageRedeemed on it has units, which can be used until the window is over; StageReorganised means
// that a reorg removed the transaction.
const (
	StageReading     Stage = "reading"     // not read yet
	StagePending     Stage = "pending"     // in no block, or without enough confirmations
	StageStuck       Stage = "stuck"       // the chain cannot be read; the reason is stored with it
	StagePayable     Stage = "payable"     // valid; the payer may redeem it
	StageRefused     Stage = "refused"     // it pays nothing here
	StageRedeemed    Stage = "redeemed"    // units granted
	StageOver        Stage = "over"        // the window is over, and the transaction is final
	StageReorganised Stage = "reorganised" // redeemed, then removed by a reorg
)

// Stages returns all stages.
func Stages() []Stage {
	return []Stage{
		StageReading, StagePending, StageStuck, StagePayable, StageRefused, StageRedeemed, StageOver, StageReorganised,
	}
}

// Finality is the finality of a redeemed settlement's transaction.
type Finality string

// The states of finality.
const (
	FinalityWaiting Finality = "waiting"
	FinalityFinal   Finality = "final"
	FinalityGone    Finality = "gone"
)

// Terms are the seller's terms. They come from the configuration and are the same in every process.
type Terms struct {
	Chain uint64 // EIP-155 id of the chain that payments are made on
	Asset wallet.Address
	PayTo wallet.Address // zero: pay per call is off
	// Service begins the message that payers sign; Host is part of it.
	Service string
	Host    string // of the public URL, with its port if it has one
	// Confirmations is the number of blocks that must follow the payment's block; 0 for none.
	Confirmations uint64
	// CorroborateAbove is the amount above which two upstreams must agree.
	CorroborateAbove plan.Atomic
}

// Open reports whether anything is sold.
func (t Terms) Open() bool { return !t.PayTo.IsZero() }

// MaxAge is the maximum age of a payment at its first redeem (docs/decisions/0050).
const MaxAge = 30 * 24 * time.Hour

// OnMainnet reports whether payments are real money: pay per call is on, and the chain is that of
// the real asset.
func (t Terms) OnMainnet() bool { return t.Open() && t.Chain == baseMainnet }

const baseMainnet = 8453 // EIP-155

// Finding is what the chain reports about a settlement. Amounts are atomic units of the asset.
type Finding struct {
	Paid plan.Atomic `json:"paid"` // sum of the payer's transfers to the seller
	// Block, BlockHash and Time (seconds since 1970) are those of the transaction's block.
	Block     uint64 `json:"block"`
	BlockHash TxHash `json:"block_hash"`
	Time      int64  `json:"time"`
	// Depth is the number of blocks that follow it. Final reports whether it is at or below the
	// finalized block.
	Depth uint64 `json:"depth"`
	Final bool   `json:"final"`
}
