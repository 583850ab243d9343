package chain

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzScannerReadsValidJSONLikeTheStandardLibrary compares the scanner with encoding/json.
func FuzzScannerReadsValidJSONLikeTheStandardLibrary(f *testing.F) {
	for _, seed := range []string{
		`[]`, ` [ 1 , "a\"]" , {"x":[1,{"y":"}"}]} , null ] `, `["\\",[[]],-1.5e3,true]`,
		`[{"a":1,"b":[2]}]`, `[{"\"":"\\"}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		var list []json.RawMessage
		if json.Unmarshal(params, &list) != nil || list == nil {
			return
		}
		for i, want := range list {
			got, ok := param(params, i)
			if !ok || !bytes.Equal(got, want) {
				t.Fatalf("parameter %d of %s is %s (%v), want %s", i, params, got, ok, want)
			}
			var s string
			if content, isString := text(got); json.Unmarshal(want, &s) == nil && !isNull(want) &&
				(!isString || (string(content) != s && bytes.IndexByte(want, '\\') >= 0)) {
				t.Fatalf("%s reads as %q, want %q", want, content, s)
			}
			checkMembers(t, want)
		}
		if _, ok := param(params, len(list)); ok {
			t.Fatalf("%s has more than %d parameters", params, len(list))
		}
	})
}

func checkMembers(t *testing.T, object []byte) {
	t.Helper()
	var want map[string]json.RawMessage
	if json.Unmarshal(object, &want) != nil || want == nil {
		return
	}
	walk, ok := membersOf(object)
	if !ok {
		t.Fatalf("%s is not read as an object", object)
	}
	got := make(map[string]json.RawMessage)
	for {
		name, value, ok := walk.next()
		if !ok {
			break
		}
		var key string
		if err := json.Unmarshal(name, &key); err != nil {
			t.Fatalf("name %s: %v", name, err)
		}
		got[key] = value
	}
	if walk.broken || len(got) != len(want) {
		t.Fatalf("%s: %d members (broken %v), want %d", object, len(got), walk.broken, len(want))
	}
	for key, value := range want {
		if !bytes.Equal(got[key], value) {
			t.Fatalf("%s: %q is %s, want %s", object, key, got[key], value)
		}
	}
}
