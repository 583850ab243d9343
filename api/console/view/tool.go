package view

// Value is a value of an answer for people: a text, pairs, a table or a list. Its content comes
// from chains, so it may be anything.
type Value struct {
	Text    string
	Nothing bool // null, or an empty list
	Code    bool // not prose
	Pairs   []Pair
	Columns []string
	Names   []string // of rows that have one
	Rows    [][]Value
	Items   []Value
	More    string // what is omitted
	Label   string // of a table
}

// Pair is a name with its value and its description in the schema.
type Pair struct {
	Name, About string
	Value       Value
}

// Tool is a tool with the values in its form and the outcome of its last run.
type Tool struct {
	Name, Title, About string
	Cost, Kept         string
	Live               bool   // visitors may run it here
	Method, Token      string // of its form
	Inputs             []Input
	Curl               Copyable
	Outcome            *Outcome

	// toolbox.js builds the command from these.
	PublicURL, Route, RouteMethod string
}

// Input is an input with its value.
type Input struct {
	Field

	Optional bool // it may be left out
	Kind     Kind
	Options  []Option
	Ticked   bool
	Place    Place
	JSONType string
	Always   bool // an empty text or an unticked box is sent, because omitting it has another meaning
}

// Outcome is the result of running a tool.
type Outcome struct {
	Title   string // of the tool
	Facts   string
	Answer  *Value
	Raw     string // the answer as JSON
	Whole   bool   // Raw is complete
	Refused *Notice
	Errors  []FieldError
}

// FieldError is the error of a field of the form.
type FieldError struct{ ID, Text string }

// Place is the part of a request that an input belongs to.
type Place string

// The places.
const (
	InPath  Place = "path"
	InQuery Place = "query"
	InBody  Place = "body"
)

// Kind is the kind of form control for an input.
type Kind string

// The kinds.
const (
	LineKind   Kind = "line"
	AreaKind   Kind = "area"
	ChoiceKind Kind = "choice"
	TickKind   Kind = "tick"
)
