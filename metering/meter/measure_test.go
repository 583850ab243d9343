package meter_test

import (
	"testing"

	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/internal/testkit/expect"
)

// measured reads the metrics of round trips: how many, the commands in them, and how many failed.
func measured(t *testing.T, m *telemetry.Metrics) (trips uint64, commands, failed float64) {
	t.Helper()
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		switch f.GetName() {
		case "gateway_meter_pipeline_commands":
			trips, commands = f.GetMetric()[0].GetHistogram().GetSampleCount(),
				f.GetMetric()[0].GetHistogram().GetSampleSum()
		case "gateway_meter_errors_total":
			failed = f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return trips, commands, failed
}

func TestRoundTrips_AreMeasuredWithTheirCommandsAndFailures(t *testing.T) {
	t.Parallel()
	b, server := setupRedis(t)
	metrics := telemetry.NewMetrics(nil)
	b.meter.Measure(metrics.Pipelines)
	c := b.client(t, limits(noWindow, unlimited, unlimited))
	before, commandsBefore, _ := measured(t, metrics)
	const calls = 20
	for range calls {
		if _, err := b.meter.Admit(b.ctx, c.Subject, charge(1000)); err != nil {
			t.Fatal(err)
		}
	}
	trips, commands, failed := measured(t, metrics)
	expect.Equal(t, trips-before, calls)
	expect.Equal(t, commands-commandsBefore, calls)
	expect.Equal(t, failed, 0)
	server.Stop(t)
	if _, err := b.meter.Admit(b.ctx, c.Subject, charge(1000)); err == nil {
		t.Fatal("a meter without a server admits")
	}
	if _, _, failed := measured(t, metrics); failed != 1 {
		t.Errorf("%v round trips failed, want 1", failed)
	}
}
