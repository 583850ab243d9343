package chain

import "fmt"

// Terms say in words what of a call's parameters decides what it weighs. Both are empty where nothing does.
type Terms struct {
	// Heavy completes "it weighs 2 when …".
	Heavy string
	// Cap is a sentence of what is refused, and what to do instead.
	Cap string
}

// Terms gives what Weigh goes by.
func (m *Method) Terms() Terms {
	switch m.rule {
	case weighLogRange:
		return Terms{
			Heavy: fmt.Sprintf("its range spans more than %d blocks, both bounds counted", WideLogBlocks),
			Cap: fmt.Sprintf("A range of more than %d blocks is refused with -32602 and costs nothing: ask for %d blocks at a time. A filter with blockHash weighs 1.",
				MaxLogBlocks, MaxLogBlocks),
		}
	case weighFeeWindow:
		return Terms{Cap: fmt.Sprintf("More than %d blocks are refused with -32602 and cost nothing: ask for %d at a time.", MaxFeeBlocks, MaxFeeBlocks)}
	case weighStateDepth:
		return Terms{Heavy: fmt.Sprintf("its block number lies more than %d blocks below the head, or is earliest; tags near the head and block hashes weigh 1", StateDepth)}
	default:
		return Terms{}
	}
}
