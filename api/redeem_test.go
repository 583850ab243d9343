package api_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
)

// Package service tests what is redeemed and how. This file tests the statuses and headers that
// need no workflow.
func TestRedeem_Answers202BeforeTheBlockAnd402WhenItDoesNotPay(t *testing.T) {
	t.Parallel()
	g := setup(t, func(o *options) { o.chains, o.terms = []chain.ID{chain.BaseMainnet}, sold(t) })
	ledger := testkit.NewLedger(8453, testHead)
	for _, u := range g.ups {
		ledger.Serve(u)
	}
	key, err := crypto.GenerateKey()
	g.must(err)
	redeem := func(n int, tx testkit.LedgerTx) answer {
		hash := fmt.Sprintf("0x%064x", n)
		ledger.Put(hash, tx)
		digest := wallet.TextHash("Chain Access Gateway x402 redeem\n" + hash)
		signature, err := crypto.Sign(digest[:], key)
		g.must(err)
		body, err := json.Marshal(map[string]string{
			"tx_hash": hash, "tier": "balanced", "signature": "0x" + hex.EncodeToString(signature),
		})
		g.must(err)
		return g.ask(http.MethodPost, "/x402/redeem", "", string(body))
	}
	early := redeem(1, testkit.LedgerTx{})
	if early.status != http.StatusAccepted || early.header.Get("Retry-After") == "" ||
		!strings.Contains(early.body, `"status":"pending"`) {
		t.Errorf("in no block: %d %v %s", early.status, early.header, early.body)
	}
	failed := redeem(2, testkit.LedgerTx{Block: testHead - 9, Failed: true, Seconds: time.Now().Unix()})
	if failed.status != http.StatusPaymentRequired || !strings.Contains(failed.body, `"why":"transaction_failed"`) ||
		!strings.Contains(failed.body, "-32018") {
		t.Errorf("failed: %d %s", failed.status, failed.body)
	}
}
