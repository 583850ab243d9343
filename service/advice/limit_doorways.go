package advice

import (
	"fmt"
	"strings"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/usage"
)

// FenceDoorways is a limit of the caller with the ways past it.
type FenceDoorways struct {
	Fence string                  `json:"fence" enum:"units_per_day,units_per_month,key_cap,service_cap,key_service_cap,service_off,data_service,requests,supply,keys_per_address_and_day" doc:"requests: in a sliding window"`
	Limit string                  `json:"limit" doc:"what it is, in words"`
	Code  int                     `json:"code,omitempty" doc:"with which calls are refused there"`
	Ways  map[string]keys.Doorway `json:"doorways" doc:"by name, like wait, bind, adopt, upgrade"`
}

// limitDoorways returns the limits of a caller. For a door key these are the limits that came with
// it, for others those of the account and the key.
func (h *handlers) limitDoorways(s *callerState) []FenceDoorways {
	if s.Key.Door == account.DoorPublic || s.Key.Door == account.DoorWallet {
		return h.doorKeyLimits(s)
	}
	list := []FenceDoorways{}
	for i := range s.Budgets {
		if f, ok := h.budgetLimit(s, &s.Budgets[i]); ok {
			list = append(list, f)
		}
	}
	list = append(list, h.switchedOff(s)...)
	rate := s.rate().Window()
	list = append(list, FenceDoorways{
		Fence: "requests", Code: fault.RateWindow.Entry().Code,
		Limit: fmt.Sprintf("%d requests in any %s, all keys of the account together", rate.Limit, rate.Per),
		Ways: map[string]keys.Doorway{
			"wait":    {Past: "requests", Open: true, Do: "Wait for the seconds that Retry-After says."},
			"upgrade": h.upgrade(s, "requests"),
		},
	})
	if !s.Terms.Plan.Data {
		list = append(list, FenceDoorways{
			Fence: "data_service", Limit: "balances and history do not come with the plan " + s.Terms.Plan.Title,
			Code: fault.PlanLacksService.Entry().Code, Ways: map[string]keys.Doorway{
				"upgrade": h.upgrade(s, "data_service"),
			},
		})
	}
	if s.Terms.Plan.Supply != plan.Premium {
		ways := map[string]keys.Doorway{"upgrade": h.upgrade(s, "supply")}
		if s.Terms.DrawsPacks() {
			ways["buy_pack"] = h.packDoorway(s, "supply")
		}
		list = append(list, FenceDoorways{
			Fence: "supply", Limit: string(s.Terms.Plan.Supply) + " upstreams", Ways: ways,
		})
	}
	for i := range list {
		list[i].Ways["ticket"] = h.Doorways.Ticket(list[i].Fence)
	}
	return list
}

// doorKeyLimits returns the limits of a door key, each with the doorways of its welcome that lead
// past it.
func (h *handlers) doorKeyLimits(s *callerState) []FenceDoorways {
	var code account.ClaimCode
	if s.Key.Adoptable {
		code = s.Secret.ClaimCode(h.Hasher)
	}
	w := h.Doorways.Welcome(s.Key.Prefix, s.Key.Door, code)
	units := FenceDoorways{
		Fence: "units_per_day", Limit: w.Fences.UnitsPerDay.Grouped() + " units a UTC day",
		Code: fault.DoorKeyDay.Entry().Code,
	}
	if s.Key.Door == account.DoorWallet {
		units = FenceDoorways{
			Fence: "units_per_month", Limit: w.Fences.UnitsPerMonth.Grouped() + " units a calendar month",
			Code: fault.PlanQuota.Entry().Code,
		}
	}
	list := []FenceDoorways{
		units,
		{
			Fence: "requests", Limit: fmt.Sprintf("%d requests a second", w.Fences.RequestsPerSecond),
			Code: fault.RateWindow.Entry().Code,
		},
		{Fence: "supply", Limit: string(w.Fences.Supply) + " upstreams"},
		{
			Fence: "data_service", Limit: "balances and history do not come with this key",
			Code: fault.PlanLacksService.Entry().Code,
		},
		{Fence: "keys_per_address_and_day", Limit: fmt.Sprintf("%d new keys a UTC day from a network address",
			w.Fences.KeysPerAddressDay), Code: fault.NewKeyQuota.Entry().Code},
	}
	for i := range list {
		f := &list[i]
		f.Ways = map[string]keys.Doorway{"ticket": h.Doorways.Ticket(f.Fence)}
		for name, way := range w.Doorways {
			if strings.Contains(way.Past, f.Fence) || f.Fence == "data_service" && name == "adopt" {
				f.Ways[name] = way
			}
		}
	}
	list[1].Ways["wait"] = keys.Doorway{Past: "requests", Open: true, Do: "Wait for the seconds that Retry-After says."}
	return list
}

// budgetLimit returns the limit behind a budget. It returns false for a pack: using it up refuses
// nothing by itself.
func (h *handlers) budgetLimit(s *callerState, b *usage.Budget) (FenceDoorways, bool) {
	f := FenceDoorways{
		Code: b.Code, Ways: map[string]keys.Doorway{}, Limit: b.Limit.Grouped() + " units of the billing period",
	}
	if b.ResetsAt != nil {
		f.Ways["wait"] = keys.Doorway{
			Open: true, Do: "Wait until the count begins anew.", At: b.ResetsAt.UTC().Format(time.RFC3339),
		}
	}
	switch b.Kind {
	case usage.BudgetPlan:
		f.Fence = "units_per_month"
		f.Ways["upgrade"] = h.upgrade(s, f.Fence)
		if b.Then == usage.ThenRefused {
			f.Ways["buy_pack"] = h.packDoorway(s, f.Fence)
		} else {
			f.Limit += ", beyond which calls are slower"
		}
	case usage.BudgetKey:
		f.Fence = "key_cap"
		f.Ways["raise"] = h.change(s, f.Fence, "configure_key", "raise or remove monthly_request_cap of this key",
			"/keys")
	case usage.BudgetKeyService:
		f.Fence, f.Limit = "key_service_cap", f.Limit+" for "+string(b.Service)+" on this key"
		f.Ways["raise"] = h.change(s, f.Fence, "configure_key", "raise the cap of "+string(b.Service)+" on this key",
			"/keys")
	case usage.BudgetService:
		f.Fence, f.Limit = "service_cap", f.Limit+" for "+string(b.Service)+", all keys together"
		f.Ways["raise"] = h.change(s, f.Fence, "configure_services", "raise the cap of "+string(b.Service), "/settings")
	case usage.BudgetKeyDay: // of an adopted key, which keeps its limit
		f.Fence, f.Limit = "units_per_day", b.Limit.Grouped()+" units a UTC day"
	case usage.BudgetPack:
		return f, false
	}
	if way, ok := f.Ways["wait"]; ok {
		way.Past = f.Fence
		f.Ways["wait"] = way
	}
	return f, true
}

// switchedOff returns the services that are switched off, with where to switch each on.
func (h *handlers) switchedOff(s *callerState) []FenceDoorways {
	var list []FenceDoorways
	for _, service := range account.Services() {
		f := FenceDoorways{
			Fence: "service_off", Limit: string(service) + " is switched off", Code: fault.ServiceOff.Entry().Code,
			Ways: map[string]keys.Doorway{},
		}
		if s.offOnAccount(service) {
			f.Ways["switch_on"] = h.change(s, f.Fence, "configure_services", "add "+string(service)+" to enabled",
				"/settings")
		}
		if s.offOnKey(service) {
			f.Ways["switch_on_key"] = h.change(s, f.Fence, "configure_key",
				"add "+string(service)+" to enabled of this key", "/keys")
		}
		if len(f.Ways) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// change returns a doorway for a change of settings. Callers who manage the account use the tool,
// others ask the owner.
func (h *handlers) change(s *callerState, past, tool, what, page string) keys.Doorway {
	do := "With " + tool + ": " + what + "."
	if !s.Manages() {
		do = "Ask the account's owner to " + what + "; this key may not."
	}
	return keys.Doorway{Past: past, Do: do, At: h.PublicURL + page, Open: s.Manages()}
}

func (h *handlers) upgrade(s *callerState, past string) keys.Doorway {
	do := "Change to a larger plan, which list_plans and ladder_at_your_volume show; a person pays for it."
	if s.Part {
		do = "Ask the account's owner for a larger plan."
	}
	return keys.Doorway{Past: past, Do: do, At: h.PublicURL + "/billing", Open: h.Stripe != nil}
}

func (h *handlers) packDoorway(s *callerState, past string) keys.Doorway {
	do := "Call buy_pack and hand its checkout_url to a person who pays; packs are drawn after the quota, with " +
		"premium supply."
	if s.Part {
		do = "Ask the account's owner to buy a pack, or hand them the checkout_url of buy_pack."
	}
	return keys.Doorway{Past: past, Do: do, At: h.PublicURL + "/billing", Open: h.Stripe != nil}
}
