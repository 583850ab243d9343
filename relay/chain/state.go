package chain

// State is how a chain stands for whoever calls it.
type State string

// The states. Up: calls are answered, and when an upstream fails another one takes over. Degraded:
// calls are answered, with something amiss. Down: no upstream can be used. Unknown: nobody has
// measured it lately.
const (
	Up       State = "up"
	Degraded State = "degraded"
	Down     State = "down"
	Unknown  State = "unknown"
)

// States lists the states.
func States() []State { return []State{Up, Degraded, Down, Unknown} }
