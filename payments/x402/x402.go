// Package x402 owns the words of paying per call: what a settlement is and when it counts, the
// message that a payer signs, the menu's wire forms. It reads what a chain says and asks no chain,
// and it keeps nothing.
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

// TxHash names a transaction. As text it is 0x and 64 digits in lower case, in JSON too.
type TxHash [32]byte

// ParseTxHash reads 0x and 64 hexadecimal digits in whatever capitals.
func ParseTxHash(text string) (TxHash, bool) {
	var h TxHash
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok || len(digits) != 2*len(h) {
		return TxHash{}, false
	}
	_, err := hex.Decode(h[:], []byte(digits))
	return h, err == nil
}

// String is 0x and 64 digits.
func (h TxHash) String() string { return "0x" + hex.EncodeToString(h[:]) }

// MarshalText is String.
func (h TxHash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText is ParseTxHash.
func (h *TxHash) UnmarshalText(text []byte) error {
	read, ok := ParseTxHash(string(text))
	if !ok {
		return fmt.Errorf("x402: a transaction hash is 0x and 64 hexadecimal digits, not %d characters", len(text))
	}
	*h = read
	return nil
}

// IsZero holds for the zero hash, which no transaction has.
func (h TxHash) IsZero() bool { return h == TxHash{} }

// ID names a settlement: what one payer sent to the seller in one transaction of one chain, however
// many transfers it took. There is one for ever.
type ID struct {
	Chain uint64         `json:"chain"` // EIP-155
	Tx    TxHash         `json:"tx"`
	Payer wallet.Address `json:"payer"`
}

// String is <chain>/<transaction>/<payer in lower case>.
func (id ID) String() string {
	return strconv.FormatUint(id.Chain, 10) + "/" + id.Tx.String() + "/0x" + hex.EncodeToString(id.Payer[:])
}

// Origin is the name under which its units are granted, once.
func (id ID) Origin() string { return "settlement/" + id.String() }

// Stage is how far a settlement came.
type Stage string

// The stages. Stuck is until the chain can be read, or support says so. From StageRedeemed on the
// stage is what came of it: its units can be used until the window is over; Reorganised when the
// transaction is no longer part of the chain.
const (
	StageReading     Stage = "reading"     // seen by nobody yet
	StagePending     Stage = "pending"     // in a block that is not deep enough, or in none
	StageStuck       Stage = "stuck"       // the chain cannot be read; the reason stands beside it
	StagePayable     Stage = "payable"     // read and good; the payer may redeem it
	StageRefused     Stage = "refused"     // nothing in it pays
	StageRedeemed    Stage = "redeemed"    // units granted
	StageOver        Stage = "over"        // the window is over, and the transaction is final
	StageReorganised Stage = "reorganised" // redeemed, and gone from the chain
)

// Stages lists the stages.
func Stages() []Stage {
	return []Stage{
		StageReading, StagePending, StageStuck, StagePayable, StageRefused, StageRedeemed, StageOver, StageReorganised,
	}
}

// Finality is whether a redeemed settlement's transaction is part of the chain for good.
type Finality string

// What is known of the finality of a redeemed settlement.
const (
	FinalityWaiting Finality = "waiting"
	FinalityFinal   Finality = "final"
	FinalityGone    Finality = "gone"
)

// Terms is what the seller asks for. All of it comes from the configuration, the same in every
// process.
type Terms struct {
	Chain uint64 // EIP-155 id of the chain that is paid on
	Asset wallet.Address
	PayTo wallet.Address // zero: the lane is closed
	// Service begins the message that payers sign, Host stands in it.
	Service string
	Host    string // of the public address, with its port where it has one
	// Confirmations is how many blocks must stand on the payment's own, 0 for none.
	Confirmations uint64
	// CorroborateAbove is the amount above which two upstreams must tell the same.
	CorroborateAbove plan.Atomic
}

// Open reports whether anything is sold.
func (t Terms) Open() bool { return !t.PayTo.IsZero() }

// MaxAge is how old a payment may be when it is redeemed for the first time (decisions of the
// interface, section 7).
const MaxAge = 30 * 24 * time.Hour

// OnMainnet reports whether what is paid is money: the lane is open, on the chain of the real
// asset.
func (t Terms) OnMainnet() bool { return t.Open() && t.Chain == baseMainnet }

const baseMainnet = 8453 // EIP-155

// Finding is what the chain says of a settlement. Amounts are atomic units of the asset.
type Finding struct {
	Paid plan.Atomic `json:"paid"` // sum of the payer's transfers to the seller
	// Block is where the transaction is: number, hash, seconds since 1970.
	Block     uint64 `json:"block"`
	BlockHash TxHash `json:"block_hash"`
	Time      int64  `json:"time"`
	// Depth is how many blocks stand on it; Final that it is at or below the finalized block.
	Depth uint64 `json:"depth"`
	Final bool   `json:"final"`
}
