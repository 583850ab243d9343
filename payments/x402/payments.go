package x402

import (
	"errors"
	"math"
	"slices"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/metering/plan"
)

// transferTopic is keccak256("Transfer(address,address,uint256)"), the first topic of an ERC-20
// transfer's log.
var transferTopic = TxHash{
	0xdd, 0xf2, 0x52, 0xad, 0x1b, 0xe2, 0xc8, 0x9b, 0x69, 0xc2, 0xb0, 0x68, 0xfc, 0x37, 0x8d, 0xaa,
	0x95, 0x2b, 0xa7, 0xf1, 0x63, 0xc4, 0xa1, 0x16, 0x28, 0xf5, 0x5a, 0x4d, 0xf5, 0x23, 0xb3, 0xef,
}

// Log is one log of a receipt, as a node reports it.
type Log struct {
	Contract wallet.Address
	Topics   []TxHash
	Data     []byte
	Removed  bool // by a reorg
}

// PayerSum is the sum of one payer's transfers to the seller in a transaction. It is positive.
type PayerSum struct {
	Payer wallet.Address `json:"payer"`
	Paid  plan.Atomic    `json:"paid"`
}

// ErrAmount reports a log that moves more of the asset than can exist. The upstream made it up, or
// the configured asset is the wrong contract.
var ErrAmount = errors.New("x402: a transfer of more than 2^63-1 atomic units")

// Payments sums the transfers to the seller in the logs of a successful transaction, by payer, in
// the order of first payment. The payer is the address that the asset was taken from, no matter who
// sent the transaction. These do not count: transfers of other contracts, to other addresses, of
// zero, by the seller, from the zero address, in removed logs, and logs that do not have the form
// of ERC-20's Transfer.
func (t Terms) Payments(logs []Log) ([]PayerSum, error) {
	if !t.Open() {
		return nil, nil
	}
	var found []PayerSum
	for i := range logs {
		from, amount, pays, err := t.transfer(&logs[i])
		if err != nil {
			return nil, err
		}
		if !pays {
			continue
		}
		at := slices.IndexFunc(found, func(p PayerSum) bool { return p.Payer == from })
		if at < 0 {
			found = append(found, PayerSum{from, amount})
			continue
		}
		if found[at].Paid > math.MaxInt64-amount {
			return nil, ErrAmount
		}
		found[at].Paid += amount
	}
	return found, nil
}

// transfer decodes a log. pays is false unless the log is a transfer of the asset from another
// address to the seller.
func (t Terms) transfer(l *Log) (from wallet.Address, amount plan.Atomic, pays bool, err error) {
	const indexed, word = 3, 32
	if l.Removed || l.Contract != t.Asset || len(l.Topics) != indexed || l.Topics[0] != transferTopic ||
		len(l.Data) != word {
		return from, 0, false, nil
	}
	from, isFrom := addressIn(l.Topics[1])
	to, isTo := addressIn(l.Topics[2])
	if !isFrom || !isTo || from.IsZero() || to != t.PayTo || from == t.PayTo {
		return from, 0, false, nil
	}
	for i, b := range l.Data {
		if (i < word-8 && b != 0) || (i == word-8 && b > math.MaxInt8) {
			return from, 0, false, ErrAmount
		}
		amount = amount<<8 | plan.Atomic(b)
	}
	return from, amount, amount > 0, nil
}

// addressIn decodes an address from a topic, which is the address after twelve zero bytes.
func addressIn(topic TxHash) (a wallet.Address, ok bool) {
	for _, b := range topic[:len(topic)-len(a)] {
		if b != 0 {
			return a, false
		}
	}
	copy(a[:], topic[len(topic)-len(a):])
	return a, true
}

// PaidBy returns what a payer paid, or 0.
func PaidBy(payments []PayerSum, payer wallet.Address) plan.Atomic {
	for _, p := range payments {
		if p.Payer == payer {
			return p.Paid
		}
	}
	return 0
}
