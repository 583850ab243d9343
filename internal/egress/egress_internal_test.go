package egress

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
)

func TestRequests_UnderWayAreBounded(t *testing.T) {
	t.Parallel()
	h := newHosts(time.Now)
	var leave []func()
	for i := range maxUnderWay {
		out, err := h.enter(t.Context(), fmt.Sprintf("gateway%d.example", i))
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, out)
	}
	wantWait(t, h, "another.example", "with every place taken")
	leave[0]()
	out, err := h.enter(t.Context(), "another.example")
	if err != nil {
		t.Fatalf("with a place left: %v", err)
	}
	leave[0] = out
	for _, out := range leave {
		out()
	}
	if len(h.sites) > 0 || len(h.all) > 0 {
		t.Errorf("%d sites are kept, %d places taken, by nobody", len(h.sites), len(h.all))
	}
}

// A site with any number of host names in its domain uses at most perSite places, so others are not
// held up.
func TestSites_DoNotTakeThePlacesOfOthers(t *testing.T) {
	t.Parallel()
	h := newHosts(time.Now)
	for i := range perSite {
		if _, err := h.enter(t.Context(), fmt.Sprintf("a%d.evil.example", i)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		wantWait(t, h, "b.evil.example", "a fifth of one domain")
	}
	for _, other := range []string{"good.example", "1.1.1.1", "2606:4700:4700::1111"} {
		if _, err := h.enter(t.Context(), other); err != nil {
			t.Errorf("%s: %v", other, err)
		}
	}
	if len(h.all) != perSite+3 {
		t.Errorf("%d places of the process are taken, want %d: none by who waits", len(h.all), perSite+3)
	}
}

func wantWait(t *testing.T, h *hosts, host, when string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := h.enter(ctx, host); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s: %v, want the deadline", when, err)
	}
}

func TestSites_AreRegistrableDomains(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"a.b.evil.example": "evil.example", "evil.example.": "evil.example", "a.b.evil.co.uk": "evil.co.uk",
		"mine.workers.dev": "mine.workers.dev", "localhost": "localhost", "1.2.3.4": "1.2.3.4",
		"2a00:1450:4001::1": "2a00:1450:4001::/48", "2a00:1450:4001:ff::2": "2a00:1450:4001::/48",
	} {
		t.Run(host, func(t *testing.T) {
			if got := siteOf(host); got != want {
				t.Errorf("the site of %s is %s, want %s", host, got, want)
			}
		})
	}
}

func TestHosts_ThatTimedOutAreLeftAloneForAWhile(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC))
	h := newHosts(clock.Now)
	h.timedOut("slow.example")
	enter := func(host string) error {
		leave, err := h.enter(t.Context(), host)
		if err == nil {
			leave()
		}
		return err
	}
	clock.Advance(awayFor - time.Second)
	if err := enter("slow.example"); !errors.Is(err, ErrAway) {
		t.Errorf("a moment later: %v, want ErrAway", err)
	}
	if err := enter("fast.example"); err != nil {
		t.Errorf("another host: %v", err)
	}
	clock.Advance(time.Second)
	if err := enter("slow.example"); err != nil || len(h.away) > 0 {
		t.Errorf("half a minute later: %v, %d remembered", err, len(h.away))
	}
	for i := range 2 * maxAway {
		h.timedOut(fmt.Sprintf("slow%d.example", i))
	}
	if len(h.away) != maxAway {
		t.Errorf("%d are remembered, want at most %d", len(h.away), maxAway)
	}
	clock.Advance(awayFor)
	if h.timedOut("slow.example"); len(h.away) != 1 {
		t.Errorf("%d are remembered once all are over, want 1", len(h.away))
	}
}

// A request that waited for a place while its host timed out is not sent.
func TestHosts_WaitersLearnThatTheHostTimesOut(t *testing.T) {
	t.Parallel()
	h := newHosts(time.Now)
	var leave []func()
	for range perSite {
		out, err := h.enter(t.Context(), "slow.example")
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, out)
	}
	told := make(chan error)
	go func() {
		_, err := h.enter(t.Context(), "slow.example")
		told <- err
	}()
	testkit.Eventually(t, time.Minute, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.sites["slow.example"].users > perSite
	}, "nobody waits")
	h.timedOut("slow.example")
	leave[0]()
	if err := <-told; !errors.Is(err, ErrAway) {
		t.Errorf("%v, want ErrAway", err)
	}
}

func TestFailures_TextsOfStrangersAreBounded(t *testing.T) {
	t.Parallel()
	err := failed("ask", "gateway.example", fmt.Errorf("%s: %w", strings.Repeat("é", 10_000), context.Canceled))
	expect.AtMost(t, len(err.Error()), maxFailure+len("…"), err.Error())
	expect.ErrorIs(t, err, context.Canceled)
	expect.HasPrefix(t, err.Error(), "ask gateway.example: é")
	c := New(Options{Now: time.Now})
	if _, err := c.Do(t.Context(), Request{URL: "https://" + strings.Repeat("a", maxHost+1) + "/"}); !errors.Is(err,
		ErrRefused) {
		t.Errorf("a name that is none: %v, want ErrRefused", err)
	}
}
