package status

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/chaindb"
)

const (
	statusFresh     = 2 * time.Minute // maximum age of the measurement behind a chain's state
	statusPatience  = 3 * time.Second // for PostgreSQL; without it the status is what this process sees
	statusIncidents = 50
	// Thresholds from which a day is down or degraded.
	dayDown     = time.Minute
	dayDegraded = 5 * time.Minute
	wholeDay    = 24 * time.Hour
)

// makeStatus combines what this process sees with what PostgreSQL has recorded. It never fails;
// without PostgreSQL it omits the history.
func (r *Reader) makeStatus(ctx context.Context) (Status, error) {
	now := r.now().UTC()
	s := Status{
		State: chain.Unknown, Chains: []ChainStatus{}, Incidents: []IncidentView{}, MadeAt: now.Truncate(time.Second),
		Note: statusNote,
	}
	recorded, incidents, err := r.readStatus(ctx, now)
	if s.Recorded = err == nil; err != nil {
		r.logger.Warn("cannot read the history of chains; the status shows only what this process sees",
			"error", err)
	}
	for _, c := range r.pool.Known().All() {
		if _, here := r.pool.Chain(c.ID); !here {
			continue
		}
		of := r.chainStatus(c, recorded[c.ID], now)
		s.State = worse(s.State, of.State)
		s.Chains = append(s.Chains, of)
	}
	for i := range incidents {
		s.Incidents = append(s.Incidents, r.incidentView(&incidents[i], now))
	}
	return s, nil
}

func (r *Reader) readStatus(ctx context.Context,
	now time.Time,
) (map[chain.ID]*chaindb.ChainRecord, []chaindb.Incident, error) {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	first := now.AddDate(0, 0, 1-StatusDays)
	all, err := r.store.LoadChains(ctx, first, now.Add(-time.Hour), now.Add(-wholeDay))
	if err != nil {
		return nil, nil, err
	}
	incidents, err := r.store.ListIncidents(ctx, first.Truncate(wholeDay), statusIncidents)
	return all, incidents, err
}

// badness orders states. Unknown is less bad than up.
var badness = []chain.State{chain.Unknown, chain.Up, chain.Degraded, chain.Down}

func worse(a, b chain.State) chain.State {
	if slices.Index(badness, b) > slices.Index(badness, a) {
		return b
	}
	return a
}

func (r *Reader) chainStatus(c *chain.Chain, from *chaindb.ChainRecord, now time.Time) ChainStatus {
	here, _ := r.pool.Chain(c.ID)
	is := here.Condition()
	s := ChainStatus{
		Chain: c.ID, Title: c.Title, Family: c.Family.String(), State: chain.Unknown,
		MeasuredAt: operation.NullTime(is.MeasuredAt),
		Upstreams:  is.Upstreams, Usable: is.Usable,
	}
	if is.Head > 0 {
		s.Head = &is.Head
	}
	if is.Usable > 0 && is.Latency > 0 {
		s.ProbeMS = new(Milliseconds(is.Latency))
	}
	if now.Sub(is.MeasuredAt) < statusFresh {
		s.State, s.Why = is.State()
	}
	if from == nil {
		from = &chaindb.ChainRecord{Windows: make([]chaindb.ChainWindow, 2)}
	}
	if m := from.Newest; m != nil && now.Sub(m.At) < statusFresh { // so that all processes report the same
		s.State, s.Why, s.MeasuredAt = m.State, m.Why, operation.NullTime(m.At)
	}
	s.LastHour, s.LastDay = callFigures(&from.Windows[0]), callFigures(&from.Windows[1])
	s.Days, s.Uptime = statusDays(from.Days, now, StatusDays)
	return s
}

func callFigures(w *chaindb.ChainWindow) CallFigures {
	f := CallFigures{Calls: w.Calls, Rerouted: w.Rerouted, Lost: w.Lost}
	if w.Calls > 0 {
		f.Errors = new(math.Round(float64(w.Lost)*10_000/float64(w.Calls)) / 100)
	}
	f.P50, f.P95 = quantile(&w.Latency, 0.5), quantile(&w.Latency, 0.95)
	return f
}

// quantile returns a quantile in milliseconds, with microsecond precision, or nil without calls.
func quantile(l *account.Latency, q float64) *float64 {
	d, ok := l.Quantile(q)
	if !ok {
		return nil
	}
	return new(Milliseconds(d))
}

// Milliseconds converts d to milliseconds with microsecond precision.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// statusDays returns the last limit days up to now, including days without a record, and the share
// of their measured time in which the chain was not down.
func statusDays(recorded []chaindb.ChainDay, now time.Time, limit int) (days []StatusDay, uptime *float64) {
	var well, measured time.Duration
	day := now.Truncate(wholeDay).AddDate(0, 0, 1-limit)
	for range limit {
		var of chaindb.ChainDay
		if i := slices.IndexFunc(recorded, func(d chaindb.ChainDay) bool { return d.Day.Equal(day) }); i >= 0 {
			of = recorded[i]
		}
		of.Day = day
		well, measured = well+of.Up+of.Degraded, measured+of.Up+of.Degraded+of.Down
		days = append(days, statusDay(&of, min(now.Sub(day), wholeDay)))
		day = day.AddDate(0, 0, 1)
	}
	return days, uptimeShare(well, measured)
}

// statusDay returns a day of which passed has elapsed.
func statusDay(d *chaindb.ChainDay, passed time.Duration) StatusDay {
	measured := d.Up + d.Degraded + d.Down
	s := StatusDay{
		Day: d.Day.Format(time.DateOnly), State: chain.Up, Up: seconds(d.Up), Degraded: seconds(d.Degraded),
		Down: seconds(d.Down), Unknown: seconds(max(0, passed-measured)),
		Uptime: uptimeShare(d.Up+d.Degraded, measured), Calls: d.Calls, Rerouted: d.Rerouted, Lost: d.Lost,
	}
	switch {
	case measured == 0:
		s.State = chain.Unknown
	case d.Down >= dayDown:
		s.State = chain.Down
	case d.Down+d.Degraded >= dayDegraded:
		s.State = chain.Degraded
	}
	return s
}

// uptimeShare returns part of whole in percent, or nil if whole is 0. It rounds down to hundredths,
// so that less than all is never 100.
func uptimeShare(part, whole time.Duration) *float64 {
	if whole <= 0 {
		return nil
	}
	return new(float64(part.Milliseconds()*10_000/whole.Milliseconds()) / 100)
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

func (r *Reader) incidentView(i *chaindb.Incident, now time.Time) IncidentView {
	v := IncidentView{
		ID: i.ID.String(), Chain: chain.ID(i.Chain), Title: r.pool.Known().Title(i.Chain), BeganAt: i.BeganAt,
		EndedAt: operation.NullTime(i.EndedAt),
		Seconds: seconds(now.Sub(i.BeganAt)),
	}
	if i.Over() {
		v.Seconds = seconds(i.EndedAt.Sub(i.BeganAt))
	}
	return v
}

// uptimeDays is the number of days over which recommendations take the uptime.
const uptimeDays = 30

// Uptimes returns each chain's share of the last uptimeDays in which it was not down. Chains
// without measurements are missing.
func (r *Reader) Uptimes(ctx context.Context) map[chain.ID]float64 {
	all := map[chain.ID]float64{}
	s, err := r.Status(ctx)
	if err != nil {
		return all // rank by the other criteria
	}
	for i := range s.Chains {
		var well, measured int64
		for _, d := range s.Chains[i].Days[StatusDays-uptimeDays:] {
			well, measured = well+d.Up+d.Degraded, measured+d.Up+d.Degraded+d.Down
		}
		if measured > 0 {
			all[s.Chains[i].Chain] = float64(well*10_000/measured) / 100
		}
	}
	return all
}
