package ratelimit

import (
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/testkit"
)

// account is what a provider's refusals make of the rate of an upstream, over a Redis with a clock
// of its own.
type account struct {
	t        *testing.T
	server   *testkit.RedisServer
	exchange Exchange
	declared float64
	passed   time.Duration
}

func newAccount(t *testing.T, declared float64) *account {
	t.Helper()
	server := testkit.Redis(t, testkit.WithClock())
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1})
	t.Cleanup(func() { _ = rdb.Close() })
	return &account{t: t, server: server, exchange: Redis(rdb), declared: declared}
}

// after makes an offer as a process, some time after the last one.
func (a *account) after(pause time.Duration, process string, o Offer) Grant {
	a.t.Helper()
	a.passed += pause
	a.server.SetClock(a.t, a.passed)
	o.Key, o.Holder, o.Rate = key, process, a.declared
	grants, err := a.exchange(a.t.Context(), []Offer{o})
	if err != nil {
		a.t.Fatal(err)
	}
	return grants[0]
}

const none = -1 // no refusal

func (a *account) wantRate(got Grant, want float64) {
	a.t.Helper()
	if math.Abs(got.Rate-want) > 0.02*want {
		a.t.Errorf("the rate in force is %v, want about %v", got.Rate, want)
	}
}

func TestRate_RefusalsLowerItForAllProcesses(t *testing.T) {
	t.Parallel()
	a := newAccount(t, 100)
	busy := Offer{Demand: 200, Refused: none}
	a.wantRate(a.after(0, "a", busy), 100)
	a.wantRate(a.after(0, "b", busy), 100)
	a.wantRate(a.after(0, "a", Offer{Demand: 200, Refused: 0}), 70)
	a.wantRate(a.after(0, "b", Offer{Demand: 200, Refused: 0}), 70) // refused at the same time
	a.wantRate(a.after(1100*time.Millisecond, "b", Offer{Demand: 200, Refused: 0}), 49)
	a.wantRate(a.after(0, "a", busy), 49)
	for range 20 {
		a.after(1100*time.Millisecond, "a", Offer{Demand: 200, Refused: 0})
	}
	a.wantRate(a.after(0, "b", busy), 5) // the floor
}

func TestRate_AnswersRaiseItUpToTheDeclaredOne(t *testing.T) {
	t.Parallel()
	a := newAccount(t, 100)
	a.wantRate(a.after(0, "a", Offer{Demand: 200, Refused: 0}), 70)
	a.wantRate(a.after(4*time.Second, "a", Offer{Demand: 200, Refused: none, Answered: true}), 70)
	a.wantRate(a.after(2*time.Second, "b", Offer{Demand: 200, Refused: none, Answered: true}), 71)
	a.wantRate(a.after(20*time.Second, "a", Offer{Demand: 200, Refused: none}), 71) // no answer
	for range 80 {
		a.after(time.Second, "a", Offer{Demand: 200, Refused: none, Answered: true})
	}
	a.wantRate(a.after(0, "b", Offer{Refused: none}), 100)
}

func TestRate_IsLearnedFromRefusalsWithoutADeclaredOne(t *testing.T) {
	t.Parallel()
	a := newAccount(t, 0)
	if got := a.after(0, "a", Offer{Demand: 60, Refused: none}); got.Rate != 0 {
		t.Errorf("before a refusal the rate is %v", got.Rate)
	}
	a.wantRate(a.after(0, "b", Offer{Demand: 40, Refused: 0}), 70)
	if got := a.after(100*time.Millisecond, "a", Offer{Demand: 60, Refused: none}); got.Tokens < 3 {
		t.Errorf("%d tokens, want a share of the learned rate", got.Tokens)
	}
	if got := a.after(11*time.Minute, "a", Offer{Demand: 60, Refused: none}); got.Rate != 0 {
		t.Errorf("ten minutes after the last refusal the rate is %v", got.Rate)
	}
}

func TestRate_NobodyCallsUntilTheProviderAllowsIt(t *testing.T) {
	t.Parallel()
	a := newAccount(t, 100)
	busy := Offer{Demand: 200, Refused: none, Hungry: true}
	a.after(0, "a", busy)
	held := a.after(time.Second, "b", busy).Tokens
	if held < 1 {
		t.Fatalf("%d tokens before the refusal", held)
	}
	a.after(0, "a", Offer{Demand: 200, Refused: 30_000})
	if got := a.after(0, "b", Offer{Demand: 200, Refused: none, Held: held, Hungry: true}); got.Tokens != -held {
		t.Errorf("a process that held %d tokens gives back %d", held, -got.Tokens)
	}
	if got := a.after(29*time.Second, "b", busy); got.Tokens > 0 {
		t.Errorf("%d tokens a second too early", got.Tokens)
	}
	if got := a.after(2*time.Second, "b", busy); got.Tokens < 1 {
		t.Error("no tokens when the time was over")
	}
}

func TestRate_OneCallNowAndThenTriesAPlanThatIsUsedUp(t *testing.T) {
	t.Parallel()
	for _, declared := range []float64{0, 100} {
		a := newAccount(t, declared)
		hungry := Offer{Demand: 50, Refused: none, Hungry: true}
		a.after(0, "a", hungry)
		a.after(time.Second, "a", Offer{Demand: 50, Refused: usedUp})
		tries := int64(0)
		for range 121 {
			for _, process := range []string{"a", "b"} {
				got := a.after(500*time.Millisecond, process, hungry)
				if !got.UsedUp {
					t.Fatal("the plan is no longer used up, although nothing was answered")
				}
				tries += got.Tokens
			}
		}
		if tries != 2 {
			t.Errorf("with %v declared, %d calls in two minutes, want 2", declared, tries)
		}
		a.after(0, "a", Offer{Demand: 50, Refused: none, Answered: true})
		if got := a.after(time.Second, "b", hungry); got.UsedUp || declared > 0 && got.Tokens < 1 {
			t.Errorf("with %v declared, after an answer: %+v", declared, got)
		}
	}
}
