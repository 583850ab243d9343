package upstream

import (
	"fmt"
	"testing"
	"time"

	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/config"
	"github.com/chainaccess/gateway/internal/testkit"
)

func chainAt(t *testing.T, id chain.ID) (*Chain, *testkit.Clock) {
	t.Helper()
	clock := testkit.NewClock(noon)
	_, c := poolOf(t, id, clock.Now, []config.Upstream{{Name: "up-0", URL: "http://127.0.0.1:1", Supply: "public"}})
	c.Apply(healthy(c, noon))
	return c, clock
}

func TestHeadsNeverGoBack(t *testing.T) {
	t.Parallel()
	c, _ := chainAt(t, chain.EthMainnet)
	for _, step := range []struct{ answered, want uint64 }{
		{testHead + 3, testHead + 3}, {testHead + 1, testHead + 3}, {testHead + 4, testHead + 4}, {1, testHead + 4},
	} {
		if got, ok := c.ObserveHead(Latest, step.answered); !ok || got != step.want {
			t.Errorf("an upstream at %d gives %d (%v), want %d", step.answered, got, ok, step.want)
		}
	}
	older := healthy(c, noon.Add(time.Second))
	older.Head = 5
	c.Apply(older)
	if head, _ := c.Head(); head != testHead+4 {
		t.Errorf("a snapshot took the head back to %d", head)
	}
	if got := string(c.HeadResult(Latest, []byte(`"0x1"`))); got != fmt.Sprintf(`"0x%x"`, testHead+4) {
		t.Errorf("a stored head is given as %s", got)
	}
}

func TestAHeadFarAheadIsNotBelieved(t *testing.T) {
	t.Parallel()
	c, clock := chainAt(t, chain.EthMainnet)
	if head, ok := c.ObserveHead(Latest, testHead+1_000_000); ok || head != testHead {
		t.Errorf("a head a million ahead gives %d, %v", head, ok)
	}
	if _, ok := c.ObserveHead(Latest, testHead+headSlack); !ok {
		t.Error("a burst inside the slack is plausible")
	}
	clock.Advance(10 * time.Minute)
	if _, ok := c.ObserveHead(Latest, testHead+headSlack+100); !ok {
		t.Error("twice the usual pace is plausible")
	}
	if _, ok := c.ObserveHead(Latest, testHead+headSlack+101); ok {
		t.Error("more than twice the usual pace is not")
	}
}

func TestAnUpstreamCannotRaiseTheBoundStepByStep(t *testing.T) {
	t.Parallel()
	c, _ := chainAt(t, chain.EthMainnet)
	for i := range uint64(100) {
		c.ObserveHead(Latest, testHead+(i+1)*headSlack)
	}
	if head, _ := c.Head(); head != testHead+headSlack {
		t.Errorf("the head is %d above the measured one", head-testHead)
	}
}

func TestSolanaCommitmentsHaveHeadsOfTheirOwn(t *testing.T) {
	t.Parallel()
	c, _ := chainAt(t, chain.SolanaMainnet)
	if head, ok := c.ObserveHead(Processed, testHead+40); !ok || head != testHead+40 {
		t.Errorf("processed: %d, %v", head, ok)
	}
	if head, ok := c.ObserveHead(Confirmed, testHead+32); !ok || head != testHead+32 {
		t.Errorf("confirmed: %d, %v", head, ok)
	}
	if head, _ := c.Head(); head != testHead {
		t.Errorf("the chain's head became %d, which is not final", head)
	}
	if head, ok := c.ObserveHead(Confirmed, testHead); !ok || head != testHead+32 {
		t.Errorf("confirmed went back to %d", head)
	}
	if _, ok := c.ObserveHead(Confirmed, testHead+1_000_000); ok {
		t.Error("a slot a million ahead is not plausible at any commitment")
	}
	if got := string(c.HeadResult(Processed, []byte("1"))); got != fmt.Sprint(testHead+40) {
		t.Errorf("a stored slot is given as %s", got)
	}
}

func TestHeadsAreReadStrictly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{`"0x10"`: 16, `"0x0"`: 0, `17`: 17, `"0x7fffffffffffffff"`: 1<<63 - 1} {
		if got, ok := parseHead([]byte(text)); !ok || got != want {
			t.Errorf("%s reads as %d (%v)", text, got, ok)
		}
	}
	for _, text := range []string{`null`, `""`, `"0x"`, `"16"`, `-1`, `1.5`, `"0xzz"`, `{}`, `"0xffffffffffffffffff"`, `true`, ``} {
		if got, ok := parseHead([]byte(text)); ok {
			t.Errorf("%s reads as %d", text, got)
		}
	}
}
