package meter_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/meter"
)

// BenchmarkAdmit admits calls of many accounts over one Redis from concurrent callers. Every limit
// is set and none refuses, which is the most work that an admission can be.
func BenchmarkAdmit(b *testing.B) {
	bundle, _ := setupRedis(b)
	bundle.ctx = context.Background()
	clients := make([]*client, 256)
	for i := range clients {
		clients[i] = bundle.client(b, limits(account.RateWindow{Limit: 1 << 40, Per: time.Second}, 1<<50, 1<<50))
	}
	for name, call := range map[string]*meter.Call{"charge": charge(1000), "hit": hit()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			bundle.rdb.ConfigResetStat(bundle.ctx)
			b.SetParallelism(64)
			b.RunParallel(func(pb *testing.PB) {
				for n := 0; pb.Next(); n++ {
					a, err := bundle.meter.Admit(bundle.ctx, clients[n%len(clients)].Subject, call)
					if err != nil || !a.Admitted {
						b.Errorf("%+v, %v", a, err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "admissions/s")
			b.ReportMetric(scriptTime(b, bundle), "script-µs/op")
		})
	}
}

// scriptTime returns how long Redis itself takes for a script, in microseconds. One Redis runs only
// one script at a time.
func scriptTime(b *testing.B, bundle *bundle) float64 {
	b.Helper()
	stats, err := bundle.rdb.Info(bundle.ctx, "commandstats").Result()
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(stats, "cmdstat_evalsha:")
	_, rest, _ = strings.Cut(rest, "usec_per_call=")
	figure, _, _ := strings.Cut(rest, ",")
	took, err := strconv.ParseFloat(figure, 64)
	if err != nil {
		b.Fatalf("no time of evalsha in %q", stats)
	}
	return took
}
