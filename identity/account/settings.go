package account

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
)

// MaxCap is the largest cap or quota: 5,000 times what the largest plan includes in a month. The
// meter's numbers are exact up to nine times as much.
const MaxCap = 1_000_000_000_000 * plan.Unit

// ServiceLimits are the switches and the monthly caps of services, for an account or a key.
type ServiceLimits struct {
	Off  []Service              // switched off, in the order of the interface
	Caps map[Service]plan.Units // units of a period; a service that is missing has no cap
}

// IsOff reports whether a service is switched off.
func (f ServiceLimits) IsOff(s Service) bool { return slices.Contains(f.Off, s) }

// Equal reports whether both are the same.
func (f ServiceLimits) Equal(other ServiceLimits) bool {
	return slices.Equal(f.Off, other.Off) && maps.Equal(f.Caps, other.Caps)
}

// Settings is a request to change limits of an account or a key. Nil fields change nothing.
type Settings struct {
	// MonthlyCap is for keys: whole units of a period; 0 removes the cap (docs/interface.md, 2.2,
	// key).
	MonthlyCap *json.Number
	// Enabled is the full list of services that are switched on.
	Enabled *[]string
	// Caps is the full list of monthly caps by service; an empty one removes all.
	Caps *map[string]json.Number
}

// Number returns an amount in the form that Settings take; nil stays nil.
func Number(n *int64) *json.Number {
	if n == nil {
		return nil
	}
	text := json.Number(strconv.FormatInt(*n, 10))
	return &text
}

// Around are the bounds for a key's limits: those of its account.
type Around struct {
	// Allowance is what the account can use in a period, packs included; Unlimited for none.
	Allowance plan.Units
	Services  ServiceLimits
}

// ForAccount returns the service limits of an account after the change, and refuses MonthlyCap.
func (s Settings) ForAccount(now ServiceLimits) (ServiceLimits, *fault.Error) {
	if s.MonthlyCap != nil {
		return now, refuse(
			"monthly_request_cap is a fence of a key. Set it on a key of the account; an account's own is its plan.")
	}
	return s.services(now, nil)
}

// ForKey returns the cap and the service limits of a key after the change. It refuses a limit that
// is wider than the account's, and names the account's value.
func (s Settings) ForKey(monthlyCap plan.Units, now ServiceLimits,
	around Around,
) (plan.Units, ServiceLimits, *fault.Error) {
	if s.MonthlyCap != nil {
		wanted, refusal := parseCap("monthly_request_cap", *s.MonthlyCap)
		switch {
		case refusal != nil:
			return monthlyCap, now, refusal
		case around.Allowance != Unlimited && wanted > around.Allowance:
			return monthlyCap, now,
				refuse("monthly_request_cap %s is wider than the account, which has %s units a month. Choose at most "+
					"that, or 0 for no cap of the key's own.",
					wanted, around.Allowance)
		}
		monthlyCap = wanted
	}
	services, refusal := s.services(now, &around.Services)
	return monthlyCap, services, refusal
}

// services applies switches and caps; around is nil for an account.
func (s Settings) services(now ServiceLimits, around *ServiceLimits) (ServiceLimits, *fault.Error) {
	after := ServiceLimits{Off: now.Off, Caps: now.Caps}
	if s.Enabled != nil {
		off, refusal := switchedOff(*s.Enabled)
		if refusal != nil {
			return now, refusal
		}
		after.Off = off
	}
	if s.Caps != nil {
		after.Caps = make(map[Service]plan.Units, len(*s.Caps))
		for _, name := range slices.Sorted(maps.Keys(*s.Caps)) {
			service, ok := ParseService(name)
			if !ok {
				return now, unknownService("caps", name)
			}
			wanted, refusal := parseCap("caps."+name, (*s.Caps)[name])
			if refusal != nil {
				return now, refusal
			}
			if wanted == 0 {
				return now, refuse("caps.%s is 0. Leave %s out of enabled to switch it off, or out of caps for no cap.",
					name, name)
			}
			after.Caps[service] = wanted
		}
	}
	if around != nil {
		if refusal := s.wider(after, *around); refusal != nil {
			return now, refusal
		}
	}
	return after, nil
}

// wider refuses a change that exceeds the account's limits. A limit that the key had before, and
// that the account has narrowed since, may stay: the meter enforces both.
func (s Settings) wider(after, around ServiceLimits) *fault.Error {
	if s.Enabled != nil {
		for _, service := range around.Off {
			if slices.Contains(*s.Enabled, string(service)) {
				return refuse("enabled names %s, which is switched off for the account. Switch it on there first.",
					service)
			}
		}
	}
	if s.Caps == nil {
		return nil
	}
	for _, service := range services {
		limit, capped := around.Caps[service]
		if wanted, ok := after.Caps[service]; ok && capped && wanted > limit {
			return refuse(
				"caps.%s %s is wider than the account's cap of %s units a month. Choose at most that, or leave it out.",
				service, wanted, limit)
		}
	}
	return nil
}

// switchedOff converts the full list of enabled services to the list of disabled ones.
func switchedOff(enabled []string) ([]Service, *fault.Error) {
	off := Services()
	for _, name := range enabled {
		service, ok := ParseService(name)
		if !ok {
			return nil, unknownService("enabled", name)
		}
		off = slices.DeleteFunc(off, func(s Service) bool { return s == service })
	}
	if len(off) == 0 {
		return nil, nil
	}
	return off, nil
}

const longestCap = 20 // longest number that an error repeats

// parseCap parses a cap in whole units.
func parseCap(field string, number json.Number) (plan.Units, *fault.Error) {
	text := number.String()
	units, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil && units >= 0 && units <= int64(MaxCap/plan.Unit) && text[0] != '+':
		return plan.Units(units) * plan.Unit, nil
	case len(text) > longestCap:
		text = text[:longestCap] + "…"
	}
	return 0, refuse("%s is %q; it takes whole units from 0 to %s.", field, text, MaxCap)
}

func unknownService(field, name string) *fault.Error {
	if len(name) > longestCap {
		name = name[:longestCap] + "…"
	}
	known := make([]string, len(services))
	for i, s := range services {
		known[i] = string(s)
	}
	return refuse("%s names %q, which is no service. Services are %s.", field, name, strings.Join(known, ", "))
}

func refuse(format string, args ...any) *fault.Error {
	return fault.New(fault.FieldRefused, format, args...)
}
