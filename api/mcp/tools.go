package mcp

// allTools returns the tools in the order of tools/list: getting a key, chains, advice, then
// management.
func (d *Door) allTools() []*tool {
	c := d.Capabilities
	groups := [][]*tool{
		doorTools(c), chainTools(c), offlineTools(c), adviceTools(c), keyTools(c), accountTools(c),
		usageTools(c), billingTools(c), supportTools(c),
	}
	var all []*tool
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

// Sentences that several tools share.
const (
	costsNothing = "No units. Management calls are limited to 60 a minute for a key."
	keyFreeCost  = "No units and no key. 60 such calls a minute from one network address."
	meteredFails = "-32001 no valid key: get_key makes one. -32009 suspended. -32005 too fast: wait retry_after " +
		"seconds. -32012 the service is switched off. -32006, -32007, -32014, -32016 a budget is used up: " +
		"data.next_door or what_can_i_do says what to do. -32021 the meter did not answer: call again. "
	managedFails = "-32001 no valid key. -32009 suspended. -32028 this key may not manage the account: use a key " +
		"that its owner made. -32005 too fast: wait retry_after seconds. "
	holderFails = "-32001 no valid key: get_key makes one. -32009 suspended. -32005 too fast: wait retry_after " +
		"seconds. "
	fieldFails     = "-32602 a parameter is wrong: data.fields names it."
	unitOfToolbox  = "1 unit; "
	evmOnly        = "Ethereum, Base, Arbitrum, Optimism and Polygon. "
	contractWallet = "-32020 or -32023 the chain that a contract wallet is on did not answer: call again. "
	notInForce     = "-32029 saved, and in force in a moment. "
	callerIsServed = "-32020, -32022 or -32023 the chain did not answer: nothing was charged, call again. "
)
