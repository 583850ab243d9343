package rules

// Meaning is the class of an upstream's answer.
type Meaning uint8

// The meanings. The words after them are their names in rules and metrics.
const (
	Answer      Meaning = iota // answer: results, reverts, the client's own mistakes; passed on
	Range                      // range_refused: more than this provider allows; ask another, else our own range refusal
	Plan                       // plan_refused: the operator's plan with this provider excludes it
	Billing                    // billing: the operator's plan with this provider is exhausted
	Throttled                  // throttled: this provider rate limits the operator
	MissingData                // missing_data: pruned, or not there yet; another node may have it
	ExecTimeout                // execution_timeout: the node gave up on the execution
	Absent                     // method_absent: the node does not have the method
	Unsupported                // unsupported: the node rejects some part of the call; another may accept it
	Denied                     // denied: the operator's credential was refused
	NodeFailure                // node_failure: the node failed by itself, whatever it was asked; another may answer
	Unknown                    // unknown: an error that no rule knows; what two upstreams say decides
	NullID                     // null_id: an error with id null, in words that only the answer to this call may use
	Broken                     // broken: an unusable answer
	Unreachable                // unreachable: no answer
)

var names = [...]string{
	Answer: "answer", Range: "range_refused", Plan: "plan_refused", Billing: "billing", Throttled: "throttled",
	MissingData: "missing_data", ExecTimeout: "execution_timeout", Absent: "method_absent", Unsupported: "unsupported",
	Denied: "denied", NodeFailure: "node_failure", Unknown: "unknown", NullID: "null_id", Broken: "broken",
	Unreachable: "unreachable",
}

// String returns the meaning's name in rules and metrics.
func (m Meaning) String() string { return names[m] }

// meaningOf returns the meaning of a rule's verdict, which was checked.
func meaningOf(name string) Meaning {
	for m, known := range names {
		if known == name {
			return Meaning(m) //nolint:gosec // a few
		}
	}
	return Unknown
}
