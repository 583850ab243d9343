package contracts

import (
	"fmt"
	"strings"
)

// note explains what the answer lacks and what to do about it; empty if it lacks nothing.
func (c *contract) note(own, inner *look, chainID uint64) string {
	a := &c.ABI
	var said []string
	switch {
	case !a.Verified && own.standing == unknownChain:
		said = append(said, fmt.Sprintf("Sourcify verifies no contracts of chain %d, so none of them is verified here.",
			chainID))
	case !a.Verified && !c.Code:
		said = append(said, fmt.Sprintf("No contract is at this address on %s. Check the address and the chain.",
			a.Chain))
	case !a.Verified && inner != nil:
		said = append(said, "Neither this proxy nor its implementation is verified. "+howToVerify)
	case !a.Verified:
		said = append(said, "This contract is not verified. "+howToVerify)
	case inner != nil && inner.listing == nil:
		said = append(said, "The ABI is the proxy's own: its implementation is not verified. "+howToVerify)
	case inner != nil && own.listing == nil:
		said = append(said, "The ABI is the implementation's; the proxy itself is not verified.")
	case inner != nil:
		said = append(said, "The ABI is the implementation's.")
	}
	if len(a.Facets) > 0 {
		said = append(said, "The functions of this contract are those of its facets; ask for the ABI of each.")
	}
	if a.Verified && a.ABI == nil {
		said = append(said, "It was verified without an ABI.")
	}
	return strings.Join(said, " ")
}

const howToVerify = "Whoever has its sources can verify it at https://verify.sourcify.dev; it is looked up again " +
	"after five minutes."
