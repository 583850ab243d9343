package relay

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/store/usagedb"
)

// logged returns a call log at a level, and its output.
func logged(level slog.Level) (*callLog, *testkit.Clock, *bytes.Buffer) {
	var out bytes.Buffer
	clock := testkit.NewClock(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	l := newCallLog(telemetry.NewLogger(&out, "json", level), clock.Now)
	return &l, clock, &out
}

func lines(t *testing.T, out *bytes.Buffer) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(out.String()) {
		fields := map[string]any{}
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, fields)
	}
	return all
}

var made = usagedb.Call{
	RequestID: uuid.MustParse("01980000-0000-7000-8000-000000000001"), Chain: "eth_mainnet", Method: "eth_call",
	Outcome: "upstream_failed", HTTPStatus: 502, Upstream: "provider-a", Attempts: 3, Duration: 40 * time.Millisecond,
}

func TestLog_FailedCallIsOneLineThatSaysWhichAndWhere(t *testing.T) {
	t.Parallel()
	l, _, out := logged(slog.LevelInfo)
	l.write(&made, fault.New(fault.UpstreamFailed, "").Wrap(errors.New("upstream provider-a: HTTP 500")),
		telemetry.Failed)
	l.write(&made, fault.New(fault.OutcomeUnknown, ""), telemetry.OutcomeUnknown)
	l.write(&made, fault.Internal(errors.New("a bug")), telemetry.Failed)
	l.write(&made, fault.New(fault.RateWindow, ""), telemetry.Refused)        // the client's mistake
	l.write(&made, fault.New(fault.UpstreamFailed, ""), telemetry.ClientGone) // the service did not fail
	l.write(&made, nil, telemetry.OK)
	all := lines(t, out)
	if len(all) != 3 {
		t.Fatalf("got %d lines, want 3: %s", len(all), out)
	}
	for name, want := range map[string]any{
		"level": "WARN", "msg": "call failed", "request_id": "01980000-0000-7000-8000-000000000001",
		"chain": "eth_mainnet", "method": "eth_call", "upstream": "provider-a", "outcome": "upstream_failed",
		"attempts": 3.0, "status": 502.0, "cause": "upstream provider-a: HTTP 500",
	} {
		t.Run(name, func(t *testing.T) {
			if all[0][name] != want {
				t.Errorf("the line has %s=%v, want %v", name, all[0][name], want)
			}
		})
	}
	if all[1]["level"] != "WARN" || all[2]["level"] != "ERROR" {
		t.Errorf("levels are %v and %v", all[1]["level"], all[2]["level"])
	}
}

func TestLog_AThousandFailuresOfAKindAreAFewLines(t *testing.T) {
	t.Parallel()
	l, clock, out := logged(slog.LevelInfo)
	other := made
	other.Chain = "base_mainnet"
	down := fault.New(fault.UpstreamFailed, "")
	for range 1000 {
		l.write(&made, down, telemetry.Failed)
	}
	l.write(&other, down, telemetry.Failed)
	if n := len(lines(t, out)); n != telemetry.LinesPerKind+1 {
		t.Errorf("a thousand failures of one chain and one of another are %d lines, want %d", n,
			telemetry.LinesPerKind+1)
	}
	clock.Advance(telemetry.LogInterval)
	out.Reset()
	l.write(&made, down, telemetry.Failed)
	if all := lines(t, out); len(all) != 1 || all[0]["left_out"] != 1000.0-telemetry.LinesPerKind {
		t.Errorf("the next line is %v, want it to tell how many were left out", all)
	}
}

func TestLog_EveryCallIsALineAtLevelDebug(t *testing.T) {
	t.Parallel()
	l, _, out := logged(slog.LevelDebug)
	for range 100 {
		l.write(&made, nil, telemetry.OK)
		l.write(&made, fault.New(fault.UpstreamFailed, ""), telemetry.Failed)
	}
	if n := len(lines(t, out)); n != 200 {
		t.Errorf("200 calls are %d lines", n)
	}
}

//nolint:paralleltest // allocations are counted per process
func TestLog_SuccessfulCallCostsNothing(t *testing.T) {
	l, _, _ := logged(slog.LevelInfo)
	if n := testing.AllocsPerRun(100, func() { l.write(&made, nil, telemetry.OK) }); n != 0 {
		t.Errorf("a call that is not logged allocates %v times", n)
	}
}
