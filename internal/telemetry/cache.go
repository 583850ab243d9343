package telemetry

import "github.com/prometheus/client_golang/prometheus"

// CacheFigures are read at a scrape: counts since the start, and the cache's present size.
type CacheFigures struct {
	Local, Short, Memory, Redis uint64 // hits, by where the answer was
	Misses                      uint64
	Shared                      uint64 // calls that were deduplicated with an identical one in flight
	Stores, Evictions           uint64
	Bytes, Entries              uint64 // held in process

	RedisErrors, Corrupt, DroppedWrites uint64
}

var (
	cacheHits = describe("gateway_cache_hits_total",
		"Answers found: local ones the service gives by itself, short ones are kept for seconds, those of memory and "+
			"redis do not change any more.", "place")
	cacheMisses = describe("gateway_cache_misses_total",
		"Answers that do not change any more and were looked for in vain.")
	cacheShared = describe("gateway_cache_coalesced_calls_total",
		"Calls that took the answer of an identical one under way.")
	cacheStores = describe("gateway_cache_stores_total", "Answers that were taken into the cache.")
	cacheEvicts = describe("gateway_cache_evictions_total",
		"Answers that left the process before their time, for want of room.")
	cacheBytes  = describe("gateway_cache_size_bytes", "Memory that stored answers take in this process.")
	cacheCount  = describe("gateway_cache_entries", "Answers stored in this process.")
	cacheFaults = describe("gateway_cache_redis_faults_total",
		"What went wrong with the shared part of the cache: failed, what was found and not believed, writes dropped.",
		"fault")
)

// cacheCollector reads the cache at each scrape.
type cacheCollector struct{ read func() CacheFigures }

var _ prometheus.Collector = (*cacheCollector)(nil)

// WatchCache registers the cache's metrics. read is called from any goroutine and must not block.
func (m *Metrics) WatchCache(read func() CacheFigures) {
	m.Registry.MustRegister(&cacheCollector{read})
}

// Describe lists the families.
func (*cacheCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		cacheHits, cacheMisses, cacheShared, cacheStores, cacheEvicts, cacheBytes, cacheCount, cacheFaults,
	} {
		ch <- d
	}
}

// Collect reads the figures.
func (c *cacheCollector) Collect(ch chan<- prometheus.Metric) {
	f := c.read()
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	count(cacheHits, f.Local, "local")
	count(cacheHits, f.Short, "short")
	count(cacheHits, f.Memory, "memory")
	count(cacheHits, f.Redis, "redis")
	count(cacheMisses, f.Misses)
	count(cacheShared, f.Shared)
	count(cacheStores, f.Stores)
	count(cacheEvicts, f.Evictions)
	count(cacheFaults, f.RedisErrors, "failed")
	count(cacheFaults, f.Corrupt, "corrupt")
	count(cacheFaults, f.DroppedWrites, "dropped_write")
	ch <- prometheus.MustNewConstMetric(cacheBytes, prometheus.GaugeValue, float64(f.Bytes))
	ch <- prometheus.MustNewConstMetric(cacheCount, prometheus.GaugeValue, float64(f.Entries))
}
