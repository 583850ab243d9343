package offline

import "github.com/chainaccess/gateway/internal/fault"

// Bounds of what a signature may be. The longest ones on the chains, with all names of their
// parameters, have some hundred characters and three levels.
const (
	MaxSignature = 2048 // characters
	maxDepth     = 16   // tuples inside each other
)

// Selector is what contracts, transactions and logs know a signature by.
type Selector struct {
	Signature string `json:"signature" doc:"the canonical form, which is hashed: the name and the types in brackets, without names of parameters and spaces, uint as uint256"`
	Selector  string `json:"selector" doc:"the first four bytes of the hash, with which calldata begins (functions) or the data of a revert (errors)"`
	Topic0    string `json:"topic0" doc:"the whole hash, Keccak-256: the first topic of a log (events)"`
}

// Select reads a signature of a function, an event or an error, and gives what it is known by. It
// is written as in Solidity, or shorter: a name and the types of its parameters in brackets, with
// their names and without, with the word function, event or error in front and without, with
// modifiers and what is returned behind it. Structs are tuples: (uint256,address), or tuple(uint256
// a, address b).
//
// A type that the contract ABI does not have is refused by its name.
func Select(signature string) (Selector, *fault.Error) {
	canonical, refusal := Canonical(signature)
	if refusal != nil {
		return Selector{}, refusal
	}
	hash := keccakHex([]byte(canonical))
	return Selector{Signature: canonical, Selector: hash[:2+2*4], Topic0: hash}, nil
}

// Canonical is the form of a signature whose hash is its selector. It is its own canonical form.
func Canonical(signature string) (string, *fault.Error) {
	if len(signature) > MaxSignature {
		return "", refuse("signature", "It has %d characters, and may have %d.", len(signature), MaxSignature)
	}
	p := parser{text: signature, out: make([]byte, 0, len(signature)+64)}
	p.signature()
	if p.problem != "" {
		return "", refuse("signature", "%s", p.problem)
	}
	return string(p.out), nil
}
