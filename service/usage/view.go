package usage

import (
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
)

// Figure is a measured number in thousandths: milliseconds, units, counts or shares. It is a JSON
// number with at most three decimals.
type Figure int64

const oneFigure = 1000

// MarshalJSON writes, for example, 12.5.
func (f Figure) MarshalJSON() ([]byte, error) { return plan.Units(f).AppendJSON(nil), nil }

// Schema returns the schema of a number.
func (Figure) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeNumber} }

// MaybeFigure is a figure, or null if nothing was measured.
type MaybeFigure struct{ Value *Figure }

// MarshalJSON writes the number or null.
func (m MaybeFigure) MarshalJSON() ([]byte, error) {
	if m.Value == nil {
		return []byte("null"), nil
	}
	return m.Value.MarshalJSON()
}

// Schema returns the schema of a number or null.
func (MaybeFigure) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{r.Schema(reflect.TypeFor[Figure](), true, ""), {Type: "null"}}}
}

func figureOf(n int64) MaybeFigure {
	f := Figure(n)
	return MaybeFigure{&f}
}

// count returns a count as a figure.
func count(n int64) MaybeFigure { return figureOf(n * oneFigure) }

// share returns part of whole, rounded down so that less than all is never 1. It is null if whole
// is 0.
func share(part, whole int64) MaybeFigure {
	if whole <= 0 {
		return MaybeFigure{}
	}
	return figureOf(plan.MulDiv(max(0, part), oneFigure, whole))
}

// millis returns a quantile in milliseconds, or null without answered calls.
func millis(l *account.Latency, q float64) MaybeFigure {
	d, ok := l.Quantile(q)
	if !ok {
		return MaybeFigure{}
	}
	return figureOf(d.Microseconds())
}

// The reported quantiles.
const (
	median = 0.50
	high   = 0.95
)

// span is a look-back, divided into steps.
type span struct {
	step  time.Duration
	steps int
}

// spans are the look-backs of reports by name. The last step is not over yet.
var spans = map[string]span{"24h": {time.Hour, 24}, "7d": {6 * time.Hour, 28}, "30d": {24 * time.Hour, 30}}

const defaultSpan = "24h"

func spanOf(name string) (string, span) {
	if name == "" {
		name = defaultSpan
	}
	return name, spans[name]
}

// since returns the start of the look-back from now, truncated to a step in UTC.
func (s span) since(now time.Time) time.Time {
	return now.UTC().Truncate(s.step).Add(-time.Duration(s.steps-1) * s.step)
}

// Since returns the start of a look-back by name, as reports have it.
func Since(window string, now time.Time) time.Time { return spans[window].since(now) }

// starts returns the start of each step.
func (s span) starts(now time.Time) []time.Time {
	all := make([]time.Time, s.steps)
	for i := range all {
		all[i] = s.since(now).Add(time.Duration(i) * s.step)
	}
	return all
}

// place returns the index of the step that contains an instant. It returns false outside the span,
// which happens when the meter's clock is ahead of ours.
func (s span) place(now, at time.Time) (int, bool) {
	i := int(at.Sub(s.since(now)) / s.step)
	return i, i >= 0 && i < s.steps
}

// zeros returns a zero for each step.
func (s span) zeros() []MaybeFigure {
	all := make([]MaybeFigure, s.steps)
	for i := range all {
		all[i] = count(0)
	}
	return all
}
