package capability_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/capability"
	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/telemetry"
)

// Whoever can make uses fail must not fill the disk of the one who reads why they do.
func TestFailedUsesAreLoggedAFewOfAKindAtATime(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	clock := testkit.NewClock(time.Now())
	trial := openTrialWith(t, capability.Meta{}, func(context.Context, *capability.Call, capability.TrialInput) error {
		return fault.New(fault.UpstreamFailed, "").Wrap(errors.New("the gateway of the name is away"))
	}, func(o *capability.Options) { o.Logger, o.Now = slog.New(slog.NewTextHandler(&lines, nil)), clock.Now })
	key, _ := trial.keyOf(t, 1000)
	const uses = telemetry.LinesPerKind + 5
	for range uses {
		_, refusal := trial.use(key, "word")
		trial.wantRefusal(t, refusal, fault.UpstreamFailed)
		clock.Advance(time.Second / 4) // less than an interval in all
	}
	if got := strings.Count(lines.String(), "use failed"); got != telemetry.LinesPerKind {
		t.Errorf("%d lines of %d failures, want %d", got, uses, telemetry.LinesPerKind)
	}
	clock.Advance(telemetry.LogInterval)
	_, _ = trial.use(key, "word")
	if got := lines.String(); !strings.Contains(got, "left_out=5") || !strings.Contains(got, "gateway of the name is away") {
		t.Errorf("the next line does not tell of the 5 that were left out: %s", got)
	}
}
