package cache_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/cache"
)

type group = cache.Group[string, string]

// lead joins key as its leader.
func lead(t *testing.T, g *group, key string) *cache.Flight[string, string] {
	t.Helper()
	f, leads := g.Join(key)
	if !leads {
		t.Fatalf("%s is under way already", key)
	}
	return f
}

// follow joins "a" as a follower, which waits until leave is called. got receives its value.
func follow(t *testing.T, g *group) (got <-chan string, leave func()) {
	t.Helper()
	f, leads := g.Join("a")
	if leads {
		t.Fatal("nothing is under way")
	}
	ctx, leave := context.WithCancel(t.Context())
	t.Cleanup(leave)
	answers := make(chan string, 1)
	go func() {
		value, ok := f.Wait(ctx, patience)
		if !ok {
			value = "left"
		}
		answers <- value
	}()
	return answers, leave
}

func TestGroup_FollowersGetWhatTheLeaderLands(t *testing.T) {
	t.Parallel()
	var g group
	f := lead(t, &g, "a")
	other := lead(t, &g, "b")
	var all []<-chan string
	for range 20 {
		got, _ := follow(t, &g)
		all = append(all, got)
	}
	shares := 0
	f.Finish(func() string { shares++; return "value" })
	f.Finish(func() string { shares++; return "again" })
	for _, got := range all {
		if value := <-got; value != "value" {
			t.Errorf("a follower got %q", value)
		}
	}
	other.Finish(func() string { shares += 100; return "" }) // nobody followed
	if shares != 1 || g.Followed() != 20 {
		t.Errorf("shared %d times, %d followed", shares, g.Followed())
	}
	lead(t, &g, "a").Finish(nil) // a later caller starts a new flight
}

func TestGroup_CallLivesWhileAnyoneWaitsForIt(t *testing.T) {
	t.Parallel()
	var g group
	client, leave := context.WithCancel(t.Context())
	f := lead(t, &g, "a")
	flight, _ := f.Start(client)
	first, firstLeaves := follow(t, &g)
	second, secondLeaves := follow(t, &g)
	leave()
	firstLeaves()
	if got := <-first; got != "left" {
		t.Errorf("the first got %q", got)
	}
	third, _ := follow(t, &g) // still to be joined
	secondLeaves()
	<-second
	if flight.Err() != nil {
		t.Fatal("the call was cancelled though one waits")
	}
	f.Finish(func() string { return "value" })
	if got := <-third; got != "value" {
		t.Errorf("the third got %q", got)
	}
}

func TestGroup_CallEndsWhenAllHaveLeft(t *testing.T) {
	t.Parallel()
	for _, leaderLast := range []bool{true, false} {
		var g group
		client, leaderLeaves := context.WithCancel(t.Context())
		f := lead(t, &g, "a")
		flight, _ := f.Start(client)
		got, followerLeaves := follow(t, &g)
		steps := []func(){leaderLeaves, func() { followerLeaves(); <-got }}
		if leaderLast {
			steps[0], steps[1] = steps[1], steps[0]
		}
		steps[0]()
		if flight.Err() != nil {
			t.Errorf("leader last %v: cancelled though one waits", leaderLast)
		}
		steps[1]()
		select {
		case <-flight.Done():
		case <-time.After(patience):
			t.Fatalf("leader last %v: it goes on for nobody", leaderLast)
		}
		next := lead(t, &g, "a") // a cancelled flight cannot be joined
		f.Finish(func() string { return "late" })
		late, _ := follow(t, &g)
		next.Finish(func() string { return "next" })
		if value := <-late; value != "next" {
			t.Errorf("leader last %v: got %q of a call that was cancelled", leaderLast, value)
		}
	}
}

func TestGroup_ReadingAfterTheAnswerEndsWhenTheLeaderLeaves(t *testing.T) {
	t.Parallel()
	for _, ended := range []bool{false, true} {
		var g group
		client, leave := context.WithCancel(t.Context())
		f := lead(t, &g, "a")
		flight, end := f.Start(client)
		got, _ := follow(t, &g)
		if ended {
			end()
		}
		f.Finish(func() string { return "ask alone" })
		<-got
		leave()
		if ended {
			continue // nothing is left to end
		}
		select {
		case <-flight.Done():
		case <-time.After(patience):
			t.Fatal("it goes on for nobody")
		}
	}
}

func TestGroup_FollowerWaitsNoLongerThanItsTime(t *testing.T) {
	t.Parallel()
	var g group
	f := lead(t, &g, "a")
	follower, _ := g.Join("a")
	if _, ok := follower.Wait(t.Context(), time.Millisecond); ok {
		t.Error("it got what has not landed")
	}
	f.Finish(func() string { t.Error("shared with nobody"); return "" })
}

func TestGroup_FlightSurvivesAPanicOfItsLeader(t *testing.T) {
	t.Parallel()
	var g group
	f := lead(t, &g, "a")
	got, _ := follow(t, &g)
	func() {
		defer func() { _ = recover() }()
		defer f.Finish(func() string { return "failed" })
		panic("a bug")
	}()
	if value := <-got; value != "failed" {
		t.Errorf("the follower got %q", value)
	}
	got, _ = func() (<-chan string, func()) {
		f = lead(t, &g, "a")
		return follow(t, &g)
	}()
	func() {
		defer func() { _ = recover() }()
		defer f.Finish(nil)
		f.Finish(func() string { panic("in the copy") })
	}()
	if value := <-got; value != "" {
		t.Errorf("the follower got %q", value)
	}
}

func TestGroup_ManyCallersShareFewCalls(t *testing.T) {
	t.Parallel()
	var g group
	var wg sync.WaitGroup
	var mu sync.Mutex
	calls, answered := 0, 0
	for range 64 {
		wg.Go(func() {
			for range 50 {
				f, leads := g.Join("k")
				if leads {
					_, end := f.Start(t.Context())
					mu.Lock()
					calls++
					mu.Unlock()
					end()
					f.Finish(func() string { return "v" })
				} else if value, ok := f.Wait(t.Context(), patience); !ok || value != "v" {
					t.Errorf("got %q, %v", value, ok)
				}
				mu.Lock()
				answered++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if answered != 64*50 || calls+int(g.Followed()) != answered {
		t.Errorf("%d calls and %d followers for %d answers", calls, g.Followed(), answered)
	}
	testkit.Eventually(t, patience, func() bool {
		f, leads := g.Join("k")
		if leads {
			f.Finish(nil)
		}
		return leads
	}, "nothing is left under way")
}
