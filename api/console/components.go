package console

import "github.com/chainaccess/gateway/metering/plan"

// tone is a state in colour. The text must state it as well.
type tone string

// The tones. The empty one is neutral.
const (
	good tone = "good"
	warn tone = "warn"
	bad  tone = "bad"
)

// link is a link.
type link struct{ Text, To string }

// status is a coloured dot with a text.
type status struct {
	Tone tone
	Text string
}

// stat is one figure.
type stat struct{ Label, Value, Unit, Note string }

// meterBar shows how much of an allowance is used. Level is ok, near (80 %) or over (100 %).
type meterBar struct {
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

// newMeterBar shows used units of limit under the fence's name. next describes what happens at the
// limit.
func newMeterBar(label string, used, limit plan.Units, next string) meterBar {
	m := meterBar{Label: label, Share: share(used, limit), Level: "ok", Next: next}
	if limit == plan.Unlimited || limit == 0 {
		m.Figures, m.Percent = units(used)+", no limit", ""
		return m
	}
	m.Figures, m.Percent = used.Grouped()+" of "+units(limit), number(int64(m.Share))+" %"
	switch {
	case m.Share >= fullShare:
		m.Level = "over"
	case m.Share >= nearShare:
		m.Level = "near"
	}
	return m
}

// copyable is a text to copy: a command, a key. ID is unique on the page.
type copyable struct {
	ID, Text string
	What     string // what is copied, for the button's label
	Wrap     bool   // wrap lines instead of scrolling
}

// empty is shown for an empty list and says how to fill it.
type empty struct {
	Title, Text string
	Command     *copyable
	Action      *link
}

// notice is a message: what happened and what to do next.
type notice struct {
	Tone    tone
	Title   string
	Text    string
	Code    string // of a refusal, for example -32009
	Steps   []string
	Links   []link
	Request string // request id, if any
}

// field is an input with its label, a hint next to it and an error below it.
type field struct {
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
func (f field) ID() string { return f.Prefix + f.Name }

// Described returns the ids of the elements that describe the input.
func (f field) Described() string {
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

// option is an option of a selection.
type option struct {
	Value, Text string
	Chosen      bool
}

// selection is a choice of one option.
type selection struct {
	ID                       string // on the page; empty to use the name
	Name, Label, Rule, Error string
	Options                  []option
}

// check is a checkbox.
type check struct {
	Name, Value, Label, Rule string
	Checked, Disabled        bool
	ID                       string
}

// checkGroup is a choice of several options.
type checkGroup struct {
	Label  string
	Checks []check
}

// serviceLine is a row of the form that switches and caps services.
type serviceLine struct {
	Key, Label, About string
	On                bool
	LockedOff         bool // switched off for the account
	Cap               string
	Error             string
	Used              string
}

// event is an entry of a timeline.
type event struct {
	When    moment
	What    string
	Who     string
	Where   string
	Reason  string
	Of      link // the changed key; empty for the account
	Changes []difference
}

// difference is a value before and after a change.
type difference struct{ Name, Before, After string }
