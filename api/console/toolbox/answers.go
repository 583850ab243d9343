package toolbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/api/console/view"
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

// member is a member of an object, in the order of the answer.
type member struct {
	name  string
	value any
}

// object is a JSON object whose members keep their order.
type object []member

// showAnswer parses an answer and describes its fields by their schema.
func showAnswer(answer []byte, schema *huma.Schema) (view.Value, error) {
	if !json.Valid(answer) { // also limits the depth
		return view.Value{}, errors.New("the answer is no JSON")
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
func show(value any, label string, depth int, left *int) view.Value {
	*left--
	switch v := value.(type) {
	case object:
		return showObject(v, label, depth, left)
	case []any:
		return showList(v, label, depth, left)
	case string:
		return view.Value{Text: view.Truncate(v, maxText), Code: !strings.Contains(v, " ")}
	case bool:
		return view.Value{Text: strconv.FormatBool(v), Code: true}
	case json.Number:
		return view.Value{Text: view.Truncate(v.String(), maxText), Code: true}
	}
	return view.Value{Text: "none", Nothing: true}
}

// showObject shows pairs. Below the top level, it shows objects of one kind as a table with their
// names as rows.
func showObject(o object, label string, depth int, left *int) view.Value {
	if len(o) == 0 {
		return view.Value{Text: "none", Nothing: true}
	}
	if depth > maxDepth || *left < 0 {
		return view.Value{Text: view.Truncate(oneLine(o), maxText), Code: true}
	}
	if depth > 0 {
		var names []string
		var rows []any
		for _, m := range o {
			names, rows = append(names, view.Truncate(m.name, maxText)), append(rows, m.value)
		}
		if s, ok := showTable(rows, label, depth, left); ok {
			s.Names = names[:len(s.Rows)]
			return s
		}
	}
	s := view.Value{More: more(len(o), maxPairs)}
	for _, m := range o[:min(len(o), maxPairs)] {
		s.Pairs = append(s.Pairs, view.Pair{
			Name:  view.Truncate(m.name, maxText),
			Value: show(m.value, m.name, depth+1, left),
		})
	}
	return s
}

// showList shows objects with few columns as a table, and anything else as a list.
func showList(all []any, label string, depth int, left *int) view.Value {
	if len(all) == 0 {
		return view.Value{Text: "none", Nothing: true}
	}
	if depth > maxDepth || *left < 0 {
		return view.Value{Text: view.Truncate(oneLine(all), maxText), Code: true}
	}
	if s, ok := showTable(all, label, depth, left); ok {
		return s
	}
	s := view.Value{More: more(len(all), maxRows)}
	for _, one := range all[:min(len(all), maxRows)] {
		s.Items = append(s.Items, show(one, label, depth+1, left))
	}
	return s
}

// showTable shows objects as a table of their members. It returns false when an element is not an
// object or the table would have too many columns.
func showTable(all []any, label string, depth int, left *int) (s view.Value, ok bool) {
	s = view.Value{Label: view.Truncate(label, maxText), More: more(len(all), maxRows)}
	all = all[:min(len(all), maxRows)]
	columns := columnsOf(all)
	if columns == nil {
		return view.Value{}, false
	}
	for _, name := range columns {
		s.Columns = append(s.Columns, view.Truncate(name, maxText))
	}
	for _, one := range all {
		row, _ := one.(object) // columnsOf has checked it
		cells := make([]view.Value, len(columns))
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
	return "and " + view.Number(int64(n-limit)) + " more, which the command shows"
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
		return view.Truncate(string(answer), maxRaw), false
	}
	var b bytes.Buffer
	if err := json.Indent(&b, answer, "", "  "); err != nil || b.Len() > 2*maxRaw {
		return string(answer), true
	}
	return b.String(), true
}
