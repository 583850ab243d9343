package heads

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// board is an exchange as told.lua makes it, with the latency of a network.
type board struct {
	mu      sync.Mutex
	list    []stored
	latency func() time.Duration
	fails   func() bool // nil for never
}

type stored struct {
	head uint64
	at   time.Time
}

var errDown = errors.New("the board is down")

func (b *board) exchange(_ context.Context, offer *Offer) (s Shared, err error) {
	time.Sleep(b.latency())
	defer func() { time.Sleep(b.latency()) }()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fails != nil && b.fails() {
		return s, errDown
	}
	now := time.Now()
	if head := offer.wanted[Latest]; head > 0 && (len(b.list) == 0 || head > b.list[len(b.list)-1].head) {
		b.list = append(b.list, stored{head, now})
	}
	for len(b.list) > 1 && now.Sub(b.list[1].at) >= shareTime {
		b.list = b.list[1:]
	}
	for _, e := range b.list {
		s.heads[Latest] = append(s.heads[Latest], entry{e.head, now.Sub(e.at)})
	}
	return s, nil
}

// TestTold_NoClientSeesAnOlderHead has clients ask four processes in turn for minutes of the
// chain's time, while upstreams report new heads to any of them and the network is slow at random.
func TestTold_NoClientSeesAnOlderHead(t *testing.T) {
	t.Parallel()
	for name, failing := range map[string]int64{"reads succeed": 0, "one read in ten fails": 10} {
		t.Run(name, func(t *testing.T) { noClientSeesAnOlderHead(t, failing) })
	}
}

// noClientSeesAnOlderHead has one read in so many fail; zero for none.
func noClientSeesAnOlderHead(t *testing.T, failing int64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		var mu sync.Mutex // guards random
		some := func(most time.Duration) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Duration(random.Int64N(int64(most)))
		}
		b := &board{latency: func() time.Duration {
			if some(100) == 0 {
				return some(180 * time.Millisecond)
			}
			return some(3 * time.Millisecond)
		}}
		if failing > 0 {
			b.fails = func() bool { return some(time.Duration(failing)) == 0 }
		}
		ctx, stop := context.WithCancel(t.Context())
		var background sync.WaitGroup
		defer background.Wait()
		defer stop()
		var processes [4]*Told
		for i := range processes {
			processes[i] = new(Told)
			processes[i].Share(b.exchange, time.Now)
			background.Go(func() { _ = processes[i].Follow(ctx) })
		}
		background.Go(func() {
			for n := uint64(100); ctx.Err() == nil; n++ {
				processes[some(4)].Want(Latest, n)
				time.Sleep(some(500 * time.Millisecond))
			}
		})
		var told uint64
		until := time.Now().Add(10 * time.Minute)
		for time.Now().Before(until) {
			if some(200) == 0 {
				time.Sleep(some(5 * time.Second)) // nobody calls
			}
			time.Sleep(some(20 * time.Millisecond))
			i := some(4)
			got := processes[i].Fresh(ctx, time.Now()).Latest
			if got < told {
				t.Fatalf("process %d tells %d after %d was told", i, got, told)
			}
			told = got
		}
		if told < 1_000 {
			t.Errorf("the head only reached %d", told)
		}
	})
}

func TestTold_ACallWaitsOnlyWhileAHeadMayHaveBeenTold(t *testing.T) {
	t.Parallel()
	at := time.Now()
	v := view{started: at, ended: at.Add(10 * time.Millisecond)}
	v.heads[Latest] = []entry{{100, time.Hour}, {101, 200 * time.Millisecond}}
	for _, tc := range []struct {
		arrived time.Duration
		head    uint64
		wait    time.Duration
	}{
		{20 * time.Millisecond, 100, 0},
		{50 * time.Millisecond, 100, 10 * time.Millisecond},
		{55 * time.Millisecond, 100, 5 * time.Millisecond},
		{60 * time.Millisecond, 101, 0},
	} {
		t.Run(tc.arrived.String(), func(t *testing.T) {
			arrived := at.Add(tc.arrived)
			if head, wait := v.at(Latest, arrived, arrived); head != tc.head || wait != tc.wait {
				t.Errorf("after %v: %d, wait %v; want %d, wait %v", tc.arrived, head, wait, tc.head, tc.wait)
			}
		})
	}
}

func TestTold_AloneTellsAtOnce(t *testing.T) {
	t.Parallel()
	told := new(Told)
	told.Want(Latest, 5)
	told.Want(Latest, 4)
	told.Want(Latest, maxHead) // no number that another process could read
	if h, fresh := told.At(time.Now()); h.Latest != 5 || !fresh {
		t.Errorf("head %d, fresh %t", h.Latest, fresh)
	}
	told.Fall(1, 3)
	told.Fall(1, 2)
	if h, _ := told.At(time.Now()); h.Latest != 3 {
		t.Errorf("head %d after a fall to 3", h.Latest)
	}
	if err := told.Follow(t.Context()); !errors.Is(err, ErrNotShared) {
		t.Errorf("Follow returned %v", err)
	}
}

func TestTold_AHeadThatIsHeldIsGivenUp(t *testing.T) {
	t.Parallel()
	told := new(Told)
	told.Want(Latest, 5)
	if told.Hold(t.Context(), Latest, 6, time.Now, time.Now()) {
		t.Error("a head that nobody has is told")
	}
}

func TestDecode_RefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for _, reply := range [][]string{
		nil,
		{"1"},
		{"x", "", "", "", "", ""},
		{"1", "5", "", "", "", ""},
		{"1", "x@5", "", "", "", ""},
		{"1", "5@x", "", "", "", ""},
	} {
		if _, err := decode(reply); err == nil {
			t.Errorf("%q was read", reply)
		}
	}
	s, err := decode([]string{"7", "5@250000 6@1000", "", "", "", "3@1"})
	if err != nil || s.Epoch != 7 || len(s.heads[Latest]) != 2 || s.heads[Latest][1] != (entry{6, time.Millisecond}) {
		t.Errorf("%+v, %v", s, err)
	}
}
