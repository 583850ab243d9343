package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"

	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/paymentdb"
	"github.com/chainaccess/gateway/workflows"
)

// paidBy returns the id of a settlement.
func paidBy(tx, payer byte) x402.ID {
	return x402.ID{Chain: 8453, Tx: x402.TxHash{0xfe, 31: tx}, Payer: wallet.Address{payer, 19: 1}}
}

func foundPaid(amount plan.Atomic) *x402.Finding {
	return &x402.Finding{
		Paid: amount, Block: 4_800_017, BlockHash: x402.TxHash{7}, Time: time.Date(2026, time.November, 20, 14, 5, 0, 0,
			time.UTC).Unix(),
	}
}

func (b *accountsEnv) note(t *testing.T, id x402.ID, stage x402.Stage, reason, words string, found *x402.Finding) {
	t.Helper()
	if _, err := b.store.NoteSettlement(b.ctx, id, stage, reason, words, found); err != nil {
		t.Fatal(err)
	}
}

func (b *accountsEnv) grant(t *testing.T, id x402.ID, amount plan.Atomic, country string) {
	t.Helper()
	tier, _ := plan.FindPerCallTier(plan.Balanced)
	deal, _ := x402.Price(amount, tier, country)
	credential, err := account.MintCredential(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var digest account.Digest
	if _, err := rand.Read(digest[:]); err != nil {
		t.Fatal(err)
	}
	_, err = b.limits.GrantSettlement(b.ctx, paymentdb.Grant{
		ID: id, Deal: deal, Found: *foundPaid(amount), Origin: "api",
		Credential: paymentdb.Credential{Key: account.NewKeyID(), Digest: digest, Prefix: credential.Prefix()},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// settlements runs a command that succeeds.
func (b *accountsEnv) settlements(t *testing.T, args ...string) string {
	t.Helper()
	exit, out, errs := run(t, b.env, append([]string{"ops", "settlements"}, args...)...)
	if exit != 0 || errs != "" {
		t.Fatalf("%v: exit code %d, %q, %q", args, exit, out, errs)
	}
	return out
}

func TestSettlementsCommand_ListsByStage(t *testing.T) {
	t.Parallel()
	b := openAccountsEnv(t)
	delete(b.env, "REDIS_URL")
	stuck, payable, granted := paidBy(1, 0x11), paidBy(2, 0x22), paidBy(3, 0x33)
	if out := b.settlements(t, "list"); !strings.Contains(out, "\nnone") {
		t.Errorf("nothing was paid: %s", out)
	}
	b.note(t, stuck, x402.StageStuck, "no_upstream", "No upstream answers.", nil)
	b.note(t, payable, x402.StagePayable, "", "It can be redeemed.", foundPaid(90_000))
	b.grant(t, granted, 108_000, "DE")
	all := b.settlements(t, "list")
	for id, words := range map[x402.ID][]string{
		stuck: {"stuck", "no_upstream"}, payable: {
			"payable", "0.090000 USDC",
		}, granted: {"redeemed", "0.108000 USDC", "10,000"},
	} {
		t.Run(id.String(), func(t *testing.T) {
			at := strings.Index(all, id.Tx.String())
			row := all[strings.LastIndexByte(all[:max(at, 0)], '\n')+1 : max(at, 0)]
			for _, word := range append(words, id.Payer.String(), "8453") {
				if at < 0 || !strings.Contains(row, word) {
					t.Errorf("the row of %s lacks %q: %q", id.Tx, word, row)
				}
			}
		})
	}
	for _, args := range [][]string{{"list", "--stuck"}, {"list", "--stage", "stuck"}} {
		if out := b.settlements(t, args...); !strings.Contains(out, stuck.Tx.String()) ||
			strings.Contains(out, granted.Tx.String()) {
			t.Errorf("%v: %s", args, out)
		}
	}
	if out := b.settlements(t, "list", "--limit", "1"); strings.Count(out, "0xfe") != 1 ||
		!strings.Contains(out, "there may be more") {
		t.Errorf("one: %s", out)
	}
	var views []operator.SettlementView
	if err := json.Unmarshal([]byte(b.settlements(t, "list", "--stage", "redeemed", "--json")), &views); err != nil ||
		len(views) != 1 {
		t.Fatalf("%+v, %v", views, err)
	}
	v := views[0]
	expect.Equal(t, v.Tx, granted.Tx)
	require.NotNil(t, v.Granted)
	expect.Equal(t, v.Granted.Net+v.Granted.VAT, v.Paid)
	expect.Equal(t, v.WorkflowID, workflows.SettlementID(granted))
}

func TestSettlementsCommand_ShowTellsTheHistoryInWords(t *testing.T) {
	t.Parallel()
	b := openAccountsEnv(t)
	delete(b.env, "REDIS_URL")
	id, other := paidBy(1, 0x11), paidBy(1, 0x22)
	b.note(t, id, x402.StageStuck, "contradiction", "Upstreams tell different things.", nil)
	b.grant(t, id, 108_000, "")
	b.note(t, other, x402.StagePending, "", "The payment waits.", nil)
	out := b.settlements(t, "show", id.Tx.String())
	for _, part := range []string{
		"Upstreams tell different things.", "Redeemed for 10000 units",
		"0.090000 USDC net and 0.018000 USDC VAT, not located", "10,000 on balanced: 0 used, 10,000 not used",
		"The payment waits.", id.Payer.String(), other.Payer.String(), workflows.SettlementID(id), "waiting",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("it lacks %q: %s", part, out)
		}
	}
	if one := b.settlements(t, "show", id.Tx.String(), "--payer", other.Payer.String()); strings.Contains(one,
		id.Payer.String()) || !strings.Contains(one, "The payment waits.") {
		t.Errorf("of one payer: %s", one)
	}
}

func TestSettlementsCommand_RetrySignalsTheFlowOrStartsIt(t *testing.T) {
	t.Parallel()
	b := openAccountsEnv(t)
	server := testkit.Temporal(t)
	b.env["TEMPORAL_ADDRESS"], b.env["TEMPORAL_NAMESPACE"] = server.Address, server.Namespace
	id := paidBy(1, 0x11)
	b.note(t, id, x402.StageStuck, "no_upstream", "No upstream answers.", nil)
	for range 2 { // the first starts the flow, the second signals it
		if out := b.settlements(t, "retry", id.Tx.String()); !strings.HasPrefix(out,
			workflows.SettlementID(id)+" reads the chain now") {
			t.Errorf("it said %q", out)
		}
	}
	temporal := server.Dial(t)
	history := temporal.GetWorkflowHistory(b.ctx, workflows.SettlementID(id), "", false,
		enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	signals, starts := 0, 0
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			t.Fatal(err)
		}
		switch event.GetEventType() { //nolint:exhaustive // the others do not matter here
		case enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
			starts++
		case enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
			if event.GetWorkflowExecutionSignaledEventAttributes().GetSignalName() == workflows.SignalRetry {
				signals++
			}
		}
	}
	if starts != 1 || signals != 2 {
		t.Errorf("%d starts and %d signals, want 1 and 2", starts, signals)
	}
}

func TestSettlementsCommand_RefundNoteSaysWhatToSendAndIsRecordedOnce(t *testing.T) {
	t.Parallel()
	b := openAccountsEnv(t)
	delete(b.env, "REDIS_URL")
	id := paidBy(1, 0x11)
	b.grant(t, id, 108_000, "US")
	out := b.settlements(t, "refund-note", id.Tx.String(), "--reason", "The service was down.")
	for _, part := range []string{
		id.Payer.String(), "0.108000 USDC in " + id.Tx.String(), "0.108000 USDC of it",
		"The service was down.", "its credential works until",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("it lacks %q: %s", part, out)
		}
	}
	exit, _, errs := run(t, b.env, "ops", "settlements", "refund-note", id.Tx.String(), "--reason", "Again.")
	if exit != 1 || !strings.Contains(errs, "was already noted") {
		t.Errorf("a second time: exit code %d, %q", exit, errs)
	}
	b.settlements(t, "refund-note", id.Tx.String(), "--reason", "The rest.", "--again")
	lines, err := b.store.SettlementHistory(b.ctx, id)
	require.NoError(t, err)
	require.Len(t, lines, 3)
	expect.Equal(t, lines[1].Words, "Support noted a refund by hand: The service was down.")
	expect.Equal(t, lines[2].Words, "Support noted a refund by hand: The rest.")
	gone := paidBy(2, 0x11)
	b.grant(t, gone, 90_000, "US")
	if _, err := b.limits.ConcludeSettlement(b.ctx, gone, x402.FinalityGone, nil, "Gone.",
		accountdb.Author{Actor: "flow", Origin: "flow", Reason: "reorganised"}); err != nil {
		t.Fatal(err)
	}
	if out := b.settlements(t, "refund-note", gone.Tx.String(), "--reason", "Asked for."); !strings.Contains(out,
		"0.000000 USDC of it") || !strings.Contains(out, "nothing to send back") {
		t.Errorf("of a payment that is gone: %s", out)
	}
}

func TestSettlementsCommand_UnusedPartIsRoundedDown(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		paid        plan.Atomic
		units, used plan.Units
		want        plan.Atomic
	}{
		{100, 3 * plan.Unit, 1 * plan.Unit, 66},
		{100, 3 * plan.Unit, 0, 100},
		{100, 3 * plan.Unit, 3 * plan.Unit, 0},
		{100, 3 * plan.Unit, 4 * plan.Unit, 0},
		{9_000_000_000_000_000_000, plan.MaxUnitsPerSettlement, 1, 8_999_999_955_000_000_000},
	} {
		t.Run(fmt.Sprint(tc.paid), func(t *testing.T) {
			h := operator.SettlementHistory{
				SettlementView: operator.SettlementView{Paid: tc.paid, Granted: &operator.GrantView{Units: tc.units}},
				Used:           tc.used,
			}
			if got := h.Unused(); got != tc.want {
				t.Errorf("%d of %d units of %d: %d not used, want %d", tc.used, tc.units, tc.paid, got, tc.want)
			}
		})
	}
}

func TestSettlementsCommand_NamesWhatIsNotUnderstood(t *testing.T) {
	t.Parallel()
	b := openAccountsEnv(t)
	delete(b.env, "REDIS_URL")
	hash := paidBy(9, 1).Tx.String()
	b.note(t, paidBy(8, 1), x402.StageStuck, "no_upstream", "No upstream answers.", nil)
	b.note(t, paidBy(8, 2), x402.StageStuck, "no_upstream", "No upstream answers.", nil)
	for want, args := range map[string][]string{
		"choose from reading":      {"list", "--stage", "lost"},
		"give only one of them":    {"list", "--stage", "stuck", "--stuck"},
		"--limit takes 1 to 1000":  {"list", "--limit", "0"},
		"64 hexadecimal digits":    {"show", "0x12"},
		"--payer takes an address": {"show", hash, "--payer", "0x12"},
		"check the hash":           {"show", hash},
		"2 wallets paid":           {"refund-note", paidBy(8, 1).Tx.String(), "--reason", "x"},
		"--reason is missing":      {"refund-note", hash},
		"TEMPORAL_ADDRESS is not":  {"retry", hash},
	} {
		t.Run(want, func(t *testing.T) {
			exit, out, errs := run(t, b.env, append([]string{"ops", "settlements"}, args...)...)
			in := expect.In(t, "%v", args)
			expect.Equal(in, exit, 1)
			expect.Equal(in, out, "")
			expect.Equal(in, strings.Count(errs, "\n"), 1, errs)
			expect.Contains(in, errs, want)
		})
	}
}
