package chain

// State is a chain's state as its callers see it.
type State string

// The states. Up: calls are answered, and an upstream that fails has a replacement. Degraded: calls
// are answered, with a fault somewhere. Down: no upstream is usable. Unknown: there is no recent
// measurement.
const (
	Up       State = "up"
	Degraded State = "degraded"
	Down     State = "down"
	Unknown  State = "unknown"
)

// States returns all states.
func States() []State { return []State{Up, Degraded, Down, Unknown} }
