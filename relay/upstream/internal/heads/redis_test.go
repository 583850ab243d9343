package heads

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
)

func TestTold_AHeadIsToldByEveryProcess(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	a, b := process(t, server), process(t, server)
	a.Want(Latest, 100)
	reaches(t, a, 100)
	if got := latest(t, b); got != 100 {
		t.Errorf("another process tells %d after 100", got)
	}
}

func TestTold_ANewHeadWaitsUntilEveryProcessKnowsIt(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	a, b := process(t, server), process(t, server)
	a.Want(Latest, 100)
	reaches(t, a, 100)
	began := time.Now()
	a.Want(Latest, 101)
	reaches(t, a, 101)
	if took := time.Since(began); took < shareTime {
		t.Errorf("a head is told after %v, before another process must know it", took)
	}
	if got := latest(t, b); got != 101 {
		t.Errorf("another process tells %d after 101", got)
	}
}

func TestTold_NoProcessContradictsAnother(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	processes := [...]*Told{process(t, server), process(t, server), process(t, server)}
	var told, wanted uint64
	for i := 0; told < 8; i++ {
		if told == wanted {
			wanted++
			processes[i%3].Want(Latest, wanted)
		}
		got := latest(t, processes[(i/3)%3])
		if got < told {
			t.Fatalf("process %d tells %d after %d was told", (i/3)%3, got, told)
		}
		told = got
	}
}

func TestTold_GoesBackInEveryProcess(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	a, b := process(t, server), process(t, server)
	a.Want(Latest, 100)
	reaches(t, a, 100)
	reaches(t, b, 100)
	a.Fall(7, 90)
	if got := latest(t, a); got != 90 {
		t.Errorf("%d is told after the chain fell to 90", got)
	}
	for deadline := time.Now().Add(patience); latest(t, b) != 90; {
		if time.Now().After(deadline) {
			t.Fatalf("another process still tells %d", latest(t, b))
		}
	}
	b.Fall(6, 80) // a fall before that one
	b.Want(Latest, 91)
	reaches(t, a, 91)
}

func TestTold_WithoutRedisAProcessStandsForItsOwnHeads(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	a, b := process(t, server), process(t, server)
	a.Want(Latest, 100)
	reaches(t, a, 100)
	reaches(t, b, 100)
	server.Kill(t)
	a.Want(Latest, 105)
	reaches(t, a, 105)
	if got := latest(t, b); got != 100 {
		t.Errorf("a process that saw 100 tells %d", got)
	}
	server.Start(t) // without its data
	b.Want(Latest, 101)
	reaches(t, b, 105)
	if got := latest(t, a); got != 105 {
		t.Errorf("%d is told after 105", got)
	}
}

func TestTold_ARedisThatHangsDelaysNoCallForLong(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	a := process(t, server)
	a.Want(Latest, 100)
	reaches(t, a, 100)
	server.Pause(t)
	defer server.Resume(t)
	a.Want(Latest, 101)
	reaches(t, a, 101)
	began := time.Now()
	for range 100 {
		latest(t, a)
	}
	if took := time.Since(began); took > patience {
		t.Errorf("100 calls took %v", took)
	}
}

func TestTold_SurvivesAServerThatLosesItsData(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	a, b := process(t, server), process(t, server)
	a.Want(Latest, 100)
	reaches(t, a, 100)
	reaches(t, b, 100)
	server.Restart(t)
	for range 20 {
		if got := min(latest(t, a), latest(t, b)); got != 100 {
			t.Fatalf("%d is told after 100", got)
		}
	}
	b.Want(Latest, 102)
	reaches(t, a, 102)
}

func TestTold_SurvivesAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t, testkit.WithClock())
	a, b := process(t, server), process(t, server)
	a.Want(Latest, 100)
	reaches(t, a, 100)
	a.Want(Latest, 101)
	server.SetClock(t, -time.Hour)
	reaches(t, b, 101)
	a.Want(Latest, 102)
	reaches(t, b, 102)
}
