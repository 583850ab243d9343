package x402

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/metering/plan"
)

var (
	usdc   = wallet.Address{0x83, 0x35}
	seller = wallet.Address{0x5e}
	alice  = wallet.Address{0xa1}
	bob    = wallet.Address{0xb0}
	terms  = Terms{
		Chain: 8453, Asset: usdc, PayTo: seller, Service: "Chain Access Gateway", Confirmations: 2,
		CorroborateAbove: 1_000_000,
	}
)

func topicOf(a wallet.Address) TxHash { return TxHash(common.BytesToHash(a[:])) }

func moved(from, to wallet.Address, amount uint64) Log {
	data := common.BigToHash(common.Big0)
	for i := range 8 {
		data[31-i] = byte(amount >> (8 * i))
	}
	return Log{Contract: usdc, Topics: []TxHash{transferTopic, topicOf(from), topicOf(to)}, Data: data[:]}
}

func TestTransfer_TopicIsThatOfERC20(t *testing.T) {
	t.Parallel()
	if want := TxHash(crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))); transferTopic != want {
		t.Errorf("it is %s, want %s", transferTopic, want)
	}
}

func TestPayments_AreTransfersOfTheAssetToTheSellerOnly(t *testing.T) {
	t.Parallel()
	with := func(change func(l *Log)) []Log {
		l := moved(alice, seller, 5)
		change(&l)
		return []Log{l}
	}
	none := []PayerSum(nil)
	for name, c := range map[string]struct {
		logs []Log
		want []PayerSum
	}{
		"a transfer": {[]Log{moved(alice, seller, 5)}, []PayerSum{{alice, 5}}},
		"several of one payer are summed": {
			[]Log{moved(alice, seller, 5), moved(bob, seller, 1), moved(alice, seller, 7)},
			[]PayerSum{{alice, 12}, {bob, 1}},
		},
		"the largest amount": {
			[]Log{moved(alice, seller, math.MaxInt64)}, []PayerSum{{alice, math.MaxInt64}},
		},
		"no logs":                   {nil, none},
		"nothing moved":             {[]Log{moved(alice, seller, 0)}, none},
		"to somebody else":          {[]Log{moved(alice, bob, 5)}, none},
		"from the seller to itself": {[]Log{moved(seller, seller, 5)}, none},
		"minted":                    {[]Log{moved(wallet.Address{}, seller, 5)}, none},
		"another token":             {with(func(l *Log) { l.Contract[19] = 1 }), none},
		"removed":                   {with(func(l *Log) { l.Removed = true }), none},
		"another event":             {with(func(l *Log) { l.Topics[0] = TxHash{1} }), none},
		"a token by number (ERC-721)": {
			with(func(l *Log) { l.Topics = append(l.Topics, TxHash{5}); l.Data = nil }), none,
		},
		"nothing indexed": {
			with(func(l *Log) { l.Topics = l.Topics[:1]; l.Data = make([]byte, 96) }), none,
		},
		"no topics":                      {with(func(l *Log) { l.Topics = nil }), none},
		"short data":                     {with(func(l *Log) { l.Data = l.Data[1:] }), none},
		"long data":                      {with(func(l *Log) { l.Data = append(l.Data, 0) }), none},
		"no data":                        {with(func(l *Log) { l.Data = nil }), none},
		"a payer that is no address":     {with(func(l *Log) { l.Topics[1][0] = 1 }), none},
		"a recipient that is no address": {with(func(l *Log) { l.Topics[2][11] = 1 }), none},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := terms.Payments(c.logs)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestPayments_ImpossibleAmountsAreNone(t *testing.T) {
	t.Parallel()
	huge := moved(alice, seller, 1)
	huge.Data[0] = 0x80
	for name, logs := range map[string][]Log{
		"2^63":                   {moved(alice, seller, 1<<63)},
		"2^255":                  {huge},
		"a sum beyond 2^63-1":    {moved(alice, seller, math.MaxInt64), moved(alice, seller, 1)},
		"behind one that may be": {moved(bob, seller, 1), huge},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := terms.Payments(logs); !errors.Is(err, ErrAmount) || got != nil {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func TestPayments_NothingPaysWhileTheLaneIsClosed(t *testing.T) {
	t.Parallel()
	closed := terms
	closed.PayTo = wallet.Address{}
	if got, err := closed.Payments([]Log{moved(alice, wallet.Address{}, 5)}); err != nil || got != nil {
		t.Errorf("a transfer to the zero address pays %v, %v", got, err)
	}
}

func TestPaidBy_IsOfThePayerAlone(t *testing.T) {
	t.Parallel()
	payments := []PayerSum{{alice, 3}, {bob, 4}}
	for payer, want := range map[wallet.Address]plan.Atomic{alice: 3, bob: 4, seller: 0} {
		t.Run(payer.String(), func(t *testing.T) {
			if got := PaidBy(payments, payer); got != want {
				t.Errorf("%s paid %d, want %d", payer, got, want)
			}
		})
	}
}
