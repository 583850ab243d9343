package jsonrpc

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestCanonical_IsOneFormForAllSpellings(t *testing.T) {
	t.Parallel()
	for want, spellings := range map[string][]string{
		`["0xAb",true]`:            {`["0xAb",true]`, ` [ "0xAb" ,true ] `, "[\n\"\\u0030xAb\",\ttrue]"},
		`[{"a":1,"b":[2,3]}]`:      {`[{"b":[2, 3],"a":1}]`, `[{"a":1,"b":[2,3]}]`, `[ { "\u0061":1 , "b":[2,3] } ]`},
		`[]`:                       {`[]`, `[ ]`},
		`[{}]`:                     {`[{}]`, `[ { } ]`},
		`["a/b\"c<"]`:              {`["a\/b\u0022c\u003c"]`, `["a/b\"c<"]`},
		`["\u000a\u001f\\"]`:       {`["\n\u001F\u005c"]`, `["\u000A\u001f\\"]`},
		"[\"\u2028\U0001f600\"]":   {`["\u2028\ud83d\ude00"]`, `["\u2028\uD83D\uDE00"]`, "[\"\u2028\U0001f600\"]"},
		`[1.0,1e3]`:                {`[ 1.0 , 1e3 ]`},
		`["DRpbCBMxVnDK7maPM5tG"]`: {`["DRpbCBMxVnDK7maPM5tG"]`},
	} {
		t.Run(want, func(t *testing.T) {
			for _, spelling := range spellings {
				if got, err := AppendCanonical([]byte("k"), []byte(spelling)); err != nil || string(got) != "k"+want {
					t.Errorf("%s: %s, %v; want %s", spelling, got, err, want)
				}
			}
		})
	}
}

func TestCanonical_AmbiguousInputHasNoForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		`[{"a":1,"\u0061":2}]`: ErrAmbiguous,
		`["\ud800"]`:           ErrAmbiguous,
		`["\ud800\u0041"]`:     ErrAmbiguous,
		`["\ude00\ud83d"]`:     ErrAmbiguous,
		"[\"\xff\"]":           ErrAmbiguous,
		`[1] 2`:                ErrSyntax,
		`[1`:                   ErrSyntax,
		`{"a":`:                ErrSyntax,
		``:                     ErrSyntax,
		strings.Repeat("[", MaxRequestDepth+1) + strings.Repeat("]", MaxRequestDepth+1):           ErrTooDeep,
		strings.Repeat(`{"a":`, MaxRequestDepth+1) + "0" + strings.Repeat("}", MaxRequestDepth+1): ErrTooDeep,
	} {
		t.Run(text, func(t *testing.T) {
			if got, err := AppendCanonical(nil, []byte(text)); !errors.Is(err, want) {
				t.Errorf("%.40q: %q, %v; want %v", text, got, err, want)
			}
		})
	}
}

//nolint:paralleltest // counting allocations excludes it
func TestCanonical_OfPlainParametersAllocatesNothing(t *testing.T) {
	params := []byte(`["0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b", false]`)
	n := testing.AllocsPerRun(100, func() {
		var room [128]byte
		if form, err := AppendCanonical(room[:0], params); err != nil || len(form) != len(params)-1 {
			t.Errorf("%d bytes, %v", len(form), err)
		}
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestMembers_AreThoseOfTheObjectItself(t *testing.T) {
	t.Parallel()
	names := func(text string, limit int) string {
		var all []string
		Members([]byte(text), func(name, val []byte) bool {
			all = append(all, string(name)+"="+string(val))
			return len(all) < limit
		})
		return strings.Join(all, " ")
	}
	object := ` {"x":{"number":"0x9"}, "number":"0x1" ,"last":null}`
	for _, row := range []struct {
		text string
		most int
		want string
	}{
		{object, 9, `x={"number":"0x9"} number="0x1" last=null`},
		{object, 2, `x={"number":"0x9"} number="0x1"`},
		{`{}`, 9, ``},
		{`[1]`, 9, ``},
		{`null`, 9, ``},
		{``, 9, ``},
		{`{`, 9, ``},
		{`{"a":1,"b`, 9, `a=1`},
	} {
		t.Run(row.text, func(t *testing.T) {
			if got := names(row.text, row.most); got != row.want {
				t.Errorf("%s, want %s", got, row.want)
			}
		})
	}
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		`[]`, `[{"b":1,"a":[null,"\u00e9"]}]`, `{"a":{"a":1}}`, `"\ud800"`, `[1e400]`, `{"":0}`,
		`["\ud83d\ude00\u0000\/"]`, `["0x88DF016429689C079F3B2F6AD39FA052532C56795B733DA78A91EBE6A713944B", true ]`,
		`[{"a":1,"\u0061":2}]`, "\"\u2028\\n\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once, err := AppendCanonical(nil, []byte(text))
		if !json.Valid([]byte(text)) {
			if err == nil {
				t.Fatalf("%q is no JSON and became %q", text, once)
			}
			return
		}
		if err != nil {
			if !errors.Is(err, ErrAmbiguous) && !errors.Is(err, ErrTooDeep) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		twice, err := AppendCanonical(nil, once)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%q: %q then %q, %v", text, once, twice, err)
		}
		var before, after any
		if json.Unmarshal([]byte(text), &before) == nil &&
			(json.Unmarshal(once, &after) != nil || !reflect.DeepEqual(before, after)) {
			t.Fatalf("%q became %q", text, once)
		}
		// Every other spelling has the same form: here, with every letter escaped.
		if spelt, err := AppendCanonical(nil, escaped(once)); err != nil || string(spelt) != string(once) {
			t.Fatalf("%q, spelt %q, is %q, %v", once, escaped(once), spelt, err)
		}
	})
}

// escaped writes every ASCII letter inside the strings of a canonical text as an escape, and adds
// white space elsewhere.
func escaped(text []byte) []byte {
	const hex = "0123456789ABCDEF"
	var out []byte
	inString := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '"':
			inString = !inString
			out = append(out, c)
		case inString && c == '\\':
			out = append(out, c, text[i+1])
			i++
			if text[i] == 'u' {
				out = append(out, text[i+1:i+5]...)
				i += 4
			}
		case inString && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'):
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case !inString && strings.IndexByte("{}[],:", c) >= 0:
			out = append(out, ' ', c, '\n')
		default:
			out = append(out, c)
		}
	}
	return out
}
