package view

import (
	"cmp"
	"net/url"
)

// Names of fields that forms and URLs of several sections have.
const (
	StatusField  = "status"  // of a list's filter
	CursorField  = "cursor"  // of a list's page
	DoField      = "do"      // of the pressed button
	MessageField = "message" // a text
)

// Choose returns a selection of values with their words.
func Choose(name, label string, choices [][2]string, chosen, wrong string) Selection {
	s := Selection{Name: name, Label: label, Error: wrong}
	for _, c := range choices {
		s.Options = append(s.Options, Option{c[0], c[1], c[0] == chosen})
	}
	return s
}

// Hidden is a hidden value of a form.
type Hidden struct{ Name, Value string }

// Asking shows which key this page asks with, and has the form that forgets it.
type Asking struct{ Token, With string }

// Filter is a filter of a list, as a link.
type Filter struct {
	Link

	Current bool
}

// Area is a multi-line text field.
type Area struct {
	ID                              string // on the page; empty to use the name
	Name, Label, Value, Rule, Error string
	Required, Autofocus             bool
	Most, Rows                      int
}

// Described returns the ids of the elements that describe the text field.
func (a Area) Described() string {
	return Field{Name: cmp.Or(a.ID, a.Name), Rule: a.Rule, Error: a.Error}.Described()
}

// Button is a submit button.
type Button struct {
	Do, Text string
	Primary  bool
}

// FiltersOf returns links for the filters of a list; current is the selected one.
func FiltersOf(at string, choices [][2]string, current string) []Filter {
	all := make([]Filter, len(choices))
	for i, c := range choices {
		to := at
		if i > 0 {
			to += "?" + url.Values{StatusField: {c[0]}}.Encode()
		}
		all[i] = Filter{Link{c[1], to}, c[0] == current}
	}
	return all
}

// PageAt returns the URL of a page of a list.
func PageAt(at, chosen, cursor string) string {
	query := url.Values{}
	if chosen != "" {
		query.Set(StatusField, chosen)
	}
	if cursor != "" {
		query.Set(CursorField, cursor)
	}
	if len(query) == 0 {
		return at
	}
	return at + "?" + query.Encode()
}

// ChoiceLink is one of several views of a page.
type ChoiceLink struct {
	Link

	Current bool
}
