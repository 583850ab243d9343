package chaos_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/usagedb"
)

// checkAllowances checks that no key has used more units than any of its limits allows.
func (r *rig) checkAllowances() {
	r.t.Helper()
	for _, k := range r.keys {
		limit := k.allowance() * int64(plan.Unit)
		if limit == 0 {
			continue
		}
		var units int64 // the highest of a day, for daily allowances
		err := r.db.QueryRow(r.t.Context(), `SELECT coalesce(max(units), 0) FROM (
SELECT sum(units)::bigint AS units FROM usage_hours WHERE key_id = $1
GROUP BY CASE WHEN $2 THEN date_trunc('day', hour, 'UTC') END) AS days`, k.id, k.daily > 0).Scan(&units)
		if err != nil {
			r.t.Fatal(err)
		}
		if units > limit {
			r.t.Errorf("a key of %+v was admitted %d thousandths of units", k.holder, units)
		}
	}
}

// counterSums maps each kind of counter to the condition of its lines in PostgreSQL: $1 and $2 are
// the last two parts of the counter's name, $3 is the field.
var counterSums = map[string]string{
	"ap":  `account_id = $1::uuid AND period = $2::date AND (($3 = 'u' AND source = 'plan') OR $3 = 'c:' || service)`,
	"kp":  `key_id = $1::uuid AND period = $2::date AND ($3 = 'u' OR $3 = 'c:' || service)`,
	"pk":  `account_id = $1::uuid AND $2 = '' AND source = 'pack:' || $3`,
	"day": `key_id = $1::uuid AND floor(extract(epoch from hour) / 86400) = $2::bigint AND $3 = ''`,
}

// givenBack returns, by account and by key, the units of calls that were in flight when Redis lost
// everything, including their charges, and that were refunded afterwards: each is a refund without
// a charge. A counter that was created after the loss is not reduced by such a refund.
func (r *rig) givenBack(log []entry) map[string]int64 {
	units := map[string]int64{}
	for i := range log {
		if f, _, _ := fateOf(&log[i]); f == refunded && r.wiped.caught(&log[i]) {
			key := r.keys[slices.IndexFunc(r.keys, func(k apiKey) bool { return k.id == log[i].Key })]
			units[key.id] += log[i].Units
			units[key.account] += log[i].Units
		}
	}
	return units
}

func (r *rig) refundsWithoutCharge(log []entry) bool { return len(r.givenBack(log)) > 0 }

// checkCounters checks that the meter's counters equal the sums in PostgreSQL.
func (r *rig) checkCounters(log []entry) {
	r.t.Helper()
	givenBack := r.givenBack(log)
	checked := map[string]int{}
	for _, name := range r.scan("{u*}:") {
		parts := append(strings.Split(name, ":"), "")
		condition, ok := counterSums[parts[1]]
		if !ok {
			continue
		}
		for field, counted := range r.counter(name) {
			var recorded int64
			err := r.db.QueryRow(r.t.Context(), `SELECT coalesce(sum(units), 0)::bigint FROM usage_hours WHERE `+
				condition,
				parts[2], parts[3], field).Scan(&recorded)
			if err != nil {
				r.t.Fatal(err)
			}
			if beyond := counted - recorded; beyond < 0 || beyond > givenBack[parts[2]] {
				r.t.Errorf("%s %s: the meter has counted %d thousandths of units, PostgreSQL has %d", name, field,
					counted, recorded)
			}
			checked[parts[1]]++
		}
	}
	if checked["ap"] == 0 || checked["day"] == 0 {
		r.t.Errorf("of counters, only %v were there to be checked", checked)
	}
}

// counter reads a counter: a hash, or a string, which is returned under the empty field name.
func (r *rig) counter(name string) map[string]int64 {
	r.t.Helper()
	fields, err := r.rdb.HGetAll(r.t.Context(), name).Result()
	if err != nil && redis.HasErrorPrefix(err, "WRONGTYPE") {
		var value string
		value, err = r.rdb.Get(r.t.Context(), name).Result()
		fields = map[string]string{"": value}
	}
	if err != nil {
		r.t.Fatal(err)
	}
	figures := map[string]int64{}
	for field, value := range fields {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			r.t.Fatal(errors.Join(errors.New(name+" "+field), err))
		}
		figures[field] = n
	}
	return figures
}

// checkTotals checks that PostgreSQL's hourly and periodic sums agree for every period.
func (r *rig) checkTotals() {
	r.t.Helper()
	periods, err := r.store.ListUsagePeriods(r.t.Context(), usagedb.UsagePeriod{}, 10_000)
	if err != nil {
		r.t.Fatal(err)
	}
	if len(periods) < len(holders()) {
		r.t.Errorf("PostgreSQL has usage of %d periods only", len(periods))
	}
	for _, p := range periods {
		books, err := r.store.UsageBooks(r.t.Context(), p)
		if err != nil {
			r.t.Fatal(err)
		}
		if books.Totals != books.Hours {
			r.t.Errorf("%+v: the totals say %+v, the hours %+v", p, books.Totals, books.Hours)
		}
	}
}
