package limits_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/audit"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/paymentdb"
)

// credential is a minted credential, with what PostgreSQL has of it.
type credential struct {
	paymentdb.Credential
	text string
}

func (b *bundle) mint(t *testing.T) credential {
	t.Helper()
	c, err := account.MintCredential(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return credential{
		paymentdb.Credential{Key: account.NewKeyID(), Digest: c.Digest(b.hasher), Prefix: c.Prefix()}, c.Reveal(),
	}
}

// settlement returns a payment for that many units on the cheap tier from outside the EU.
func settlement(units plan.Units) paymentdb.Grant {
	paid := (plan.Atomic(units/plan.Unit)*4_500 + 999) / 1_000
	return paymentdb.Grant{
		ID:    x402.ID{Chain: 8453, Tx: x402.TxHash{1}, Payer: someWallet(1)},
		Deal:  x402.Deal{Tier: plan.Cheap, Country: "US", Paid: paid, Net: paid, Units: units},
		Found: x402.Finding{Paid: paid, Block: 7, BlockHash: x402.TxHash{1}, Time: 1_700_000_000},
	}
}

//nolint:gocritic // a copy does no harm
func (b *bundle) settle(t *testing.T, g paymentdb.Grant) (paymentdb.Settlement, credential) {
	t.Helper()
	c := b.mint(t)
	g.Credential = c.Credential
	s, err := b.limits.GrantSettlement(b.ctx, g)
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func (b *bundle) holderOf(t *testing.T, c credential) *meter.Subject {
	t.Helper()
	s, refused := b.limits.IdentifyCredential(b.ctx, c.text, network)
	if refused != nil {
		t.Fatal(refused)
	}
	return s
}

// admits checks how the meter answers a call of a credential: admitted when refused is empty.
func (b *bundle) admits(t *testing.T, s *meter.Subject, mode meter.Mode, units plan.Units, refused fault.Reason) {
	t.Helper()
	call := charge(units)
	call.Mode = mode
	want := ""
	if refused != 0 {
		want = refused.String()
	}
	if a := b.admit(t, s, call); a.Refused != want || a.Admitted != (want == "") {
		t.Errorf("a call of %s units is refused with %q, want %q", units, a.Refused, want)
	}
}

func (b *bundle) balances(t *testing.T) {
	t.Helper()
	b.flushAll(t)
	summary, err := audit.Run(b.ctx, b.store, b.limits, audit.Options{}, func(d audit.Difference) { t.Error(d) })
	if err != nil || summary.Accounts == 0 {
		t.Errorf("audited %+v, %v", summary, err)
	}
}

func TestSettlement_ConcurrentRequestsGrantItOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	processes := []*bundle{b, b.another(t)}
	const callers = 20
	minted, granted := make([]credential, callers), make([]paymentdb.Settlement, callers)
	var wait sync.WaitGroup
	for i := range callers {
		minted[i] = b.mint(t)
		wait.Go(func() {
			g := settlement(3 * plan.Unit)
			g.Credential = minted[i].Credential
			var err error
			if granted[i], err = processes[i%2].limits.GrantSettlement(b.ctx, g); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	working := 0
	for i, c := range minted {
		if granted[i].Key != granted[0].Key || granted[i].Account != granted[0].Account {
			t.Fatalf("granted %+v and %+v", granted[i], granted[0])
		}
		if _, refused := b.limits.IdentifyCredential(b.ctx, c.text, network); refused == nil {
			working++
		}
	}
	if working != 1 {
		t.Errorf("%d credentials work", working)
	}
	packs, err := b.store.ListPacks(b.ctx, granted[0].Account)
	require.NoError(t, err)
	require.Len(t, packs, 1)
	expect.Equal(t, packs[0].Units, 3*plan.Unit)
	expect.Equal(t, packs[0].Expires.Sub(packs[0].GrantedAt), plan.SettlementWindow)
	b.balances(t)
}

func TestCredential_IsSpentToTheUnitAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	granted, c := b.settle(t, settlement(5*plan.Unit))
	s := b.holderOf(t, c)
	expect.Equal(t, s.Door, account.DoorCredential)
	expect.Equal(t, s.Tier, plan.Cheap)
	expect.Equal(t, s.Supply, plan.Public)
	b.admits(t, s, meter.Charge, 2*plan.Unit, 0)
	b.admits(t, s, meter.Charge, 2*plan.Unit, 0)
	b.admits(t, s, meter.Charge, 2*plan.Unit, fault.PlanQuota)
	b.admits(t, s, meter.Hit, 0, 0)
	b.admits(t, s, meter.Charge, plan.Unit, 0)
	b.admits(t, s, meter.Charge, 1, fault.PlanQuota)
	b.admits(t, s, meter.Hit, 0, 0)
	b.balances(t)
	used, err := b.store.SettlementUsage(b.ctx, &granted)
	if err != nil || used != 5*plan.Unit {
		t.Errorf("used %s, %v", used, err)
	}
	// PostgreSQL knows that nothing is left; a meter that lost everything refuses too.
	if err := b.rdb.FlushAll(b.ctx).Err(); err != nil {
		t.Fatal(err)
	}
	b.admits(t, s, meter.Charge, 1, fault.PlanQuota)
	b.admits(t, s, meter.Hit, 0, 0)
}

func TestCredential_ExpiredIsRefusedForCachedAnswersToo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now, err := b.meter.Now(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	c := b.mint(t)
	g := settlement(5 * plan.Unit)
	g.Credential, g.At = c.Credential, now.Add(-plan.SettlementWindow)
	if _, err := b.store.GrantSettlement(b.ctx, g); err != nil {
		t.Fatal(err)
	}
	s := b.holderOf(t, c)
	b.admits(t, s, meter.Charge, plan.Unit, fault.PaymentRequired)
	b.admits(t, s, meter.Hit, 0, fault.PaymentRequired)
	_, err = b.limits.RotateCredential(b.ctx, paymentdb.Rotation{
		ID: g.ID, Credential: b.mint(t).Credential, By: accountdb.Author{Actor: "payer", Origin: "test"},
	})
	refusedWith(t, "another credential after the window", err, fault.SettlementOver)
	b.balances(t)
}

func TestCredential_RotatedTakesTheRestAndEndsItsPredecessorEverywhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.another(t)
	g := settlement(5 * plan.Unit)
	granted, first := b.settle(t, g)
	before := other.holderOf(t, first)
	other.admits(t, before, meter.Charge, 2*plan.Unit, 0)
	second := b.mint(t)
	by := accountdb.Author{Actor: "payer", Origin: "test"}
	for range 2 { // a retry after a lost answer
		rotated, err := b.limits.RotateCredential(b.ctx, paymentdb.Rotation{
			ID: g.ID, Credential: second.Credential, By: by,
		})
		require.NoError(t, err)
		require.Equal(t, rotated.Key, second.Key)
		require.Equal(t, rotated.Account, granted.Account)
		require.True(t, rotated.WindowEnds.Equal(granted.WindowEnds), rotated.WindowEnds, granted.WindowEnds)
	}
	other.admits(t, before, meter.Charge, plan.Unit, fault.KeyInvalid)
	other.admits(t, before, meter.Hit, 0, fault.KeyInvalid)
	after := other.holderOf(t, second)
	other.admits(t, after, meter.Charge, 4*plan.Unit, fault.PlanQuota)
	other.admits(t, after, meter.Charge, 3*plan.Unit, 0)
	_, again := b.settle(t, g) // granting again returns no working credential
	if _, refused := b.limits.IdentifyCredential(b.ctx, again.text, network); refused == nil ||
		refused.Reason != fault.PaymentRequired {
		t.Errorf("a second grant's credential: %v", refused)
	}
	b.balances(t)
}

func TestRotateCredential_KeepsWhatWasGivenSinceTheRequestCameIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	g := settlement(5 * plan.Unit)
	asked := time.Now().Add(-time.Second)
	granted, first := b.settle(t, g)
	r := paymentdb.Rotation{
		ID: g.ID, Credential: b.mint(t).Credential, Since: asked, By: accountdb.Author{Actor: "payer", Origin: "test"},
	}
	for range 2 {
		kept, err := b.limits.RotateCredential(b.ctx, r)
		in := expect.In(t, "asked before it was given")
		require.NoError(in, err)
		expect.Equal(in, kept.Key, granted.Key)
		expect.Equal(in, kept.Rotations, 0)
	}
	b.admits(t, b.holderOf(t, first), meter.Charge, plan.Unit, 0)
	left := 4 * plan.Unit
	r.Since, r.Left = time.Now().Add(time.Minute), &left
	rotated, err := b.limits.RotateCredential(b.ctx, r)
	in := expect.In(t, "asked later")
	require.NoError(in, err)
	expect.Equal(in, rotated.Key, r.Key)
	expect.Equal(in, rotated.GivenLeft, left)
	expect.Equal(in, granted.GivenLeft, 5*plan.Unit)
	// A late retry: its key replaced nobody's, and does not now.
	late := paymentdb.Rotation{ID: g.ID, Credential: first.Credential, Since: asked, By: r.By}
	if kept, err := b.limits.RotateCredential(b.ctx, late); err != nil || kept.Key != r.Key {
		t.Errorf("a repetition that comes late: %+v, %v", kept, err)
	}
	b.balances(t)
}

func TestSettlement_ReorganizedEndsItsCredentialForGood(t *testing.T) {
	t.Parallel()
	b := setup(t)
	by := accountdb.Author{Actor: "chain", Origin: "test"}
	g := settlement(5 * plan.Unit)
	_, c := b.settle(t, g)
	s := b.holderOf(t, c)
	b.admits(t, s, meter.Charge, 5*plan.Unit, 0)
	for _, f := range []x402.Finality{x402.FinalityGone, x402.FinalityFinal, x402.FinalityGone} {
		gone, err := b.limits.ConcludeSettlement(b.ctx, g.ID, f, nil,
			"The transaction is no longer part of the chain.", by)
		require.NoError(t, err)
		require.Equal(t, gone.Stage, x402.StageReorganised)
		require.Equal(t, gone.Finality, x402.FinalityGone)
	}
	b.admits(t, s, meter.Hit, 0, fault.KeyInvalid)
	_, err := b.limits.RotateCredential(b.ctx, paymentdb.Rotation{ID: g.ID, Credential: b.mint(t).Credential, By: by})
	refusedWith(t, "another credential of what left the chain", err, fault.SettlementRedeemed)
	history, err := b.store.SettlementHistory(b.ctx, g.ID)
	require.NoError(t, err)
	require.Len(t, history, 2)
	expect.Equal(t, history[1].Stage, x402.StageReorganised)
	b.balances(t)
}

func TestSettlement_FinalOneIsOverWithItsWindow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	by := accountdb.Author{Actor: "chain", Origin: "test"}
	g := settlement(5 * plan.Unit)
	g.Credential, g.At = b.mint(t).Credential, time.Now().Add(-time.Minute)
	if _, err := b.store.GrantSettlement(b.ctx, g); err != nil {
		t.Fatal(err)
	}
	moved := g.Found
	moved.Block, moved.BlockHash = 8, x402.TxHash{2}
	s, err := b.store.ConcludeSettlement(b.ctx, g.ID, x402.FinalityFinal, &moved, "Final.", time.Now(), by)
	in := expect.In(t, "within the window")
	require.NoError(in, err)
	expect.Equal(in, s.Stage, x402.StageRedeemed)
	expect.Equal(in, s.Finality, x402.FinalityFinal)
	expect.Equal(in, s.Found.Block, 8)
	expect.Equal(in, s.Found.BlockHash, moved.BlockHash)
	s, err = b.store.ConcludeSettlement(b.ctx, g.ID, x402.FinalityFinal, nil, "Over.", s.WindowEnds, by)
	in = expect.In(t, "at the window's end")
	require.NoError(in, err)
	expect.Equal(in, s.Stage, x402.StageOver)
	expect.Equal(in, s.Found.Block, 8)
	noted, err := b.store.NoteSettlement(b.ctx, g.ID, x402.StageRefused, "gone", "Nothing pays.", nil)
	if err != nil || noted.Stage != x402.StageOver {
		t.Errorf("a redeemed one is noted as %+v, %v", noted, err)
	}
}

func TestSettlement_AccountTakesNoPlanAndNoPack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	by := accountdb.Author{Actor: "operator", Origin: "test"}
	s, _ := b.settle(t, settlement(5*plan.Unit))
	_, err := b.limits.SetPlan(b.ctx, s.Account, plan.Must(plan.Pro), by)
	refusedWith(t, "a plan", err, fault.FieldRefused)
	_, err = b.limits.SetEnterprise(b.ctx, s.Account, account.Custom{
		Quota: account.Unlimited, Rate: account.RateWindow{Limit: 1, Per: time.Second},
	}, by)
	refusedWith(t, "a contract", err, fault.FieldRefused)
	_, _, err = b.limits.GrantPack(b.ctx, accountdb.Pack{
		Pack:    account.Pack{ID: account.NewPackID(), Units: plan.Unit, Expires: time.Now().Add(time.Hour)},
		Account: s.Account, Kind: "s", Origin: "x", GrantedAt: time.Now(),
	}, by)
	refusedWith(t, "a pack", err, fault.FieldRefused)
}

func TestAudit_ComparesGrantsWithPayments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, _ := b.settle(t, settlement(5*plan.Unit))
	for _, row := range []struct{ spoil, what string }{
		{`UPDATE packs SET units = units + 1000`, "granted"},
		{`UPDATE packs SET units = units + 1000; UPDATE settlements SET units = units + 1000`, "settled"},
	} {
		if _, err := b.db.Exec(b.ctx, row.spoil); err != nil {
			t.Fatal(err)
		}
		var told []audit.Difference
		_, err := audit.Run(b.ctx, b.store, b.limits, audit.Options{Account: s.Account}, func(d audit.Difference) {
			told = append(told, d)
		})
		in := expect.In(t, "after %s the audit", row.spoil)
		require.NoError(in, err)
		require.NotEmpty(in, told)
		expect.Equal(in, told[0].Identity, audit.Settled)
		expect.Equal(in, told[0].Left.Name, row.what)
		if _, err := b.db.Exec(b.ctx,
			`UPDATE packs SET units = 5000; UPDATE settlements SET units = 5000`); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSettlement_RefundedIsNotGrantedAndOneOfTwoSupportersIsToldSo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	g := settlement(5 * plan.Unit)
	if _, err := b.store.NoteSettlement(b.ctx, g.ID, x402.StagePayable, "", "Good.", &g.Found); err != nil {
		t.Fatal(err)
	}
	var refused atomic.Int64
	var both sync.WaitGroup
	for range 8 {
		both.Go(func() {
			switch before, err := b.store.NoteRefund(b.ctx, g.ID, "Support noted a refund by hand: asked for.",
				false); {
			case err == nil:
			case errors.Is(err, paymentdb.ErrRefundNoted) && !before.RefundedAt.IsZero():
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	both.Wait()
	if n := refused.Load(); n != 7 {
		t.Errorf("%d of 8 were told that it was noted before", n)
	}
	g.Credential = b.mint(t).Credential
	_, err := b.limits.GrantSettlement(b.ctx, g)
	refusedWith(t, "what is sent back", err, fault.SettlementRedeemed)
}

func TestSettlement_RepeatedRedeemsHideNothingOfTheHistory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	by := accountdb.Author{Actor: "payer", Origin: "test"}
	g := settlement(5 * plan.Unit)
	b.settle(t, g)
	for range 3 {
		if _, err := b.limits.RotateCredential(b.ctx, paymentdb.Rotation{
			ID: g.ID, Credential: b.mint(t).Credential, By: by,
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 600 {
		if err := b.store.TellSettlement(b.ctx, g.ID, fmt.Sprintf("Line %d.", i)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.store.FindSettlement(b.ctx, g.ID)
	if err != nil || s.Rotations != 3 {
		t.Errorf("redeemed %d times again, %v", s.Rotations, err)
	}
	history, err := b.store.SettlementHistory(b.ctx, g.ID)
	require.NoError(t, err)
	require.Len(t, history, 500)
	expect.Equal(t, history[0].Words, "Line 100.")
	expect.Equal(t, history[499].Words, "Line 599.")
}
