package public

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/service/payments"
)

func TestReceipt_IsPublicAndItsSumsAddUp(t *testing.T) {
	t.Parallel()
	for who, b := range map[string]*consoletest.Browser{
		"a visitor":          consoletest.Visitor(t, consoletest.NewOperations(), Register),
		"somebody signed in": consoletest.SignedIn(t, consoletest.NewOperations(), Register),
	} {
		got := b.Get(pathReceipts + consoletest.Receipt.TxHash)
		if got.Status != http.StatusOK || got.Header.Get("X-Robots-Tag") != "noindex" {
			t.Errorf("%s: %d, robots %q", who, got.Status, got.Header.Get("X-Robots-Tag"))
		}
		shown := strings.Join(strings.Fields(consoletest.Text(consoletest.Parse(t, got.Body))), " ")
		for _, part := range []string{
			"Net0.090000 VAT, 20 %0.018000 Paid0.108000", "Used1,234.5 Remaining8,765.5 Expired0 Bought10,000",
			"The payer is in the EU (DE): 20 % VAT.", "20 Nov 2026, 14:05 UTC", "reorganised away",
			"at most 200,000 units", "Net99.000000 VAT0.000000 Paid99.000000",
		} {
			if !strings.Contains(shown, part) {
				t.Errorf("%s is not shown %q: %s", who, part, shown)
			}
		}
	}
}

func TestReceipt_UnknownHashIsNotFound(t *testing.T) {
	t.Parallel()
	got := consoletest.Visitor(t, consoletest.NewOperations(), Register).Get(pathReceipts + "0x" +
		strings.Repeat("00", 32))
	if got.Status != http.StatusNotFound || !strings.Contains(got.Body, "There is no such receipt") {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

func TestReceipt_SaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	for state, want := range map[x402.Stage]view.Status{
		x402.StagePending:     {Tone: view.Warn, Text: "not deep enough yet"},
		x402.StageStuck:       {Tone: view.Warn, Text: "waiting for the chain"},
		x402.StagePayable:     {Tone: view.Warn, Text: "not redeemed yet"},
		x402.StageRedeemed:    {Tone: view.Good, Text: "redeemed, not final yet"},
		x402.StageReorganised: {Tone: view.Bad, Text: "reorganised away"},
	} {
		t.Run(string(state), func(t *testing.T) {
			got := paymentOf(&payments.SettledPayment{State: state, Finality: x402.FinalityWaiting}, "USDC")
			in := expect.In(t, "%s", state)
			expect.Equal(in, got.Status, want)
			expect.Nil(in, got.Amounts)
			expect.Nil(in, got.Units)
		})
	}
}
