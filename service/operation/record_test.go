package operation_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Free operations are recorded as they were answered: without a route as a result, and a panic as
// the internal error that its caller gets.
func TestRecord_ManagementIsRecordedAsAnswered(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	trial := openTrialWith(t, operation.Meta{}, nil, func(o *service.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&lines, nil))
	})
	key, _ := trial.keyOf(t, 1000)
	failing := trial.Try(operation.Meta{
		Name: "fail", Title: "Fail", Description: "Fails.",
		Access: operation.KeyHolders,
	},
		func(_ context.Context, _ *operation.Call, in operation.TrialInput) (operation.TrialOutput, error) {
			if in.Word == "panic" {
				panic("of the test")
			}
			return operation.TrialOutput{Word: in.Word}, nil
		})
	for word, want := range map[string]usagedb.Call{
		"answer": {Outcome: "ok", HTTPStatus: http.StatusOK}, "panic": {
			Outcome: "internal", HTTPStatus: http.StatusInternalServerError,
		},
	} {
		caller := servicetest.Holder(key)
		caller.RequestID = uuid.Must(uuid.NewV7())
		_, refusal := failing.Invoke(trial.Ctx, caller, operation.TrialInput{Word: word})
		if failed := refusal != nil && refusal.Reason == fault.InternalFault; failed != (word == "panic") {
			t.Errorf("%s: %v", word, refusal)
		}
		if got := trial.recorded(t, caller.RequestID); got.Outcome != want.Outcome ||
			got.HTTPStatus != want.HTTPStatus {
			t.Errorf("%s is recorded as %s with %d", word, got.Outcome, got.HTTPStatus)
		}
	}
	if got := strings.Count(lines.String(), "of the test"); got != 1 {
		t.Errorf("%d lines tell of one panic: %s", got, lines.String())
	}
}

// Callers who can make uses fail must not fill the disk with log lines.
func TestLog_FailedUsesAreWrittenAFewOfAKindAtATime(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	clock := testkit.NewClock(time.Now())
	trial := openTrialWith(t, operation.Meta{}, func(context.Context, *operation.Call, operation.TrialInput) error {
		return fault.New(fault.UpstreamFailed, "").Wrap(errors.New("the gateway of the name is away"))
	}, func(o *service.Options) { o.Logger, o.Now = slog.New(slog.NewTextHandler(&lines, nil)), clock.Now })
	key, _ := trial.keyOf(t, 1000)
	const uses = telemetry.LinesPerKind + 5
	for range uses {
		_, refusal := trial.use(key, "word")
		trial.wantRefusal(t, refusal, fault.UpstreamFailed)
		clock.Advance(time.Second / 4) // less than an interval in total
	}
	if got := strings.Count(lines.String(), "use failed"); got != telemetry.LinesPerKind {
		t.Errorf("%d lines of %d failures, want %d", got, uses, telemetry.LinesPerKind)
	}
	clock.Advance(telemetry.LogInterval)
	_, _ = trial.use(key, "word")
	if got := lines.String(); !strings.Contains(got, "left_out=5") ||
		!strings.Contains(got, "gateway of the name is away") {
		t.Errorf("the next line does not tell of the 5 that were left out: %s", got)
	}
}
