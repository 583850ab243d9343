package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestStrangers_StringsAreRewrittenOnlyWhereTheyHideText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", maxOfStrangers)
	for in, want := range map[string]struct{ shown, escaped string }{
		`{"a":"plain é 🙂 \"x\"","b":[1,null]}`: {
			`{"a":"plain é 🙂 \"x\"","b":[1,null]}`, `{"a":"plain é 🙂 \"x\"","b":[1,null]}`,
		},
		`{"a":"x` + "\u202e" + `y"}`:   {`{"a":"x\\u202ey"}`, `{"a":"x\u202ey"}`},
		`{"a":"x\u202Ey\n"}`:           {`{"a":"x\\u202ey\\n"}`, `{"a":"x\u202Ey\n"}`},
		`{"a":"` + "\U000e0041" + `"}`: {`{"a":"\\U000e0041"}`, `{"a":"\udb40\udc41"}`},
		`{"a` + "\u200b" + `":"\\"}`:   {`{"a\\u200b":"\\"}`, `{"a\u200b":"\\"}`},
		`["` + long + `"]`:             {`["` + long + `"]`, `["` + long + `"]`},
		`["` + long + `z"]`:            {`["` + long + `… (1025 characters)"]`, `["` + long + `z"]`},
		`["0x` + strings.Repeat("ab", 2000) + `"]`: {
			`["0x` + strings.Repeat("ab", 2000) + `"]`, `["0x` + strings.Repeat("ab", 2000) + `"]`,
		},
	} {
		t.Run(in, func(t *testing.T) {
			if got := string(show([]byte(in))); got != want.shown {
				t.Errorf("%.60q is shown as %.80q, want %.80q", in, got, want.shown)
			}
			if got := string(escape([]byte(in))); got != want.escaped {
				t.Errorf("%.60q is escaped as %.80q, want %.80q", in, got, want.escaped)
			}
		})
	}
}

func FuzzStrangers(f *testing.F) {
	f.Add("x\u202ey\n\"\\")
	f.Fuzz(func(t *testing.T, text string) {
		object, err := json.Marshal(map[string]string{"a": text})
		if err != nil {
			t.Fatal(err)
		}
		var before, after map[string]string
		if err := json.Unmarshal(object, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(escape(object), &after); err != nil || after["a"] != before["a"] {
			t.Fatalf("%q became %q (%v)", before["a"], after["a"], err)
		}
		if err := json.Unmarshal(show(object), &after); err != nil || strings.ContainsFunc(after["a"], unseen) {
			t.Fatalf("%q is shown as %q (%v)", before["a"], after["a"], err)
		}
	})
}
