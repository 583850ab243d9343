package paymentdb_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/internal/storetest"
	"github.com/chainaccess/gateway/store/paymentdb"
)

// authorization returns an authorization of a payer with an attempt of its own.
func authorization(nonce byte) paymentdb.Authorization {
	return paymentdb.Authorization{
		AuthorizationID: paymentdb.AuthorizationID{
			Chain: 8453, Asset: wallet.Address{1}, Payer: wallet.Address{2}, Nonce: x402.Nonce{nonce},
		},
		Attempt: paymentdb.NewAttempt(), Value: 54_000, ValidBefore: time.Unix(2_000_000_000, 0).UTC(),
		FromBlock: 77,
	}
}

func reserved(ctx context.Context, t *testing.T, s *store.Store, nonce byte,
	hold time.Duration,
) paymentdb.Authorization {
	t.Helper()
	a, got, err := s.ReserveAuthorization(ctx, authorization(nonce), hold)
	if err != nil || !got {
		t.Fatalf("reserved: %t, %v", got, err)
	}
	return a
}

func TestAuthorization_IsReservedByOneOfManyAndSettledByNobodyElse(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	var got atomic.Int64
	var wg sync.WaitGroup
	var holder paymentdb.Authorization
	for range 20 {
		wg.Go(func() {
			a, ok, err := s.ReserveAuthorization(ctx, authorization(1), time.Minute)
			if err != nil {
				t.Error(err)
			}
			if ok {
				got.Add(1)
				holder = a
			} else if a.State != paymentdb.AuthorizationReserved {
				t.Errorf("who came too late is told %q", a.State)
			}
		})
	}
	wg.Wait()
	if got.Load() != 1 {
		t.Fatalf("%d reserved it", got.Load())
	}
	if begun := storetest.Must[bool](t)(s.BeginSettling(ctx, paymentdb.NewAttempt(), time.Minute)); begun {
		t.Error("somebody else may settle it")
	}
	if begun := storetest.Must[bool](t)(s.BeginSettling(ctx, holder.Attempt, time.Minute)); !begun {
		t.Error("its holder may not settle it")
	}
	if begun := storetest.Must[bool](t)(s.BeginSettling(ctx, holder.Attempt, time.Minute)); begun {
		t.Error("its holder may settle it twice")
	}
}

func TestAuthorization_ReleasedMayBePresentedAgainAndOneBeingSettledNot(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	a := reserved(ctx, t, s, 1, time.Minute)
	if err := s.ReleaseAuthorization(ctx, a.Attempt, false); err != nil {
		t.Fatal(err)
	}
	a = reserved(ctx, t, s, 1, time.Minute)
	storetest.Must[bool](t)(s.BeginSettling(ctx, a.Attempt, time.Minute))
	if err := s.ReleaseAuthorization(ctx, a.Attempt, false); err != nil {
		t.Fatal(err)
	}
	before, got, err := s.ReserveAuthorization(ctx, authorization(1), time.Minute)
	in := expect.In(t, "one being settled is given away")
	require.NoError(in, err)
	expect.False(in, got)
	expect.Equal(in, before.State, paymentdb.AuthorizationSettling)
	if err := s.ReleaseAuthorization(ctx, a.Attempt, true); err != nil { // it was not sent
		t.Fatal(err)
	}
	reserved(ctx, t, s, 1, time.Minute)
}

func TestAuthorization_OfADeadProcessIsReleasedAndItsHolderSettlesNoMore(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	dead, alive := reserved(ctx, t, s, 1, 0), reserved(ctx, t, s, 2, time.Minute)
	if claimed := storetest.Must[[]paymentdb.Authorization](t)(s.ClaimAuthorizations(ctx, 0, 10)); len(claimed) != 0 {
		t.Errorf("reservations are looked for on the chain: %+v", claimed)
	}
	if begun := storetest.Must[bool](t)(s.BeginSettling(ctx, dead.Attempt, time.Minute)); begun {
		t.Error("a released reservation is settled")
	}
	if begun := storetest.Must[bool](t)(s.BeginSettling(ctx, alive.Attempt, time.Minute)); !begun {
		t.Error("a reservation is released before its time")
	}
}

func TestAuthorization_OpenIsLookedForUntilItIsConcludedOnce(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	tx := x402.TxHash{5}
	a := reserved(ctx, t, s, 1, time.Minute)
	storetest.Must[bool](t)(s.BeginSettling(ctx, a.Attempt, 0)) // as after a kill
	claimed := storetest.Must[[]paymentdb.Authorization](t)(s.ClaimAuthorizations(ctx, time.Hour, 10))
	require.Len(t, claimed, 1)
	require.Equal(t, claimed[0].AuthorizationID, a.AuthorizationID)
	require.Equal(t, claimed[0].FromBlock, 77)
	require.Equal(t, claimed[0].Value, 54_000)
	if again := storetest.Must[[]paymentdb.Authorization](t)(s.ClaimAuthorizations(ctx, time.Hour,
		10)); len(again) != 0 {
		t.Error("two look for it at once")
	}
	if err := s.EndSettling(ctx, a.Attempt, paymentdb.AuthorizationUnknown, "timeout", x402.TxHash{}, 0); err != nil {
		t.Fatal(err)
	}
	if again := storetest.Must[[]paymentdb.Authorization](t)(s.ClaimAuthorizations(ctx, 0, 10)); len(again) != 1 ||
		again[0].State != paymentdb.AuthorizationUnknown {
		t.Errorf("one whose outcome is unknown is not looked for at once: %+v", again)
	}
	if ok := storetest.Must[bool](t)(s.ConcludeAuthorization(ctx, a.Attempt, paymentdb.AuthorizationSettled, "",
		tx)); !ok {
		t.Error("it cannot be concluded")
	}
	if ok := storetest.Must[bool](t)(s.ConcludeAuthorization(ctx, a.Attempt, paymentdb.AuthorizationFailed, "void",
		x402.TxHash{})); ok {
		t.Error("it is concluded twice")
	}
	if err := s.EndSettling(ctx, a.Attempt, paymentdb.AuthorizationFailed, "late", x402.TxHash{}, 0); err != nil {
		t.Fatal(err)
	}
	got := storetest.Must[paymentdb.Authorization](t)(s.FindAuthorization(ctx, a.AuthorizationID))
	expect.Equal(t, got.State, paymentdb.AuthorizationSettled)
	expect.Equal(t, got.Tx, tx)
	expect.True(t, got.Closed)
	if left := storetest.Must[[]paymentdb.Authorization](t)(s.ClaimAuthorizations(ctx, 0, 10)); len(left) != 0 {
		t.Errorf("a concluded one is looked for: %+v", left)
	}
}

func TestAuthorization_RefusedStaysRefusedAndIsStillLookedFor(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	a := reserved(ctx, t, s, 1, time.Minute)
	storetest.Must[bool](t)(s.BeginSettling(ctx, a.Attempt, time.Minute))
	if err := s.EndSettling(ctx, a.Attempt, paymentdb.AuthorizationFailed, "insufficient_funds", x402.TxHash{},
		0); err != nil {
		t.Fatal(err)
	}
	before, got, err := s.ReserveAuthorization(ctx, authorization(1), time.Minute)
	require.NoError(t, err)
	expect.False(t, got)
	expect.Equal(t, before.Reason, "insufficient_funds")
	if open := storetest.Must[[]paymentdb.Authorization](t)(s.ClaimAuthorizations(ctx, 0, 10)); len(open) != 1 {
		t.Error("a facilitator's word is believed for ever")
	}
	if _, err := s.FindAuthorization(ctx, authorization(9).AuthorizationID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("one that is not there: %v", err)
	}
}

func TestAuthorization_SettledIsLeftToItsRequestForAWhile(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	held, due := reserved(ctx, t, s, 1, time.Minute), reserved(ctx, t, s, 2, time.Minute)
	for a, hold := range map[paymentdb.Attempt]time.Duration{held.Attempt: time.Minute, due.Attempt: 0} {
		storetest.Must[bool](t)(s.BeginSettling(ctx, a, time.Minute))
		if err := s.EndSettling(ctx, a, paymentdb.AuthorizationSettled, "", x402.TxHash{5}, hold); err != nil {
			t.Fatal(err)
		}
	}
	if claimed := storetest.Must[[]paymentdb.Authorization](t)(s.ClaimAuthorizations(ctx, 0, 10)); len(claimed) != 1 ||
		claimed[0].Nonce != due.Nonce {
		t.Errorf("claimed are %+v", claimed)
	}
}

func TestAuthorization_TheOlderTheRarerItIsLookedFor(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*storetest.Timeout)
	t.Cleanup(cancel)
	url := testkit.Postgres(t)
	s := storetest.Must[*store.Store](t)(store.Open(ctx, url))
	t.Cleanup(s.Close)
	conn := storetest.Must[*pgx.Conn](t)(pgx.Connect(ctx, url))
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	for nonce, c := range map[byte]struct{ age, least, most time.Duration }{
		1: {0, 14 * time.Second, 17 * time.Second}, 2: {9 * time.Minute, 149 * time.Second, 152 * time.Second},
		3: {24 * time.Hour, 3599 * time.Second, time.Hour},
	} {
		t.Run(fmt.Sprint(nonce), func(t *testing.T) {
			a := reserved(ctx, t, s, nonce, time.Minute)
			storetest.Must[bool](t)(s.BeginSettling(ctx, a.Attempt, 0))
			storetest.Must[pgconn.CommandTag](t)(
				conn.Exec(ctx,
					"UPDATE payment_authorizations SET reserved_at = now() - make_interval(secs => $1) "+
						"WHERE attempt = $2",
					c.age.Seconds(), a.Attempt.UUID))
			storetest.Must[[]paymentdb.Authorization](t)(s.ClaimAuthorizations(ctx, 15*time.Second, 10))
			var left float64
			if err := conn.QueryRow(ctx,
				"SELECT extract(EPOCH FROM look_at - now())::float8 FROM payment_authorizations WHERE attempt = $1",
				a.Attempt.UUID).Scan(&left); err != nil {
				t.Fatal(err)
			}
			if pause := time.Duration(left * float64(time.Second)); pause < c.least-10*time.Second || pause > c.most {
				t.Errorf("at an age of %s it is left alone for %s, want %s", c.age, pause, c.most)
			}
		})
	}
}

func TestAuthorization_NetworkIsForgottenWhenNothingMoreCanComeOfIt(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	a := authorization(1)
	a.Network = "192.0.2.7/32"
	if _, got, err := s.ReserveAuthorization(ctx, a, time.Minute); err != nil || !got {
		t.Fatal(err)
	}
	counts := func(want int) {
		t.Helper()
		payer, network, err := s.CountOpenAuthorizations(ctx, a.Payer, a.Network, 10)
		require.NoError(t, err)
		expect.Equal(t, payer, want)
		expect.Equal(t, network, want)
	}
	counts(0) // reservations do not count: anybody can make them in a payer's name
	storetest.Must[bool](t)(s.BeginSettling(ctx, a.Attempt, time.Minute))
	counts(1)
	storetest.Must[bool](t)(s.ConcludeAuthorization(ctx, a.Attempt, paymentdb.AuthorizationFailed, "void",
		x402.TxHash{}))
	counts(0)
	if got := storetest.Must[paymentdb.Authorization](t)(s.FindAuthorization(ctx,
		a.AuthorizationID)); got.Network != "" ||
		!got.Closed {
		t.Errorf("it is %+v", got)
	}
}
