// Package price computes what requests cost the operator at providers. Providers count requests in
// units of their own (compute units, credits) by method, and sell those units. The package has
// their published tables, and sums what this process spent. What clients pay is metering/plan's.
package price

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Nanos is money in billionths of a US dollar: a request costs a small fraction of a cent.
type Nanos int64

// Dollars returns the amount in US dollars, for metrics and reports; sums are made of Nanos.
func (n Nanos) Dollars() float64 { return float64(n) / 1e9 }

// String returns the amount in US dollars with six decimals, as 12.345600.
func (n Nanos) String() string {
	sign, whole := "", n
	if n < 0 {
		sign, whole = "-", -n
	}
	micros := (whole + 500) / 1000
	return fmt.Sprintf("%s%d.%06d", sign, micros/1_000_000, micros%1_000_000)
}

// Cost is what requests cost: in the provider's units, and in money.
type Cost struct {
	Units int64
	Nanos Nanos
}

// Add returns the sum of two costs of one provider.
func (c Cost) Add(other Cost) Cost { return Cost{c.Units + other.Units, c.Nanos + other.Nanos} }

// Sub returns c without other.
func (c Cost) Sub(other Cost) Cost { return Cost{c.Units - other.Units, c.Nanos - other.Nanos} }

// Setting is the member price of an upstream in the upstreams file.
type Setting struct {
	Table         string           // a built-in table; empty for none
	USDPerMillion float64          // price of a million of the provider's units; 0 for the table's
	Default       int64            // units of a method that is not listed; 0 for the table's, or 1
	Methods       map[string]int64 // units by method, or by prefix that ends in *; before the table's
}

const (
	maxUSDPerMillion = 1_000_000
	maxUnits         = 1_000_000 // of one request
	maxMethods       = 200
	nanosPerDollar   = 1_000_000_000
	million          = 1_000_000
)

// Check returns what is wrong with a setting, by member; empty if nothing is.
func (s *Setting) Check() map[string]string {
	wrong := map[string]string{}
	table, known := tables[s.Table]
	if s.Table != "" && !known {
		wrong["table"] = "give one of " + strings.Join(Tables(), ", ") + ", or leave it out and list methods"
	}
	switch usd := s.USDPerMillion; {
	case usd == 0 && (!known || table.USDPerMillion == 0):
		wrong["usd_per_million"] = "give what a million of the provider's units cost in US dollars on your plan"
	case math.IsNaN(usd) || usd < 0 || usd > maxUSDPerMillion || usd != 0 && nanosOf(usd) == 0:
		wrong["usd_per_million"] = "give a number from 0.001 to 1000000"
	}
	if s.Default < 0 || s.Default > maxUnits {
		wrong["default"] = fmt.Sprintf("give a whole number from 0 to %d", maxUnits)
	}
	if len(s.Methods) > maxMethods {
		wrong["methods"] = fmt.Sprintf("give at most %d methods", maxMethods)
	}
	for name, units := range s.Methods {
		switch {
		case name == "" || name == "*":
			wrong["methods"] = "give names, or prefixes that end in *; default is for all others"
		case units < 0 || units > maxUnits:
			wrong["methods"] = fmt.Sprintf("give whole numbers from 0 to %d", maxUnits)
		}
	}
	return wrong
}

// nanosOf returns the price of one unit.
func nanosOf(usdPerMillion float64) Nanos {
	return Nanos(math.Round(usdPerMillion * nanosPerDollar / million))
}

// Tariff is a checked setting for one family of chains. A nil *Tariff charges nothing.
type Tariff struct {
	perUnit  Nanos
	fallback int64
	methods  map[string]int64
	prefixes []prefix // the longest first
}

type prefix struct {
	begins string
	units  int64
}

// Tariff returns the setting's tariff for EVM chains or for Solana. The setting was checked.
func (s *Setting) Tariff(solana bool) *Tariff {
	table := tables[s.Table]
	t := &Tariff{perUnit: nanosOf(s.USDPerMillion), fallback: s.Default, methods: map[string]int64{}}
	if s.USDPerMillion == 0 {
		t.perUnit = nanosOf(table.USDPerMillion)
	}
	listed := table.EVM
	if solana {
		listed = table.Solana
	}
	if t.fallback == 0 {
		t.fallback = max(listed.Default, 1)
	}
	t.add(listed.Methods)
	t.add(s.Methods)
	slices.SortFunc(t.prefixes, func(a, b prefix) int { return len(b.begins) - len(a.begins) })
	return t
}

// add lists methods, which replace those of the same name.
func (t *Tariff) add(methods map[string]int64) {
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		begins, isPrefix := strings.CutSuffix(name, "*")
		if !isPrefix {
			t.methods[name] = methods[name]
			continue
		}
		t.prefixes = slices.DeleteFunc(t.prefixes, func(p prefix) bool { return p.begins == begins })
		t.prefixes = append(t.prefixes, prefix{begins, methods[name]})
	}
}

// Of returns the cost of one request. It does not allocate.
func (t *Tariff) Of(method []byte) Cost {
	if t == nil {
		return Cost{}
	}
	units := t.unitsOf(method)
	return Cost{units, Nanos(units) * t.perUnit}
}

func (t *Tariff) unitsOf(method []byte) int64 {
	if units, ok := t.methods[string(method)]; ok {
		return units
	}
	for _, p := range t.prefixes {
		if len(method) >= len(p.begins) && string(method[:len(p.begins)]) == p.begins {
			return p.units
		}
	}
	return t.fallback
}
