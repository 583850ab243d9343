package console

import "github.com/chainaccess/gateway/metering/plan"

// tone is how something stands. It is always said in words as well.
type tone string

// The tones; the empty one is neither good nor bad.
const (
	good tone = "good"
	warn tone = "warn"
	bad  tone = "bad"
)

// link is a place to go.
type link struct{ Text, To string }

// status is a dot with its text.
type status struct {
	Tone tone
	Text string
}

// stat is one number.
type stat struct{ Label, Value, Unit, Note string }

// meterBar shows what is used of an allowance. Level is ok, near (80 %) or over (100 %).
type meterBar struct {
	Label   string
	Figures string // 812,000 of 1,000,000 units
	Percent string // 81 %
	Share   int    // 0 to 100
	Level   string
	Next    string // what happens, and what to do
}

// Levels of a meter bar, at the shares at which accounts are told as well.
const (
	nearShare = 80
	fullShare = 100
)

// newMeterBar shows used of limit under the fence's name; next says what happens at its end.
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

// copyable is a text to take along: a command, a key. ID is unique on the page.
type copyable struct {
	ID, Text string
	What     string // what is copied, for the button's name
	Wrap     bool   // break it over lines instead of scrolling
}

// empty stands where there is nothing yet and says how to get something.
type empty struct {
	Title, Text string
	Command     *copyable
	Action      *link
}

// notice is a message: what happened, and what to do next.
type notice struct {
	Tone    tone
	Title   string
	Text    string
	Code    string // of a refusal, such as -32009
	Steps   []string
	Links   []link
	Request string // request id, where there is one
}

// field is one input with its label, its rule beside it, and its error under it.
type field struct {
	Name, Label, Value string
	Type               string // text when empty
	Rule, Error        string
	Required           bool
	Autofocus          bool
	Complete           string // autocomplete
	Mode               string // inputmode
	Pattern            string
	Most               int // maxlength; 0 for none
	Options            []string
	TimeZone           bool // offer the browser's zones as well
	Hint               string
	Prefix             string // makes the id unique where several forms have a field of one name
}

// ID names the input.
func (f field) ID() string { return f.Prefix + f.Name }

// Described lists the ids of what describes the input.
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

// option is one choice.
type option struct {
	Value, Text string
	Chosen      bool
}

// selection is a choice of one.
type selection struct {
	ID                       string // on the page; empty for the name
	Name, Label, Rule, Error string
	Options                  []option
}

// check is a box to tick.
type check struct {
	Name, Value, Label, Rule string
	Checked, Disabled        bool
	ID                       string
}

// checkGroup is a choice of several.
type checkGroup struct {
	Label  string
	Checks []check
}

// serviceLine is a line of the form that switches and caps services.
type serviceLine struct {
	Key, Label, About string
	On                bool
	LockedOff         bool // the account's switch decides
	Cap               string
	Error             string
	Used              string
}

// event is a line of a timeline.
type event struct {
	When    moment
	What    string
	Who     string
	Where   string
	Reason  string
	Of      link // the key that was changed; empty for the account
	Changes []difference
}

// difference is one value before and after a change.
type difference struct{ Name, Before, After string }
