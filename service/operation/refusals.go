package operation

import (
	"slices"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
)

// Refusals returns every reason with which the operation may refuse, in the order of the table:
// those of its access and its input, and its own.
func (m *Meta) Refusals() []fault.Reason {
	brought := m.Access.refusals()
	if m.Metered() {
		brought = m.limits()
	}
	if m.PerNetwork {
		brought = append(brought, fault.RateWindow, fault.MeterUnreachable)
	}
	reasons := slices.Concat([]fault.Reason{fault.FieldRefused, fault.InternalFault}, brought, m.Fails)
	slices.Sort(reasons)
	return slices.Compact(reasons)
}

// refusals are the reasons with which identify refuses.
func (a Access) refusals() []fault.Reason {
	known := []fault.Reason{
		fault.KeyInvalid, fault.AccountSuspended, fault.RateWindow, fault.MeterUnreachable, fault.DurableUnavailable,
	}
	switch a {
	case Everybody:
		return nil
	case KeyHolders, Holders, Users, Staff: // for anybody but staff the operation does not exist
		return known
	case Managers, Owners:
		return append(known, fault.WrongKindOfKey)
	}
	return known
}

// limits returns the reasons with which any metered use is refused (docs/interface.md, 1.4).
func (m *Meta) limits() []fault.Reason {
	reasons := []fault.Reason{
		fault.KeyInvalid, fault.AccountSuspended, fault.RateWindow, fault.ServiceOff, fault.KeyBudget, fault.ServiceCap,
		fault.DoorKeyDay, fault.PlanQuota, fault.MeterUnreachable,
	}
	if m.Service == account.Data {
		reasons = append(reasons, fault.PlanLacksService)
	}
	if m.chainInPath() {
		reasons = append(reasons, fault.UnknownChain)
	}
	if m.TTL > 0 {
		reasons = append(reasons, fault.UpstreamTimeout) // of waiting for a shared run
	}
	return reasons
}
