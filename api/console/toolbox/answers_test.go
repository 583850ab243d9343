package toolbox

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/testkit/expect"
)

func showText(t *testing.T, answer string) view.Value {
	t.Helper()
	s, err := showAnswer([]byte(answer), &huma.Schema{
		Properties: map[string]*huma.Schema{"hash": {Description: "which one it was"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestToolAnswer_KeepsOrderAndDigits(t *testing.T) {
	t.Parallel()
	s := showText(t,
		`{"hash":"0xab","zero":0,"big":123456789012345678901234567890,"small":1.50,"none":null,"yes":true,`+
			`"note":"two words","empty":[]}`)
	want := []view.Pair{
		{Name: "hash", About: "Which one it was.", Value: view.Value{Text: "0xab", Code: true}},
		{Name: "zero", Value: view.Value{Text: "0", Code: true}},
		{Name: "big", Value: view.Value{Text: "123456789012345678901234567890", Code: true}},
		{Name: "small", Value: view.Value{Text: "1.50", Code: true}},
		{Name: "none", Value: view.Value{Text: "none", Nothing: true}},
		{Name: "yes", Value: view.Value{Text: "true", Code: true}},
		{Name: "note", Value: view.Value{Text: "two words"}},
		{Name: "empty", Value: view.Value{Text: "none", Nothing: true}},
	}
	if !reflect.DeepEqual(s.Pairs, want) {
		t.Errorf("it shows %+v, want %+v", s.Pairs, want)
	}
}

func TestToolAnswer_ListsOfObjectsAreTables(t *testing.T) {
	t.Parallel()
	s := showText(t,
		`{"transfers":[{"from":"a","value":"1","list":[1]},{"to":null,"value":"2","list":["x",{"y":1}]}],`+
			`"names":["a","b"],"fees":{"slow":{"tip":"1"},"fast":{"tip":"2","max":"3"}}}`)
	transfers, names, fees := s.Pairs[0].Value, s.Pairs[1].Value, s.Pairs[2].Value
	if !reflect.DeepEqual(transfers.Columns, []string{"from", "value", "to", "list"}) ||
		transfers.Label != "transfers" {
		t.Errorf("columns %v of %q", transfers.Columns, transfers.Label)
	}
	got := transfers.Rows[1]
	in := expect.In(t, "the second row")
	expect.Equal(in, got[0].Text, "")
	expect.Equal(in, got[1].Text, "2")
	expect.True(in, got[2].Nothing)
	expect.Equal(in, got[3].Text, `["x",{"y":1}]`)
	if len(names.Items) != 2 || names.Items[1].Text != "b" {
		t.Errorf("names are %+v", names)
	}
	if !reflect.DeepEqual(fees.Names, []string{"slow", "fast"}) || fees.Rows[1][1].Text != "3" {
		t.Errorf("fees are %+v", fees)
	}
}

// size counts the values that are shown.
func size(s *view.Value) (n int) {
	n = 1
	for i := range s.Pairs {
		n += size(&s.Pairs[i].Value)
	}
	for i := range s.Items {
		n += size(&s.Items[i])
	}
	for _, row := range s.Rows {
		for i := range row {
			n += size(&row[i])
		}
	}
	return n
}

func TestToolAnswer_ShownPartIsBounded(t *testing.T) {
	t.Parallel()
	row := `{"a":1,"b":[1,2],"c":{"d":{"e":1}}},`
	wide := &strings.Builder{}
	for i := range 5000 {
		fmt.Fprintf(wide, `"k%d":1,`, i)
	}
	for name, c := range map[string]struct {
		answer string
		left   string // the note about omitted values
	}{
		"many rows":    {`{"x":[` + strings.Repeat(row, 10_000) + `{}]}`, "9,951 more"},
		"many items":   {`{"x":[` + strings.Repeat("1,", 10_000) + `1]}`, "9,951 more"},
		"many pairs":   {`{` + wide.String() + `"x":1}`, "4,941 more"},
		"many columns": {`{"x":[{` + wide.String() + `"x":1}]}`, "…"},
		"many tables":  {`{"x":[` + strings.Repeat(`[`+strings.Repeat(row, 100)+`1],`, 100) + `1]}`, "…"},
		"deep lists":   {`{"x":` + strings.Repeat(`[`, 9000) + strings.Repeat(`]`, 9000) + `}`, "…"},
		"deep objects": {strings.Repeat(`{"x":`, 9000) + `1` + strings.Repeat(`}`, 9000), "…"},
		"long text":    {`{"x":"` + strings.Repeat("ä", 5000) + `"}`, "…"},
		"long name":    {`{"` + strings.Repeat("ä", 5000) + `":1}`, "…"},
		"long digits":  {`{"x":` + strings.Repeat("9", 5000) + `}`, "…"},
		"objects by two": {
			`{"x":{` + strings.TrimSuffix(strings.Repeat(`"a":{"b":1},`, 5000), ",") + `}}`, "4,950 more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := showText(t, c.answer)
			if n := size(&s); n > 2*maxValues {
				t.Errorf("it shows %d values", n)
			}
			text := fmt.Sprintf("%+v", s)
			if len(text) > 200<<10 || !strings.Contains(text, c.left) {
				t.Errorf("it shows %d bytes, and %q in them: %t", len(text), c.left, strings.Contains(text, c.left))
			}
			if !utf8.ValidString(text) {
				t.Error("a text is cut within a character")
			}
		})
	}
}

func TestToolAnswer_IsShownAsJSON(t *testing.T) {
	t.Parallel()
	if text, whole := rawJSON([]byte(`{"a":[1],"b":{}}`)); text != "{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}" ||
		!whole {
		t.Errorf("it is %q", text)
	}
	if text, whole := rawJSON([]byte(`{"a":"` + strings.Repeat("x", maxRaw) + `"}`)); len(text) > maxRaw+4 || whole {
		t.Errorf("of a long one %d bytes are shown, whole: %t", len(text), whole)
	}
	deep := strings.Repeat("[", 900) + strings.Repeat("]", 900)
	if text, whole := rawJSON([]byte(deep)); text != deep || !whole {
		t.Errorf("lines of a deep one are indented into %d bytes", len(text))
	}
}

func TestToolAnswer_IsNotShownWhenThereIsNone(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"", "{", `{"a":}`, strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)} {
		if s, err := showAnswer([]byte(answer), &huma.Schema{}); err == nil {
			t.Errorf("%.20q is shown as %+v", answer, s)
		}
	}
}
