package public

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/status"
)

// samples are the pages of the status and receipts; name is a text that somebody chose.
func samples(name string) map[string]view.Page {
	all := map[string]view.Page{
		"receipt": sampleReceipt(name),
		"receipt-waiting": receiptPage{
			Seller: name, Asset: "USDC", Network: "Base", Tx: consoletest.Long, JSON: "/x402/receipts/0x1.json",
			Payments: []payment{
				{
					ID: "payment-1", Wallet: consoletest.Long,
					Status: view.Status{Tone: view.Warn, Text: "waiting for the chain"}, Text: name,
				},
			},
		},
	}
	maps.Copy(all, statusSamples(name))
	return all
}

// sampleReceipt has two payments in one transaction.
func sampleReceipt(name string) receiptPage {
	line := view.HistoryLine{
		Machine: consoletest.Now.Format(time.RFC3339), Exact: view.UTC(consoletest.Now),
		Words: name,
	}
	amounts := &view.Sum{
		Title: "Amount", Unit: "USDC", Lines: []view.Fact{
			{Name: "Net", Value: "0.090000"},
			{Name: "VAT, 20 %", Value: "0.018000"},
		},
		Total: view.Fact{Name: "Paid", Value: "0.108000"},
	}
	units := &view.Sum{
		Title: "Units", Lines: []view.Fact{
			{Name: "Used", Value: "7"},
			{Name: "Remaining", Value: "9,993"},
			{Name: "Expired", Value: "0"},
		},
		Total: view.Fact{Name: "Bought", Value: "10,000"}, Note: name,
	}
	one := payment{
		ID: "payment-1", Wallet: "0x00000000219ab540356cBB839Cbe05303d7705Fa",
		Status: view.Status{Tone: view.Good, Text: "final"},
		Text:   name, Treatment: name, Amounts: amounts, Units: units, Facts: []view.Fact{
			{Name: "Paid", Value: view.UTC(consoletest.Now)}, {Name: "Tier", Value: name},
		}, History: []view.HistoryLine{line, line},
	}
	two := one
	two.ID, two.Status = "payment-2", view.Status{Tone: view.Bad, Text: "reorganised away"}
	return receiptPage{
		Seller: name, Asset: "USDC", Network: "Base, chain 8453", Tx: "0x" + strings.Repeat("ab", 32),
		JSON: "/x402/receipts/0x" + strings.Repeat("ab", 32) + ".json", Payments: []payment{one, two},
	}
}

// statusSamples are pages of the status with real content.
func statusSamples(name string) map[string]view.Page {
	s := consoletest.SampleStatus(name)
	full := newStatusPage(consoletest.Reader(), &s)
	full.Mails = view.Link{Text: name, To: paths.Settings}
	away := status.Status{State: chain.Unknown, MadeAt: consoletest.Now, Chains: s.Chains[3:]}
	return map[string]view.Page{"status": full, "status-away": newStatusPage(consoletest.Reader(), &away)}
}

func TestPages_KeepToTheRules(t *testing.T) {
	t.Parallel()
	consoletest.CheckSection(t, templates, samples)
}
