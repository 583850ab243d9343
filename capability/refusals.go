package capability

import (
	"slices"

	"github.com/chainaccess/gateway/fault"
)

// Refusals lists every reason with which the capability may refuse, in the order of the table: those that its access and its input bring
// along, and its own.
func (m Meta) Refusals() []fault.Reason {
	reasons := slices.Concat([]fault.Reason{fault.FieldRefused, fault.InternalFault}, m.Access.refusals(), m.Fails)
	slices.Sort(reasons)
	return slices.Compact(reasons)
}

// refusals are the reasons with which identify refuses.
func (a Access) refusals() []fault.Reason {
	known := []fault.Reason{fault.KeyInvalid, fault.AccountSuspended, fault.RateWindow, fault.MeterUnreachable, fault.DurableUnavailable}
	switch a {
	case Everybody:
		return nil
	case KeyHolders, Users:
		return known
	case Managers, Owners:
		return append(known, fault.WrongKindOfKey)
	}
	return known
}
