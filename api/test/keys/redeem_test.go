package keys_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
)

// Package service tests what is redeemed and how. This file tests the statuses and headers that
// need no workflow.
func TestRedeem_Answers202BeforeTheBlockAnd402WhenItDoesNotPay(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) {
		o.Chains, o.Terms = []chain.ID{chain.BaseMainnet}, apitest.Terms(t)
	})
	ledger := testkit.NewLedger(8453, apitest.Head)
	for _, u := range g.Ups {
		ledger.Serve(u)
	}
	key, err := crypto.GenerateKey()
	g.Must(err)
	redeem := func(n int, tx testkit.LedgerTx) apitest.Answer {
		hash := fmt.Sprintf("0x%064x", n)
		ledger.Put(hash, tx)
		digest := wallet.TextHash("Chain Access Gateway x402 redeem\n" + hash)
		signature, err := crypto.Sign(digest[:], key)
		g.Must(err)
		body, err := json.Marshal(map[string]string{
			"tx_hash": hash, "tier": "balanced", "signature": "0x" + hex.EncodeToString(signature),
		})
		g.Must(err)
		return g.Ask(http.MethodPost, "/x402/redeem", "", string(body))
	}
	early := redeem(1, testkit.LedgerTx{})
	in := expect.In(t, "in no block")
	expect.Equal(in, early.Status, http.StatusAccepted)
	expect.NotEqual(in, early.Header.Get("Retry-After"), "")
	expect.Contains(in, early.Body, `"status":"pending"`)
	failed := redeem(2, testkit.LedgerTx{Block: apitest.Head - 9, Failed: true, Seconds: time.Now().Unix()})
	in = expect.In(t, "failed")
	expect.Equal(in, failed.Status, http.StatusPaymentRequired)
	expect.Contains(in, failed.Body, `"why":"transaction_failed"`)
	expect.Contains(in, failed.Body, "-32018")
}
