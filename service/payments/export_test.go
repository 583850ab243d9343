package payments

// SharedRedeems returns how many redeems waited for another one of the same payer.
func (o *Operations) SharedRedeems() uint64 { return o.handlers.payers.Followed() }
