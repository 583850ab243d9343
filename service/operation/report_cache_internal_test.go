package operation

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/accountdb"
)

func TestUsageCache_AnswerIsMadeOnceInTenSeconds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC)
	reports := NewReportCache(func() time.Time { return now })
	c := &Call{Account: accountdb.Account{ID: account.NewID()}, Key: accountdb.Key{ID: account.NewKeyID()}}
	type input struct{ hours int }
	reads := 0
	ask := func(of ReportKey) int {
		n, err := Cached(t.Context(), reports, of, func(context.Context) (int, error) { reads++; return reads, nil })
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	first := c.ReportKey("report", input{hours: 7})
	if a, b := ask(first), ask(first); a != 1 || b != 1 {
		t.Errorf("asked twice it is read as %d and %d", a, b)
	}
	agent, stranger := *c, *c
	agent.Key.Agent, stranger.Account.ID = account.NewAgentID(), account.NewID()
	for n, other := range []ReportKey{
		agent.ReportKey("report", input{hours: 7}), stranger.ReportKey("report", input{hours: 7}),
		c.ReportKey("report", input{hours: 8}), c.ReportKey("volume", input{hours: 7}),
		first.OfKey(c.Key.ID), first.OfKey(account.NewKeyID()),
	} {
		t.Run(other.Name, func(t *testing.T) {
			if got := ask(other); got != n+2 {
				t.Errorf("%+v shares the answer of another", other)
			}
		})
	}
	now = now.Add(ReportTTL - 1)
	if got := ask(first); got != 1 {
		t.Errorf("just before ten seconds it is read again: %d", got)
	}
	now = now.Add(1)
	if got := ask(first); got != 8 {
		t.Errorf("after ten seconds it is still %d", got)
	}
	for range 2 * maxReports {
		ask(first.OfKey(account.NewKeyID()))
	}
	if n := reports.reports.Len(); n != maxReports {
		t.Errorf("%d answers are kept", n)
	}
}

// A cached report must never reach a caller who may see less.
func TestUsageCache_AnotherScopeIsAnotherEntry(t *testing.T) {
	t.Parallel()
	of, agent := account.NewID(), account.NewAgentID()
	ask := func(kind accountdb.AccountKind, door account.Door, agent account.AgentID) ReportKey {
		c := &Call{Account: accountdb.Account{ID: of, Kind: kind}, Key: accountdb.Key{
			ID: account.NewKeyID(), Door: door, Agent: agent,
		}}
		return c.ReportKey("report", nil)
	}
	user := &Call{Account: accountdb.Account{ID: of, Kind: accountdb.KindOwner}}
	all := user.ReportKey("report", nil)
	for what, c := range map[string]struct {
		kind  accountdb.AccountKind
		door  account.Door
		agent account.AgentID
		all   bool // sees the usage of the whole account
		again bool // another key of the kind has the same cache key
	}{
		"a key of the account":          {accountdb.KindOwner, account.DoorAccount, account.AgentID{}, true, true},
		"an adopted key":                {accountdb.KindOwner, account.DoorAdopted, account.AgentID{}, false, false},
		"an agent's key":                {accountdb.KindOwner, account.DoorAccount, agent, false, true},
		"a door key that nobody owns":   {accountdb.KindDoor, account.DoorPublic, account.AgentID{}, true, true},
		"the key of a wallet's own":     {accountdb.KindWallet, account.DoorWallet, account.AgentID{}, true, true},
		"a door key in a wrong account": {accountdb.KindOwner, account.DoorPublic, account.AgentID{}, false, false},
	} {
		t.Run(what, func(t *testing.T) {
			first, second := ask(c.kind, c.door, c.agent), ask(c.kind, c.door, c.agent)
			if first == all != c.all || first == second != c.again {
				t.Errorf("%s asks %+v, then %+v; the account %+v", what, first, second, all)
			}
		})
	}
}

func TestUsageCache_ConcurrentReadersShareOneRead(t *testing.T) {
	t.Parallel()
	reports := NewReportCache(time.Now)
	const askers = 8
	failure := errors.New("away")
	reads, begun := 0, make(chan struct{})
	read := func(context.Context) (int, error) {
		reads++ // the race detector reports a second concurrent read
		close(begun)
		for reports.flights.Followed() < askers-1 {
			time.Sleep(time.Millisecond)
		}
		return 0, failure
	}
	var all sync.WaitGroup
	ask := func() {
		if _, err := Cached(t.Context(), reports, ReportKey{Name: "x"}, read); !errors.Is(err, failure) {
			t.Errorf("it fails with %v", err)
		}
	}
	all.Go(ask)
	<-begun
	for range askers - 1 {
		all.Go(ask)
	}
	all.Wait()
	if reads != 1 {
		t.Errorf("%d reads", reads)
	}
	if n, err := Cached(t.Context(), reports, ReportKey{Name: "x"}, func(context.Context) (int, error) {
		return 3, nil
	}); n != 3 || err != nil {
		t.Errorf("a failure is kept: %d, %v", n, err)
	}
}
