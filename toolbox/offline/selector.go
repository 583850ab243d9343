package offline

import "github.com/chainaccess/gateway/internal/fault"

// Limits of a signature. The longest on the chains, with parameter names, have some hundred
// characters and three levels.
const (
	MaxSignature = 2048 // characters
	maxDepth     = 16   // nested tuples
)

// Selector identifies a signature in contracts, transactions and logs.
type Selector struct {
	Signature string `json:"signature" doc:"the canonical form, which is hashed: the name and the types in brackets, without names of parameters and spaces, uint as uint256"`
	Selector  string `json:"selector" doc:"the first four bytes of the hash, with which calldata begins (functions) or the data of a revert (errors)"`
	Topic0    string `json:"topic0" doc:"the whole hash, Keccak-256: the first topic of a log (events)"`
}

// Select parses a signature of a function, an event or an error and returns its selector and topic.
// The signature is as in Solidity, or shorter: a name and the types in parentheses. Parameter
// names, the leading word function, event or error, modifiers and returned types are optional.
// Structs are tuples: (uint256,address), or tuple(uint256 a, address b).
//
// A type that the contract ABI does not have is refused by name.
func Select(signature string) (Selector, *fault.Error) {
	canonical, refusal := Canonical(signature)
	if refusal != nil {
		return Selector{}, refusal
	}
	hash := keccakHex([]byte(canonical))
	return Selector{Signature: canonical, Selector: hash[:2+2*4], Topic0: hash}, nil
}

// Canonical returns the form of a signature whose hash is its selector. It is idempotent.
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
