package view

import "github.com/chainaccess/gateway/metering/plan"

// Tone is a state in colour. The text must state it as well.
type Tone string

// The tones. The empty one is neutral.
const (
	Good Tone = "good"
	Warn Tone = "warn"
	Bad  Tone = "bad"
)

// Link is a link.
type Link struct{ Text, To string }

// Status is a coloured dot with a text.
type Status struct {
	Tone Tone
	Text string
}

// Stat is one figure.
type Stat struct{ Label, Value, Unit, Note string }

// MeterBar shows how much of an allowance is used. Level is ok, near (80 %) or over (100 %).
type MeterBar struct {
	Label   string
	Figures string // 812,000 of 1,000,000 units
	Percent string // 81 %
	Share   int    // 0 to 100
	Level   string
	Next    string // what happens next and what to do
}

// Levels of a meter bar, at the same shares at which accounts get mails.
const (
	nearShare = 80
	fullShare = 100
)

// NewMeterBar shows used units of limit under the limit's name. next describes what happens at the
// limit.
func NewMeterBar(label string, used, limit plan.Units, next string) MeterBar {
	m := MeterBar{Label: label, Share: share(used, limit), Level: "ok", Next: next}
	if limit == plan.Unlimited || limit == 0 {
		m.Figures, m.Percent = Units(used)+", no limit", ""
		return m
	}
	m.Figures, m.Percent = used.Grouped()+" of "+Units(limit), Number(int64(m.Share))+" %"
	switch {
	case m.Share >= fullShare:
		m.Level = "over"
	case m.Share >= nearShare:
		m.Level = "near"
	}
	return m
}

// Copyable is a text to copy: a command, a key. ID is unique on the page.
type Copyable struct {
	ID, Text string
	What     string // what is copied, for the button's label
	Wrap     bool   // wrap lines instead of scrolling
}

// Empty is shown for an empty list and says how to fill it.
type Empty struct {
	Title, Text string
	Command     *Copyable
	Action      *Link
}

// Notice is a message: what happened and what to do next.
type Notice struct {
	Tone    Tone
	Title   string
	Text    string
	Code    string // of a refusal, for example -32009
	Steps   []string
	Links   []Link
	Request string // request id, if any
}

// Field is an input with its label, a hint next to it and an error below it.
type Field struct {
	Name, Label, Value string
	Type               string // "text" when empty
	Rule, Error        string
	Required           bool
	Autofocus          bool
	Complete           string // autocomplete
	Mode               string // inputmode
	Pattern            string
	Most               int // maxlength; 0 for no limit
	Options            []string
	TimeZone           bool // also offer the browser's time zones
	Hint               string
	Prefix             string // makes the id unique where several forms have a field of the same name
}

// ID returns the id of the input.
func (f Field) ID() string { return f.Prefix + f.Name }

// Described returns the ids of the elements that describe the input.
func (f Field) Described() string {
	switch {
	case f.Rule != "" && f.Error != "":
		return f.ID() + "-rule " + f.ID() + "-error"
	case f.Rule != "":
		return f.ID() + "-rule"
	case f.Error != "":
		return f.ID() + "-error"
	}
	return ""
}

// Option is an option of a selection.
type Option struct {
	Value, Text string
	Chosen      bool
}

// Selection is a choice of one option.
type Selection struct {
	ID                       string // on the page; empty to use the name
	Name, Label, Rule, Error string
	Options                  []Option
}

// Check is a checkbox.
type Check struct {
	Name, Value, Label, Rule string
	Checked, Disabled        bool
	ID                       string
}

// CheckGroup is a choice of several options.
type CheckGroup struct {
	Label  string
	Checks []Check
}

// ServiceLine is a row of the form that switches and caps services.
type ServiceLine struct {
	Key, Label, About string
	On                bool
	LockedOff         bool // switched off for the account
	Cap               string
	Error             string
	Used              string
}

// Event is an entry of a timeline.
type Event struct {
	When    Moment
	What    string
	Who     string
	Where   string
	Reason  string
	Of      Link // the changed key; empty for the account
	Changes []Difference
}

// Difference is a value before and after a change.
type Difference struct{ Name, Before, After string }
