package toolbox

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/node"
)

const (
	someHash  = "0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b"
	otherHash = "0x11df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b"
	someSig   = "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW"
)

func txJSON(hash, block string) string {
	return fmt.Sprintf(`{"hash":"%s","blockNumber":%s,"gasPrice":"0x7"}`, hash, block)
}

func receiptJSON(more string) string {
	return fmt.Sprintf(`{"transactionHash":"%s","blockNumber":"0x64","gasUsed":"0x5208"%s}`, someHash, more)
}

func TestTx_OutcomeOnAnEVMChain(t *testing.T) {
	t.Parallel()
	known := txJSON(someHash, `"0x64"`)
	for name, tc := range map[string]struct {
		tx, receipt   reply
		head          string
		status        TxState
		block         uint64
		confirmations uint64
		price         string
		note          string
	}{
		"confirmed": {
			reply{known},
			reply{receiptJSON(`,"status":"0x1","effectiveGasPrice":"0x3b9aca00"`)},
			`"0x6e"`, TxConfirmed,
			100, 11, "1000000000", "",
		},
		"confirmed in the head": {
			reply{known},
			reply{receiptJSON(`,"status":"0x1","effectiveGasPrice":"0x9"`)},
			`"0x64"`, TxConfirmed, 100,
			1, "9", "",
		},
		"the head lags behind the receipt": {
			reply{known},
			reply{receiptJSON(`,"status":"0x1","effectiveGasPrice":"0x9"`)},
			`"0x60"`, TxConfirmed, 100,
			1, "9", "",
		},
		"hash in other capitals": {
			reply{txJSON(strings.ToUpper(someHash), `"0x64"`)},
			reply{receiptJSON(`,"status":"0x1","effectiveGasPrice":"0x9"`)},
			`"0x64"`,
			TxConfirmed, 100, 1, "9", "",
		},
		"failed": {
			reply{known},
			reply{receiptJSON(`,"status":"0x0","effectiveGasPrice":"0x9"`)},
			`"0x65"`, TxFailed, 100, 2,
			"9", "",
		},
		"before London the transaction says the price": {
			reply{known}, reply{receiptJSON(`,"status":"0x1"`)}, `"0x64"`, TxConfirmed, 100, 1, "7", "",
		},
		"before Byzantium nobody says whether it succeeded": {
			reply{known},
			reply{receiptJSON(`,"root":"0x12","status":null`)},
			`"0x64"`, TxConfirmed, 100, 1, "7",
			"Byzantium",
		},
		"a receipt before the transaction": {
			reply{"null"}, reply{receiptJSON(`,"status":"0x1"`)}, `"0x64"`, TxConfirmed, 100, 1, "", "",
		},
		"mined between the questions": {
			reply{txJSON(someHash, "null")},
			reply{receiptJSON(`,"status":"0x1","effectiveGasPrice":"0x9"`)},
			`"0x64"`,
			TxConfirmed, 100, 1, "9", "",
		},
		"a receipt at another upstream": {
			reply{known},
			reply{"null", receiptJSON(`,"status":"0x1","effectiveGasPrice":"0x9"`)},
			`"0x64"`,
			TxConfirmed, 100, 1, "9", "",
		},
		"in a block whose receipts nobody has": {
			reply{known}, reply{"null"}, `"0x64"`, TxPending, 0, 0, "", "block 100",
		},
		"pending": {
			reply{txJSON(someHash, "null")}, reply{"null"}, `"0x64"`, TxPending, 0, 0, "", "",
		},
		"unknown": {
			reply{"null"}, reply{"null"}, `"0x64"`, TxUnknown, 0, 0, "", "ask again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeChain{t: t, answers: map[string]reply{
				"eth_getTransactionByHash": tc.tx, "eth_getTransactionReceipt": tc.receipt,
				"eth_blockNumber": {tc.head},
			}}
			s, err := NewTxTracker(f, atNoon).Status(t.Context(), chain.PolygonPoS, someHash)
			if err != nil {
				t.Fatal(err)
			}
			expect.Equal(t, s.Status, tc.status)
			expect.Equal(t, s.EffectiveGasPrice, tc.price)
			expect.Equal(t, s.Note == "", tc.note == "")
			expect.Contains(t, s.Note, tc.note)
			if inBlock := tc.block != 0; (s.BlockNumber != nil) != inBlock || (s.Confirmations != nil) != inBlock ||
				(s.GasUsed != "") != inBlock {
				t.Fatalf("%+v", s)
			} else if inBlock && (*s.BlockNumber != tc.block || *s.Confirmations != tc.confirmations ||
				s.GasUsed != "21000") {
				t.Errorf("block %d, %d confirmations, %s gas", *s.BlockNumber, *s.Confirmations, s.GasUsed)
			}
			expect.Equal(t, s.Chain, chain.PolygonPoS)
			expect.Equal(t, s.Hash, someHash)
			expect.True(t, s.CheckedAt.Equal(noon), s.CheckedAt)
			expect.Equal(t, s.CheckedAt.Location(), time.UTC)
			in := expect.In(t, "an EVM chain with Solana's words")
			expect.Nil(in, s.Slot)
			expect.Equal(in, s.ConfirmationStatus, "")
			expect.Equal(in, s.Error, "")
		})
	}
}

func TestTx_UnknownIsAskedForAtOtherUpstreams(t *testing.T) {
	t.Parallel()
	f := &fakeChain{t: t, answers: map[string]reply{
		"eth_getTransactionByHash": {txJSON(someHash, `"0x64"`)}, "eth_getTransactionReceipt": {"null"},
		"eth_blockNumber": {`"0x64"`},
	}}
	if _, err := NewTxTracker(f, atNoon).Status(t.Context(), chain.EthMainnet, someHash); err != nil {
		t.Fatal(err)
	}
	var elsewhere []string
	for _, q := range f.asked {
		if q.Empty == nil {
			continue
		}
		elsewhere = append(elsewhere, q.Method)
		if !q.Empty([]byte("null")) || q.Empty([]byte(`{"hash":null}`)) {
			t.Errorf("%s takes the wrong results for empty", q.Method)
		}
	}
	in := expect.In(t, "asked elsewhere")
	expect.Equal(in, fmt.Sprint(elsewhere), "[eth_getTransactionByHash eth_getTransactionReceipt]")
	expect.Equal(in, f.count("eth_getTransactionReceipt"), 2)
	expect.Len(in, f.asked, 4)
}

func TestTx_InvalidAnswersAreAFailureOfTheService(t *testing.T) {
	t.Parallel()
	known, mined := txJSON(someHash, `"0x64"`), receiptJSON(`,"status":"0x1"`)
	for name, tc := range map[string]struct {
		tx, receipt, head any
		want              fault.Reason
	}{
		"another transaction": {txJSON(otherHash, `"0x64"`), mined, `"0x64"`, fault.UpstreamFailed},
		"another one's receipt": {
			known, strings.Replace(mined, someHash, otherHash, 1), `"0x64"`, fault.UpstreamFailed,
		},
		"an empty transaction":  {"{}", "null", `"0x64"`, fault.UpstreamFailed},
		"an empty receipt":      {known, "{}", `"0x64"`, fault.UpstreamFailed},
		"a receipt in no block": {known, strings.Replace(mined, `"0x64"`, "null", 1), `"0x64"`, fault.UpstreamFailed},
		"a receipt without gas": {
			known, strings.Replace(mined, `"0x5208"`, "null", 1), `"0x64"`, fault.UpstreamFailed,
		},
		"gas that is no hex": {
			known, strings.Replace(mined, `"0x5208"`, "21000", 1), `"0x64"`, fault.UpstreamFailed,
		},
		"a head that is no hex": {known, mined, `"latest"`, fault.UpstreamFailed},
		"an error of the node": {
			known, &node.Error{Code: -32000, Message: "transaction indexing is in progress"},
			`"0x64"`, fault.UpstreamFailed,
		},
		"the head cannot be read": {known, mined, fault.New(fault.UpstreamTimeout, ""), fault.UpstreamTimeout},
		"nobody to ask":           {fault.New(fault.NoUpstream, ""), mined, `"0x64"`, fault.NoUpstream},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeChain{t: t, answers: map[string]reply{
				"eth_getTransactionByHash": {tc.tx}, "eth_getTransactionReceipt": {tc.receipt},
				"eth_blockNumber": {tc.head},
			}}
			_, err := NewTxTracker(f, atNoon).Status(t.Context(), chain.EthMainnet, someHash)
			wantFault(t, err, tc.want)
		})
	}
}

func TestTx_OutcomeOnSolana(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 300)
	for name, tc := range map[string]struct {
		value      string
		status     TxState
		commitment string
		reason     string
		noted      bool
	}{
		"finalized": {
			`{"slot":72,"confirmations":null,"err":null,"confirmationStatus":"finalized"}`, TxConfirmed,
			"finalized", "", false,
		},
		"confirmed": {
			`{"slot":72,"confirmations":10,"err":null,"confirmationStatus":"confirmed"}`, TxConfirmed,
			"confirmed", "", false,
		},
		"processed": {
			`{"slot":72,"confirmations":0,"err":null,"confirmationStatus":"processed"}`, TxPending,
			"processed", "", true,
		},
		"failed": {
			`{"slot":72,"confirmations":null,"err":{"InstructionError":[0,{"Custom":1}]},` +
				`"confirmationStatus":"finalized"}`, TxFailed, "finalized",
			`{"InstructionError":[0,{"Custom":1}]}`, false,
		},
		"failed by a word": {
			`{"slot":72,"confirmations":3,"err":"AccountNotFound","confirmationStatus":"confirmed"}`,
			TxFailed, "confirmed", "AccountNotFound", false,
		},
		"failing, processed": {
			`{"slot":72,"confirmations":0,"err":"AccountNotFound","confirmationStatus":"processed"}`,
			TxPending, "processed", "AccountNotFound", true,
		},
		"failed at length": {
			`{"slot":72,"confirmations":null,"err":"` + long + `","confirmationStatus":"finalized"}`, TxFailed,
			"finalized", strings.Repeat("é", 199) + "…", false,
		},
		"failed without words": {
			`{"slot":72,"confirmations":null,"err":"","confirmationStatus":"finalized"}`,
			TxFailed, "finalized", "failed", false,
		},
		"an old node, rooted": {
			`{"slot":72,"confirmations":null,"err":null}`, TxConfirmed, "finalized", "", false,
		},
		"an old node, still voting": {`{"slot":72,"confirmations":4,"err":null}`, TxPending, "processed", "", true},
		"a word nobody knows": {
			`{"slot":72,"confirmations":4,"err":null,"confirmationStatus":"rumoured"}`,
			TxPending, "processed", "", true,
		},
		"unknown": {"null", TxUnknown, "", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeChain{
				t: t, answers: map[string]reply{
					"getSignatureStatuses": {`{"context":{"slot":82},"value":[` + tc.value + `]}`},
				},
			}
			s, err := NewTxTracker(f, atNoon).Status(t.Context(), chain.SolanaMainnet, someSig)
			if err != nil {
				t.Fatal(err)
			}
			expect.Equal(t, s.Status, tc.status)
			expect.Equal(t, s.ConfirmationStatus, tc.commitment)
			expect.Equal(t, s.Error, tc.reason)
			expect.Equal(t, s.Note != "", tc.noted)
			if known := tc.status != TxUnknown; (s.Slot != nil) != known || known && *s.Slot != 72 {
				t.Errorf("slot %v", s.Slot)
			}
			in := expect.In(t, "Solana with an EVM chain's words")
			expect.Nil(in, s.BlockNumber)
			expect.Nil(in, s.Confirmations)
			expect.Equal(in, s.GasUsed, "")
			expect.Equal(in, s.Hash, someSig)
			require.Len(t, f.asked, 1)
			params, err := json.Marshal(f.asked[0].Params)
			require.NoError(t, err)
			expect.Equal(t, string(params), `[["`+someSig+`"],{"searchTransactionHistory":true}]`)
			if empty := f.asked[0].Empty; !empty([]byte(`{"value":[null]}`)) ||
				empty([]byte(`{"value":[`+strings.Replace(tc.value, "null", "1", 1)+`]}`)) && tc.value != "null" {
				t.Error("the wrong results are taken for empty")
			}
		})
	}
}

func TestTx_InvalidAnswersOfSolanaAreAFailureOfTheService(t *testing.T) {
	t.Parallel()
	for _, answer := range []any{
		"null", `{"value":[]}`, `{"value":[null,null]}`, `[]`, `{"value":[{"slot":-1}]}`, `{"value":[{"slot":"72"}]}`,
		&node.Error{Code: -32602, Message: "no"},
	} {
		f := &fakeChain{t: t, answers: map[string]reply{"getSignatureStatuses": {answer}}}
		_, err := NewTxTracker(f, atNoon).Status(t.Context(), chain.SolanaMainnet, someSig)
		wantFault(t, err, fault.UpstreamFailed)
	}
}
