package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// Limits of what the page shows of an answer. The command returns all of it.
const (
	maxRows    = 50
	maxPairs   = 60
	maxColumns = 8
	maxDepth   = 1 // of nested pairs and lists; deeper values are shown as JSON
	maxText    = 1000
	maxValues  = 2000
	maxRaw     = 64 << 10
)

// shown is a value of an answer for people: a text, pairs, a table or a list. Its content comes
// from chains, so it may be anything.
type shown struct {
	Text    string
	Nothing bool // null, or an empty list
	Code    bool // not prose
	Pairs   []pair
	Columns []string
	Names   []string // of rows that have one
	Rows    [][]shown
	Items   []shown
	More    string // what is omitted
	Label   string // of a table
}

// pair is a name with its value and its description in the schema.
type pair struct {
	Name, About string
	Value       shown
}

// member is a member of an object, in the order of the answer.
type member struct {
	name  string
	value any
}

// object is a JSON object whose members keep their order.
type object []member

// showAnswer parses an answer and describes its fields by their schema.
func showAnswer(answer []byte, schema *huma.Schema) (shown, error) {
	if !json.Valid(answer) { // also limits the depth
		return shown{}, errors.New("the answer is no JSON")
	}
	d := json.NewDecoder(bytes.NewReader(answer))
	d.UseNumber()
	left := maxValues
	s := show(readValue(d), "answer", 0, &left)
	for i := range s.Pairs {
		if p := schema.Properties[s.Pairs[i].Name]; p != nil {
			s.Pairs[i].About = explained(p, p.Description)
		}
	}
	return s, nil
}

// readValue reads one value of valid JSON.
func readValue(d *json.Decoder) any {
	token, _ := d.Token() // valid JSON has one
	switch token {
	case json.Delim('{'):
		all := object{}
		for d.More() {
			name, _ := d.Token()
			text, _ := name.(string) // names are strings
			all = append(all, member{text, readValue(d)})
		}
		_, _ = d.Token() // the closing delimiter
		return all
	case json.Delim('['):
		all := []any{}
		for d.More() {
			all = append(all, readValue(d))
		}
		_, _ = d.Token()
		return all
	}
	return token
}

// show formats a value. left is how many more values may be shown.
func show(value any, label string, depth int, left *int) shown {
	*left--
	switch v := value.(type) {
	case object:
		return showObject(v, label, depth, left)
	case []any:
		return showList(v, label, depth, left)
	case string:
		return shown{Text: cut(v, maxText), Code: !strings.Contains(v, " ")}
	case bool:
		return shown{Text: strconv.FormatBool(v), Code: true}
	case json.Number:
		return shown{Text: cut(v.String(), maxText), Code: true}
	}
	return shown{Text: "none", Nothing: true}
}

// showObject shows pairs. Below the top level, it shows objects of one kind as a table with their
// names as rows.
func showObject(o object, label string, depth int, left *int) shown {
	if len(o) == 0 {
		return shown{Text: "none", Nothing: true}
	}
	if depth > maxDepth || *left < 0 {
		return shown{Text: cut(oneLine(o), maxText), Code: true}
	}
	if depth > 0 {
		var names []string
		var rows []any
		for _, m := range o {
			names, rows = append(names, cut(m.name, maxText)), append(rows, m.value)
		}
		if s, ok := showTable(rows, label, depth, left); ok {
			s.Names = names[:len(s.Rows)]
			return s
		}
	}
	s := shown{More: more(len(o), maxPairs)}
	for _, m := range o[:min(len(o), maxPairs)] {
		s.Pairs = append(s.Pairs, pair{Name: cut(m.name, maxText), Value: show(m.value, m.name, depth+1, left)})
	}
	return s
}

// showList shows objects with few columns as a table, and anything else as a list.
func showList(all []any, label string, depth int, left *int) shown {
	if len(all) == 0 {
		return shown{Text: "none", Nothing: true}
	}
	if depth > maxDepth || *left < 0 {
		return shown{Text: cut(oneLine(all), maxText), Code: true}
	}
	if s, ok := showTable(all, label, depth, left); ok {
		return s
	}
	s := shown{More: more(len(all), maxRows)}
	for _, one := range all[:min(len(all), maxRows)] {
		s.Items = append(s.Items, show(one, label, depth+1, left))
	}
	return s
}

// showTable shows objects as a table of their members. It returns false when an element is not an
// object or the table would have too many columns.
func showTable(all []any, label string, depth int, left *int) (s shown, ok bool) {
	s = shown{Label: cut(label, maxText), More: more(len(all), maxRows)}
	all = all[:min(len(all), maxRows)]
	columns := columnsOf(all)
	if columns == nil {
		return shown{}, false
	}
	for _, name := range columns {
		s.Columns = append(s.Columns, cut(name, maxText))
	}
	for _, one := range all {
		row, _ := one.(object) // columnsOf has checked it
		cells := make([]shown, len(columns))
		for _, m := range row {
			cells[slices.Index(columns, m.name)] = show(m.value, m.name, depth+1, left)
		}
		s.Rows = append(s.Rows, cells)
	}
	return s, true
}

// columnsOf returns the names of all members of objects, those with lists and objects last. It
// returns nil when an element is not an object or there are too many names.
func columnsOf(all []any) []string {
	var columns []string
	wide := map[string]bool{}
	for _, one := range all {
		o, is := one.(object)
		if !is {
			return nil
		}
		for _, m := range o {
			if !slices.Contains(columns, m.name) {
				columns = append(columns, m.name)
			}
			if len(columns) > maxColumns {
				return nil
			}
			switch m.value.(type) {
			case object, []any:
				wide[m.name] = true
			}
		}
	}
	slices.SortStableFunc(columns, func(a, b string) int {
		switch {
		case wide[a] == wide[b]:
			return 0
		case wide[a]:
			return 1
		}
		return -1
	})
	return columns
}

func more(n, limit int) string {
	if n <= limit {
		return ""
	}
	return "and " + number(int64(n-limit)) + " more, which the command shows"
}

// cut truncates a text to limit bytes, at a character boundary.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// oneLine returns a value as JSON in one line, truncated.
func oneLine(value any) string {
	var b strings.Builder
	writeLine(&b, value)
	return b.String()
}

func writeLine(b *strings.Builder, value any) {
	if b.Len() > maxText {
		return
	}
	switch v := value.(type) {
	case object:
		b.WriteByte('{')
		for i, m := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(jsonText(m.name) + ":")
			writeLine(b, m.value)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, one := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeLine(b, one)
		}
		b.WriteByte(']')
	default:
		b.WriteString(jsonText(v))
	}
}

// rawJSON returns an answer as indented JSON, and reports whether it is complete.
func rawJSON(answer []byte) (text string, whole bool) {
	if len(answer) > maxRaw {
		return cut(string(answer), maxRaw), false
	}
	var b bytes.Buffer
	if err := json.Indent(&b, answer, "", "  "); err != nil || b.Len() > 2*maxRaw {
		return string(answer), true
	}
	return b.String(), true
}
