package service_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
)

// Usage recorded between two requests within ten seconds shows that the second one read nothing.
func TestUsage_IsReadOnceInTenSecondsForEachScope(t *testing.T) {
	t.Parallel()
	base := time.Now().UTC().Add(time.Minute) // after the time of the agent's usage
	var passed atomic.Int64
	b := openBooks(t, func(o *service.Options) {
		o.Now = func() time.Time { return base.Add(time.Duration(passed.Load())) }
	})
	b.period = base.Format("2006-01") + "-01"
	b.claim(t) // used 3
	eth := b.written(b.keyID, "eth_mainnet", "eth_call", "standard", "ok", 40, 40*plan.Unit)
	ask := func(who *service.Caller) [5]int64 {
		report := must[service.UsageReport](t)(b.UsageReport.Invoke(b.ctx, who, service.UsageReportInput{Hours: 24}))
		volume := must[service.UsageVolume](t)(b.UsageVolume.Invoke(b.ctx, who, service.UsageVolumeInput{}))
		cache, failed := stats(t, b, who, "cache", "24h").Summary.Cache.Misses, stats(t, b, who, "errors",
			"24h").Summary.Errors.Requests
		sum := int64(0)
		for i := range volume.Buckets {
			sum += volume.Buckets[i].Requests
		}
		return [5]int64{report.TotalRequests, sum, cache, failed, int64(b.can(t, who).Volume / plan.Unit)}
	}
	all := func(n int64) [5]int64 { return [5]int64{n, n, n, n, n} }
	scopes := func(account, agent int64) {
		t.Helper()
		for what, c := range map[string]struct {
			who  *service.Caller
			want int64
		}{
			"the account's user": {b.ann, account}, "the account's key": {b.key, account},
			"its agent": {b.agent, agent}, "another account": {b.eve, 0},
		} {
			if got := ask(c.who); got != all(c.want) {
				t.Errorf("after %s %s is told %v, want %d", time.Duration(passed.Load()), what, got, c.want)
			}
		}
	}
	b.commit(t, base, nil, eth)
	scopes(43, 3)
	b.commit(t, base, nil, eth, b.written(b.agentKey, "eth_mainnet", "eth_call", "standard", "ok", 5, 5*plan.Unit))
	passed.Store(int64(10*time.Second - 1))
	scopes(43, 3)
	passed.Store(int64(10 * time.Second))
	scopes(88, 8)
}
