package keys_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit"
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
	if early.Status != http.StatusAccepted || early.Header.Get("Retry-After") == "" ||
		!strings.Contains(early.Body, `"status":"pending"`) {
		t.Errorf("in no block: %d %v %s", early.Status, early.Header, early.Body)
	}
	failed := redeem(2, testkit.LedgerTx{Block: apitest.Head - 9, Failed: true, Seconds: time.Now().Unix()})
	if failed.Status != http.StatusPaymentRequired || !strings.Contains(failed.Body, `"why":"transaction_failed"`) ||
		!strings.Contains(failed.Body, "-32018") {
		t.Errorf("failed: %d %s", failed.Status, failed.Body)
	}
}
