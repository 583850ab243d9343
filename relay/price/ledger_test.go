package price

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

var (
	monday  = time.Date(2026, 11, 23, 23, 59, 59, 0, time.UTC)
	tuesday = time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
)

func TestLedger_SumsByDayAndMethod(t *testing.T) {
	t.Parallel()
	l := NewLedger()
	l.Request(monday, "eth_mainnet", "a", []byte("eth_call"), Cost{26, 11_700})
	l.Request(monday, "eth_mainnet", "a", []byte("eth_call"), Cost{26, 11_700})
	l.Request(tuesday, "eth_mainnet", "a", []byte("eth_call"), Cost{26, 11_700})
	l.Call(monday, one, "eth_mainnet", 23_400)
	l.Call(tuesday, uuid.Nil, "eth_mainnet", 99) // the service's own calls have no account
	want := Batch{
		Spent: []Spent{
			{dayOf(20780), "eth_mainnet", "a", "eth_call", 2, Cost{52, 23_400}},
			{dayOf(20781), "eth_mainnet", "a", "eth_call", 1, Cost{26, 11_700}},
		},
		Accounts: []AccountSpent{{dayOf(20780), one, "eth_mainnet", 1, 23_400}},
	}
	got := l.Take()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("batch (-want +got):\n%s", diff)
	}
	if again := l.Take(); !again.Empty() {
		t.Errorf("taken twice: %+v", again)
	}
	total := []Spent{{time.Time{}, "eth_mainnet", "a", "eth_call", 3, Cost{78, 35_100}}}
	if diff := cmp.Diff(total, l.Totals()); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
}

var one = uuid.MustParse("018f2b4e-0000-7000-8000-000000000001")

func TestLedger_LosesNothingThatCouldNotBeWritten(t *testing.T) {
	t.Parallel()
	l := NewLedger()
	l.Request(monday, "eth_mainnet", "a", []byte("eth_call"), Cost{1, 10})
	l.Call(monday, one, "eth_mainnet", 10)
	failed := l.Take()
	l.Request(monday, "eth_mainnet", "a", []byte("eth_call"), Cost{1, 10})
	l.Return(failed)
	got := l.Take()
	want := Batch{
		Spent:    []Spent{{dayOf(20780), "eth_mainnet", "a", "eth_call", 2, Cost{2, 20}}},
		Accounts: []AccountSpent{{dayOf(20780), one, "eth_mainnet", 1, 10}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("batch (-want +got):\n%s", diff)
	}
}

func TestLedger_CountsEveryRequestOnceUnderLoad(t *testing.T) {
	t.Parallel()
	const workers, each = 8, 500
	l := NewLedger()
	var sum int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range each {
				l.Request(tuesday, "base_mainnet", "b", []byte("eth_getLogs"), Cost{60, 1})
			}
		})
	}
	for range 20 {
		for _, s := range l.Take().Spent {
			sum += s.Requests
		}
	}
	all.Wait()
	for _, s := range l.Take().Spent {
		sum += s.Requests
	}
	if sum != workers*each {
		t.Errorf("%d requests, want %d", sum, workers*each)
	}
}

func TestLedger_BoundsTheAccountsThatWait(t *testing.T) {
	t.Parallel()
	l := NewLedger()
	for range maxAccounts + 10 {
		l.Call(tuesday, uuid.New(), "eth_mainnet", 1)
	}
	if got := len(l.Take().Accounts); got != maxAccounts {
		t.Errorf("%d accounts wait, want at most %d", got, maxAccounts)
	}
}

func TestLedger_AllocatesNothingForAKnownMethod(t *testing.T) { //nolint:paralleltest // AllocsPerRun forbids it
	l := NewLedger()
	method := []byte("eth_call")
	l.Request(tuesday, "eth_mainnet", "a", method, Cost{1, 1})
	got := testing.AllocsPerRun(100, func() { l.Request(tuesday, "eth_mainnet", "a", method, Cost{1, 1}) })
	if got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}
