package indexer

import (
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

var (
	alice = common.HexToAddress("0xa1")
	bob   = common.HexToAddress("0xb0")
	token = common.HexToAddress("0xc0")
)

func topics(first common.Hash, more ...*big.Int) []common.Hash {
	list := []common.Hash{first}
	for _, m := range more {
		list = append(list, common.BigToHash(m))
	}
	return list
}

func words(values ...int64) (data []byte) {
	for _, v := range values {
		data = append(data, common.BigToHash(big.NewInt(v)).Bytes()...)
	}
	return data
}

func TestTransfers_AreReadFromLogs(t *testing.T) {
	t.Parallel()
	a, b, operator := alice.Big(), bob.Big(), big.NewInt(9)
	for name, test := range map[string]struct {
		log  types.Log
		want string // category, value, token id, batch; empty when the log is not a transfer
	}{
		"erc20":                {types.Log{Topics: topics(transferTopic, a, b), Data: words(70)}, "erc20 70 <nil> "},
		"erc20 with more data": {types.Log{Topics: topics(transferTopic, a, b), Data: words(70, 1)}, ""},
		"erc721":               {types.Log{Topics: topics(transferTopic, a, b, big.NewInt(5))}, "erc721 <nil> 5 "},
		"erc1155 single": {
			types.Log{Topics: topics(singleTopic, operator, a, b), Data: words(5, 6)}, "erc1155 <nil> <nil> 5x6 ",
		},
		"erc1155 batch": {
			types.Log{Topics: topics(batchTopic, operator, a, b), Data: words(64, 160, 2, 5, 7, 2, 6, 8)},
			"erc1155 <nil> <nil> 5x6 7x8 ",
		},
		"erc1155 cut batch": {
			types.Log{Topics: topics(batchTopic, operator, a, b), Data: words(64, 160, 2, 5, 7, 2, 6)}, "",
		},
		"erc1155 immense batch": {
			types.Log{Topics: topics(batchTopic, operator, a, b), Data: words(64, 160, 1<<62, 5, 7, 2, 6)}, "",
		},
		"erc1155 empty batch": {types.Log{Topics: topics(batchTopic, operator, a, b)}, ""},
		"another event":       {types.Log{Topics: topics(common.HexToHash("0x1"), a, b), Data: words(1)}, ""},
		"anonymous":           {types.Log{Data: words(1)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if moved, ok := fromLog(transfer{}, &test.log); ok {
				got = fmt.Sprintf("%s %v %v ", moved.category, moved.value, moved.tokenID)
				for _, item := range moved.batch {
					got += fmt.Sprintf("%dx%d ", item.TokenID.ToInt(), item.Value.ToInt())
				}
				in := expect.In(t, "%s", name)
				expect.Equal(in, moved.from, alice)
				require.NotNil(in, moved.to)
				expect.Equal(in, *moved.to, bob)
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestPageKeys_BelongToTheirQueryAndExpire(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	p := pages{now: func() time.Time { return now }, kept: map[string]page{}}
	to := blockNumber{number: 9}
	q := TransferQuery{Category: []string{categoryERC20}, ToBlock: &to, FromAddress: &alice}
	q.PageKey = p.mark(q, page{place: 7, head: 9})
	got, ok := p.open(q)
	require.True(t, ok)
	expect.Equal(t, got.place, 7)
	expect.Equal(t, got.head, 9)
	other, further := q, blockNumber{number: 10}
	other.ToBlock = &further
	if _, ok := p.open(other); ok {
		t.Error("the key opens another range")
	}
	now = now.Add(pageLife)
	if _, ok := p.open(q); ok {
		t.Error("the key opens after its time")
	}
	for range maxPages + 1 {
		p.mark(q, page{})
	}
	if len(p.kept) > maxPages {
		t.Errorf("%d keys are kept", len(p.kept))
	}
}

func TestTokenStrings_AreReadInBothForms(t *testing.T) {
	t.Parallel()
	padded := func(s string) []byte { return append([]byte(s), make([]byte, word-len(s))...) }
	for name, test := range map[string]struct {
		raw  []byte
		want string
	}{
		"string":              {slices.Concat(words(32, 4), padded("USDC")), "USDC"},
		"bytes32":             {padded("MKR"), "MKR"},
		"empty":               {words(32, 0), ""},
		"nothing":             {nil, ""},
		"a number":            {words(1), ""},
		"far offset":          {words(1<<40, 4, 0), ""},
		"longer than it is":   {words(32, 400, 0), ""},
		"offset in its head":  {words(0, 4, 0), ""},
		"control characters":  {slices.Concat(words(32, 2), padded("a\n")), ""},
		"not UTF-8":           {slices.Concat(words(32, 2), padded("\xff\xfe")), ""},
		"zeros at the end":    {slices.Concat(words(32, 4), padded("AB\x00\x00")), "AB"},
		"offset not standard": {slices.Concat(words(64, 9, 2), padded("OK")), "OK"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if found := text(test.raw); found != nil {
				got = *found
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestIndex_KeepsABoundedNumberOfHoldings(t *testing.T) {
	t.Parallel()
	x := New(Config{ChainID: 1})
	for i := range maxHoldings + 10 {
		x.hold(common.BigToAddress(big.NewInt(int64(i))), token)
		x.hold(alice, token)
	}
	if x.holdings != maxHoldings || len(x.tokens[alice]) != 1 {
		t.Errorf("%d holdings, %d of one owner", x.holdings, len(x.tokens[alice]))
	}
}
