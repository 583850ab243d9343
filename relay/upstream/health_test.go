package upstream

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func newHealth() (*health, *testkit.Clock) {
	clock := testkit.NewClock(noon)
	return &health{now: clock.Now}, clock
}

func (h *health) fail(n int) {
	for range n {
		h.record(observation{verdict: verdicts[rules.Unreachable]})
	}
}

func (h *health) succeed(n int) {
	for range n {
		h.record(observation{verdict: verdicts[rules.Answer]})
	}
}

func (h *health) throttle(retryAfter time.Duration) {
	h.record(observation{verdict: verdicts[rules.Throttled], retryAfter: retryAfter})
}

// newest returns the snapshot that a call sees after publication.
func (h *health) newest() *healthSnapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.publish(h.now())
	return h.published.Load()
}

// excluded reports whether an upstream gets no calls, not even a trial.
func (h *health) excluded() bool {
	s := h.newest()
	return s.out && !s.onTrial(h.now().UnixNano())
}

func TestHealth_NobodyIsJudgedByFewSamples(t *testing.T) {
	t.Parallel()
	h, _ := newHealth()
	h.fail(minSamples - 1)
	if s := h.newest(); s.out || s.errorRate != 0 {
		t.Errorf("after nine failures: %+v", s)
	}
	h.fail(1)
	if s := h.newest(); !s.out || s.errorRate != 1 {
		t.Errorf("after ten failures: %+v", s)
	}
}

func TestHealth_FailuresInARowExclude(t *testing.T) {
	t.Parallel()
	h, _ := newHealth()
	h.succeed(100)
	h.fail(failuresInARow - 1)
	h.succeed(1)
	h.fail(failuresInARow - 1)
	if h.newest().out {
		t.Error("out after two failures in a row")
	}
	h.fail(1)
	if !h.excluded() {
		t.Error("three failures in a row must exclude")
	}
}

func TestHealth_MoreThanHalfFailingExcludes(t *testing.T) {
	t.Parallel()
	h, _ := newHealth()
	for range 5 {
		h.succeed(1)
		h.fail(1)
		h.succeed(1)
		h.fail(1)
	}
	if h.newest().out {
		t.Error("a half is not more than a half")
	}
	h.fail(1)
	if !h.newest().out {
		t.Error("eleven failures of twenty-one must exclude, though never three in a row")
	}
}

func TestHealth_ExclusionDoublesWhileTrialsFail(t *testing.T) {
	t.Parallel()
	h, clock := newHealth()
	h.fail(minSamples)
	for _, seconds := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
		want := time.Duration(seconds) * time.Second
		clock.Advance(want - time.Millisecond)
		if !h.excluded() {
			t.Fatalf("on trial before %s were over", want)
		}
		clock.Advance(time.Millisecond)
		if h.excluded() || !h.newest().out {
			t.Fatalf("not on trial after %s", want)
		}
		h.fail(1)
	}
}

func TestHealth_UpstreamComesBackAfterThreeTrialsOnProbation(t *testing.T) {
	t.Parallel()
	h, clock := newHealth()
	comeBack := func() {
		t.Helper()
		h.succeed(successesToReturn - 1)
		if !h.newest().out {
			t.Fatal("back after two trials")
		}
		h.succeed(1)
		if s := h.newest(); s.out || s.errorRate != 0 {
			t.Fatalf("after three trials: %+v", s)
		}
	}
	h.fail(minSamples)
	clock.Advance(firstExclusion)
	comeBack()
	h.succeed(probationCalls - 1)
	h.fail(1)
	if !h.excluded() {
		t.Fatal("one failure during the probation must exclude")
	}
	clock.Advance(firstExclusion)
	if !h.excluded() {
		t.Fatal("the second exclusion must be longer than the first")
	}
	clock.Advance(firstExclusion)
	comeBack()
	h.succeed(probationCalls)
	h.fail(failuresInARow - 1)
	if h.newest().out {
		t.Fatal("after the probation, two failures are no reason any more")
	}
	h.fail(1)
	clock.Advance(firstExclusion)
	if h.excluded() {
		t.Error("after the probation, exclusions must begin anew at the shortest")
	}
}

func TestHealth_FailedTrialTakesBackEarlierSuccesses(t *testing.T) {
	t.Parallel()
	h, clock := newHealth()
	h.fail(minSamples)
	clock.Advance(firstExclusion)
	h.succeed(successesToReturn - 1)
	h.fail(1)
	clock.Advance(2 * firstExclusion)
	h.succeed(successesToReturn - 1)
	if !h.newest().out {
		t.Error("only successes in a row count")
	}
}

func TestHealth_CallsThatFailTogetherExcludeOnce(t *testing.T) {
	t.Parallel()
	h, clock := newHealth()
	h.fail(100) // all in flight at the same time
	clock.Advance(firstExclusion)
	if h.excluded() {
		t.Error("a burst of failures must exclude no longer than one")
	}
	h.record(observation{verdict: verdicts[rules.Unreachable], took: 2 * firstExclusion})
	if h.excluded() {
		t.Error("a call that began before the exclusion is no failed trial")
	}
	for range successesToReturn {
		h.record(observation{verdict: verdicts[rules.Answer], took: 2 * firstExclusion})
	}
	if !h.newest().out {
		t.Error("a call that began before the exclusion is no trial that succeeded")
	}
}

func TestHealth_ThrottlingUpstreamIsLeftAloneAsLongAsItAsks(t *testing.T) {
	t.Parallel()
	h, clock := newHealth()
	h.throttle(7 * time.Second)
	clock.Advance(7*time.Second - time.Millisecond)
	h.probed(true, clock.Now())
	if !h.excluded() {
		t.Error("on trial before Retry-After was over")
	}
	clock.Advance(time.Millisecond)
	if h.excluded() {
		t.Error("still excluded after Retry-After")
	}
	h.throttle(24 * time.Hour)
	clock.Advance(maxExclusion)
	if h.excluded() {
		t.Error("no upstream may exclude itself for longer than a minute")
	}
}

// excludedForLong excludes an upstream for half a minute.
func (h *health) excludedForLong(clock *testkit.Clock) {
	h.fail(minSamples)
	for range 5 {
		clock.Advance(h.remaining())
		h.fail(1)
	}
}

// remaining returns how long an upstream is still excluded.
func (h *health) remaining() time.Duration {
	return time.Duration(h.newest().until - h.now().UnixNano())
}

func TestHealth_ProbesLeaveTheLastWordToATrialRead(t *testing.T) {
	t.Parallel()
	h, clock := newHealth()
	h.excludedForLong(clock)
	h.probed(true, clock.Now().Add(-time.Minute))
	for h.remaining() > time.Second {
		h.probed(true, clock.Advance(time.Second))
	}
	clock.Advance(h.remaining() - 1)
	if !h.excluded() || h.successes != 0 {
		t.Fatal("probes cut the exclusion short")
	}
	clock.Advance(1)
	h.probed(false, clock.Now())
	for range 3 * successesToReturn {
		h.probed(true, clock.Now())
	}
	if s := h.newest(); !s.out || !s.onTrial(clock.Now().UnixNano()) {
		t.Fatal("probes alone brought it back")
	}
	h.succeed(1)
	if h.newest().out {
		t.Error("two probes and a read that succeeded must bring it back")
	}
}

func TestHealth_ProbesAloneBringBackAnUpstreamThatNoReadTries(t *testing.T) {
	t.Parallel()
	h, clock := newHealth()
	h.excludedForLong(clock)
	clock.Advance(h.remaining())
	for range 2 * successesToReturn {
		h.probed(true, clock.Now())
	}
	clock.Advance(trialPatience - 1)
	if !h.beginTrial() {
		t.Fatal("no trial is under way")
	}
	h.endTrial() // the trial had no result: its client went away
	h.probed(true, clock.Advance(trialPatience-1))
	if !h.newest().out {
		t.Fatal("it is back though reads try it")
	}
	h.probed(true, clock.Advance(1))
	if h.newest().out {
		t.Error("three probes that succeeded must bring it back when no read tries it")
	}
}

func TestHealth_ProbesDoNotCountWhileATrialIsUnderWay(t *testing.T) {
	t.Parallel()
	h, clock := newHealth()
	h.fail(minSamples)
	clock.Advance(h.remaining())
	h.beginTrial()
	for range 10 * successesToReturn {
		h.probed(true, clock.Advance(time.Second))
	}
	h.endTrial()
	if h.successes != 0 || !h.newest().out {
		t.Errorf("%d successes, though the trial's read has not been answered", h.successes)
	}
}

func TestHealth_OnlyOneTrialIsUnderWay(t *testing.T) {
	t.Parallel()
	h, _ := newHealth()
	if !h.beginTrial() || h.beginTrial() {
		t.Error("there must be exactly one")
	}
	h.endTrial()
	if !h.beginTrial() {
		t.Error("the next one must be possible")
	}
}

func TestHealth_OldSamplesLeaveTheWindow(t *testing.T) {
	t.Parallel()
	h, clock := newHealth()
	for range 20 {
		h.fail(1)
		h.record(observation{verdict: verdicts[rules.Answer], took: time.Second})
		h.succeed(2)
	}
	h.succeed(19)
	h.throttle(0)
	s := h.newest()
	require.Equal(t, s.errorRate, 0.2)
	require.Equal(t, s.throttled, 0.01)
	require.True(t, s.latency[standardReads].Known)
	clock.Advance(healthMinutes * time.Minute)
	s = h.snapshot(clock.Now())
	in := expect.In(t, "after the window")
	expect.Equal(in, s.errorRate, 0)
	expect.Equal(in, s.throttled, 0)
	expect.False(in, s.latency[standardReads].Known)
}

func TestHealth_PublishesFiguresPeriodicallyAndStatesAtOnce(t *testing.T) {
	t.Parallel()
	h, clock := newHealth()
	h.succeed(1)
	first := h.snapshot(clock.Now())
	h.succeed(minSamples)
	if h.snapshot(clock.Now()) != first {
		t.Error("figures were computed anew for each call")
	}
	clock.Advance(publishEvery)
	h.succeed(1)
	if s := h.snapshot(clock.Now()); s == first || !s.latency[standardReads].Known {
		t.Errorf("after a while: %+v", s)
	}
	h.fail(failuresInARow)
	if !h.snapshot(clock.Now()).out {
		t.Error("an exclusion must be in force at once")
	}
}

func TestHealth_BrokenStreamIsTheSameCall(t *testing.T) {
	t.Parallel()
	h, _ := newHealth()
	h.succeed(minSamples)
	h.record(observation{verdict: verdicts[rules.Broken], brokeOff: true})
	if s := h.newest(); s.calls != minSamples || s.errorRate != 0.1 {
		t.Errorf("standing %+v", s)
	}
}

func TestHealth_SlowCallsCountAsLatencyAndNotAsFailures(t *testing.T) {
	t.Parallel()
	h, _ := newHealth()
	for range minSamples {
		h.record(observation{verdict: verdicts[rules.Unreachable], took: 2 * time.Second, slow: true})
	}
	s := h.newest()
	expect.False(t, s.out)
	expect.Equal(t, s.errorRate, 0)
	expect.AtLeast(t, s.latency[standardReads].P50, time.Second)
}

func TestHealth_LatenciesAreOfAnswersToReads(t *testing.T) {
	t.Parallel()
	h, _ := newHealth()
	for range minSamples {
		h.record(observation{verdict: verdicts[rules.Answer], took: 10 * time.Millisecond})
		h.record(observation{verdict: verdicts[rules.Answer], took: time.Second, heavy: true})
		h.record(observation{verdict: verdicts[rules.Answer], took: time.Minute, write: true})
		h.record(observation{verdict: verdicts[rules.Range], took: time.Microsecond})
	}
	s := h.newest()
	if p := s.latency[standardReads].P99; p > 12*time.Millisecond {
		t.Errorf("the latency of standard reads is %s", p)
	}
	if p := s.latency[heavyReads].P50; p < 800*time.Millisecond || p > 1200*time.Millisecond {
		t.Errorf("the latency of heavy reads is %s", p)
	}
}

func TestHealth_MissingMethodIsRememberedForAWhile(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(noon)
	l := unsupported{now: clock.Now}
	if l.has([]byte("trace_block")) {
		t.Error("nothing is known yet")
	}
	l.note([]byte("trace_block"))
	if !l.has([]byte("trace_block")) || l.has([]byte("eth_call")) {
		t.Error("exactly the method that it lacks is remembered")
	}
	clock.Advance(lackingFor)
	if l.has([]byte("trace_block")) {
		t.Error("it must be asked again after a while")
	}
}
