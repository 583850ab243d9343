package main

import (
	"fmt"
	"math"
)

const (
	ratesLeft  = 290.0 // where bars begin
	ratesRight = 614.0 // where the longest ends, before its figure
	ratioAt    = 718.0
	p99At      = pictureWidth - margin
	barHeight  = 15.0
)

// rates draws both sides' requests per second for every load, with the bar if there is one.
func (c *canvas) rates(loads []compared) {
	if len(loads) == 0 {
		return
	}
	c.heading("Requests per second", "longer is better; the dashed line is the rate that the gateway's bar asks for")
	limit := 0.0
	for _, l := range loads {
		limit = max(limit, l.nginx.rate, l.gateway.rate)
	}
	c.text(ratioAt, c.y-13, "soft small", "middle", "ratio to nginx")
	c.text(p99At, c.y-13, "soft small", "end", "p99 to nginx's")
	scale := (ratesRight - ratesLeft) / limit
	for _, l := range loads {
		c.text(margin, c.y+20, "strong", "start", l.load.name)
		target := l.load.ratio.limit * l.nginx.rate * scale
		for i, side := range []struct {
			name, class string
			rate        float64
		}{{"nginx", "nginx", l.nginx.rate}, {"gateway", "gateway", l.gateway.rate}} {
			y := c.y + float64(i)*(barHeight+3)
			c.text(ratesLeft-8, y+12, "soft small", "end", side.name)
			c.rect(ratesLeft, y, side.rate*scale, barHeight, side.class)
			end := side.rate * scale
			if i == 1 && target > end {
				end = target
			}
			c.text(ratesLeft+end+6, y+12, "small", "start", thousands(side.rate))
		}
		c.figure(ratioAt, c.y+15, "middle", l.ratio(), "at least")
		c.figure(p99At, c.y+15, "end", l.p99(), "at most")
		if l.load.ratio.rule != noBar {
			c.line(ratesLeft+target, c.y+barHeight+1, ratesLeft+target, c.y+2*barHeight+6, "bar")
		}
		c.y += 2*barHeight + 22
	}
	c.y += 10
}

// figure draws a result with its bar below.
func (c *canvas) figure(x, y float64, anchor string, r result, side string) {
	c.text(x, y, "strong "+r.verdict(), anchor, r.text())
	if r.bar.rule != noBar {
		c.text(x, y+16, "soft small", anchor, fmt.Sprintf("%s %.2f", side, r.bar.limit))
	}
}

// verdict returns the CSS class for whether a value meets its bar; "" without a bar.
func (r result) verdict() string {
	switch {
	case r.bar.rule == noBar:
		return ""
	case r.met():
		return "yes"
	}
	return "no"
}

// thousands formats a whole number with separators between thousands.
func thousands(value float64) string {
	n := int64(math.Round(value))
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(float64(n/1000)), n%1000)
}

// words are descriptions of the table's keys.
var words = map[string]string{
	residentKey: "resident memory grows by, in MB", "failed": "failed reads",
	"retried": "reads sent to the other upstream", "p99_back_ms": "p99 is back after, in ms", "value": "allocations",
	perSecondKey: "per second", scriptKey: "µs of Redis for each", openLoopP50Key: "p50 from when due, in ms",
	openLoopP99Key: "p99 from when due, in ms", bytesKey: "bytes of Redis for a key",
	withCountersKey: "the same with counters", secondsKey: "seconds for all", bucketsKey: "buckets per second",
	requestsKey: "requests per second", costKey: "CPU time to a cache hit of the relay",
	rateKey: "rate to cache hits of the relay", cpuToRelayKey: "CPU time to the same call on /rpc",
	heapGrowthKey: "heap grows by, in MB", heapKey: "largest heap, in MB", perAccountKey: "µs for each account",
	growthKey: "cost of one of 10,000 to one of 1,000", missedKey: "periods that were missed",
	repeatedKey: "periods that were closed twice", coinTripsKey: "calls for the coin, each answer",
	indexTripsKey: "calls to the index, each answer", nameTripsKey: "calls for names of new tokens",
	toReadKey: "time to one eth_getBalance", newToReadKey: "the same with new tokens",
	slowestP50Key: "slowest page's p50, in ms", slowestP95Key: "slowest page's p95, in ms",
	largestPageKey: "largest page, in KB",
}

// table lists the results that no chart shows.
func (c *canvas) table(results []result) {
	var rest []result
	for _, r := range results {
		if r.key != ratioKey && r.key != p99Key {
			rest = append(rest, r)
		}
	}
	if len(rest) == 0 {
		return
	}
	c.heading("Admissions, tools, statements, pages, memory, failures", "against the bars of the project")
	for _, r := range rest {
		c.line(margin, c.y, pictureWidth-margin, c.y, "grid")
		c.text(margin, c.y+18, "strong", "start", r.name)
		c.text(ratesLeft, c.y+18, "soft", "start", words[r.key])
		c.text(ratesRight-34, c.y+18, "strong "+r.verdict(), "end", r.text())
		if r.bar.rule != noBar {
			side := map[rule]string{atLeast: "at least", atMost: "at most", below: "less than"}[r.bar.rule]
			met := "met"
			if !r.met() {
				met = "not met"
			}
			c.text(ratesRight, c.y+18, "soft", "start", fmt.Sprintf("bar: %s %g", side, r.bar.limit))
			c.text(pictureWidth-margin, c.y+18, r.verdict(), "end", met)
		}
		c.y += 27
	}
	c.y += 8
}
