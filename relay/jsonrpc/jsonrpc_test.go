package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func TestSplitRequest_KeepsMembersByteForByte(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, id, method, params string }{
		{"plain", `{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}`, `1`, "eth_chainId", `[]`},
		{
			"large id", `{"id":123456789012345678901234567890,"jsonrpc":"2.0","method":"m"}`,
			`123456789012345678901234567890`, "m", "",
		},
		{"string id with escapes", `{"id":"a\"\u00e9","jsonrpc":"2.0","method":"m"}`, `"a\"\u00e9"`, "m", ""},
		{"null id", `{"id":null,"jsonrpc":"2.0","method":"m","params":null}`, `null`, "m", ""},
		{"object id", `{"id":{"a":[1, 2]},"jsonrpc":"2.0","method":"m"}`, `{"a":[1, 2]}`, "m", ""},
		{"no id", `{"jsonrpc":"2.0","method":"m","params":[ 1 , {"x":1.50e+3} ]}`, ``, "m", `[ 1 , {"x":1.50e+3} ]`},
		{"white space", " \r\n\t{ \"jsonrpc\" : \"2.0\" , \"method\" : \"m\" } \n", ``, "m", ""},
		{"unknown members", `{"jsonrpc":"2.0","method":"m","extra":{"method":"n"}}`, ``, "m", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := SplitRequest([]byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			expect.Equal(t, string(r.ID), c.id)
			expect.Equal(t, string(r.Method), c.method)
			expect.Equal(t, string(r.Params), c.params)
		})
	}
}

func TestSplitRequest_SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	deep := func(n int) string {
		return `{"jsonrpc":"2.0","method":"m","params":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	for _, c := range []struct {
		name, body string
		want       error
	}{
		{"empty", ``, ErrSyntax},
		{"white space only", "  \n", ErrSyntax},
		{"cut off", `{"jsonrpc":"2.0","method":"m"`, ErrSyntax},
		{"trailing comma", `{"jsonrpc":"2.0","method":"m",}`, ErrSyntax},
		{"two values", `{"jsonrpc":"2.0","method":"m"} {}`, ErrSyntax},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}", ErrSyntax},
		{"control character", "{\"jsonrpc\":\"2.0\",\"method\":\"a\nb\"}", ErrSyntax},
		{"byte order mark", "\ufeff{}", ErrSyntax},
		{"bad escape", `{"jsonrpc":"2.0","method":"\x"}`, ErrSyntax},
		{"leading zero", `{"id":01}`, ErrSyntax},
		{"a number", `7`, ErrNotRequest},
		{"no version", `{"method":"m"}`, ErrNotRequest},
		{"wrong version", `{"jsonrpc":"1.0","method":"m"}`, ErrNotRequest},
		{"version as number", `{"jsonrpc":2.0,"method":"m"}`, ErrNotRequest},
		{"no method", `{"jsonrpc":"2.0"}`, ErrNotRequest},
		{"method as number", `{"jsonrpc":"2.0","method":1}`, ErrNotRequest},
		{"params as object", `{"jsonrpc":"2.0","method":"m","params":{}}`, ErrNotRequest},
		{"params as string", `{"jsonrpc":"2.0","method":"m","params":"x"}`, ErrNotRequest},
		{"method twice", `{"jsonrpc":"2.0","method":"m","method":"n"}`, ErrNotRequest},
		{"id twice", `{"jsonrpc":"2.0","method":"m","id":1,"id":2}`, ErrNotRequest},
		{"huge id", `{"jsonrpc":"2.0","method":"m","id":"` + strings.Repeat("x", 5000) + `"}`, ErrNotRequest},
		{"huge method", `{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 129) + `"}`, ErrNotRequest},
		{"too deep", deep(MaxRequestDepth), ErrTooDeep},
		{"far too deep", deep(500_000), ErrTooDeep},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := SplitRequest([]byte(c.body)); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	if _, err := SplitRequest([]byte(deep(MaxRequestDepth - 1))); err != nil {
		t.Errorf("at the bound: %v", err)
	}
}

func TestSplitBatch_ReturnsItemsInOrder(t *testing.T) {
	t.Parallel()
	items, tooMany, err := SplitBatch([]byte(` [ {"a":1} , 2,"x", [] ] `), 4)
	require.NoError(t, err)
	expect.False(t, tooMany)
	require.Len(t, items, 4)
	expect.Equal(t, string(items[0]), `{"a":1}`)
	expect.Equal(t, string(items[3]), `[]`)
	if _, tooMany, _ = SplitBatch([]byte(`[1,2,3,4,5]`), 4); !tooMany {
		t.Error("five items passed a limit of four")
	}
	if _, _, err = SplitBatch([]byte(`[]`), 4); !errors.Is(err, ErrNotRequest) {
		t.Errorf("empty batch: %v", err)
	}
	if _, _, err = SplitBatch([]byte(`[1,`), 4); !errors.Is(err, ErrSyntax) {
		t.Errorf("cut off batch: %v", err)
	}
}

func TestSplitResponse_ReadsResultsAndErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body, result, errObject string
		want                    error
	}{
		{`{"jsonrpc":"2.0","id":1,"result":"0x1"}`, `"0x1"`, "", nil},
		{`{"result":null,"id":1,"jsonrpc":"2.0"}`, `null`, "", nil},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"x"}}`, "", `{"code":-32000,"message":"x"}`, nil},
		{`{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1}}`, "", `{"code":1}`, nil},
		{`{"jsonrpc":"2.0","id":1,"result":5,"error":null}`, `5`, "", nil},
		{`{"jsonrpc":"2.0","id":1,"result":5,"error":{}}`, "", "", ErrNotResponse},
		{`{"jsonrpc":"2.0","id":1}`, "", "", ErrNotResponse},
		{`{"jsonrpc":"2.0","id":1,"error":"busy"}`, "", "", ErrNotResponse},
		{`{"jsonrpc":"2.0","id":1,"result":[1,2`, "", "", ErrTruncated},
		{`[]`, "", "", ErrNotResponse},
		{`<html>`, "", "", ErrSyntax},
		{``, "", "", ErrTruncated},
		{`{"id":1,"result":1}x`, "", "", ErrSyntax},
	} {
		t.Run(c.body, func(t *testing.T) {
			r, err := SplitResponse([]byte(c.body))
			in := expect.In(t, "%s", c.body)
			expect.ErrorIs(in, err, c.want)
			if c.want == nil {
				expect.Equal(in, string(r.Result), c.result)
				expect.Equal(in, string(r.Error), c.errObject)
			}
		})
	}
}

// A response that is cut at any byte must yield the same result as the whole.
func TestOpening_FindsTheEndOfTheResultWhereverItIsCut(t *testing.T) {
	t.Parallel()
	for _, result := range []string{
		`{"a":[1,"}]\"\\",{"b":null}],"c":"x"}`, `"0xabcdef\"} ,"`, `[[],[{}]]`, `1234567890`,
	} {
		for _, form := range []string{
			`{"jsonrpc":"2.0","id":1,"result":%}`, `{"result":%,"id":1,"jsonrpc":"2.0"}`,
			"{ \"id\" : 1 , \"result\" : % } \n",
		} {
			body := []byte(strings.Replace(form, "%", result, 1))
			from := bytes.Index(body, []byte(result))
			for cut := from + 1; cut < len(bytes.TrimRight(body, " \n")); cut++ {
				o, err := SplitOpening(body[:cut])
				if err != nil {
					t.Fatalf("%s cut at %d: %v", body, cut, err)
				}
				got := bytes.Clone(o.Result)
				i, done := cut-len(o.Tail), o.Done
				for !done && i < len(body) {
					var n int
					n, done, err = o.Feed(body[i : i+1])
					if err != nil {
						t.Fatalf("%s at %d: %v", body, i, err)
					}
					got = append(got, body[i:i+n]...)
					i += n
					if n == 0 && !done {
						t.Fatal("no progress")
					}
				}
				if !done || string(got) != result {
					t.Fatalf("%s cut at %d: %s done %v", body, cut, got, done)
				}
				id, err := CheckTail(body[i:])
				if err != nil || (o.ID == nil && string(id) != "1") {
					t.Fatalf("tail %s: id %s, %v", body[i:], id, err)
				}
			}
		}
	}
}

func TestCheckTail_RefusesBrokenEnds(t *testing.T) {
	t.Parallel()
	for _, tail := range []string{``, ` `, `]`, `,"id":1`, `,"id":}`, `} x`, `,"error":{"code":1}}`, `,"result":2}`} {
		if _, err := CheckTail([]byte(tail)); err == nil {
			t.Errorf("tail %q passed", tail)
		}
	}
}

func FuzzSplitRequest(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x"},"latest"]}`, `[]`, `[{}]`, `{"id":1e9}`,
		`"\ud800"`, `-`, `1.`, `tru`, `{"a":{"b":[1,2,{"c":null}]}}`, "\xff",
		`{"jsonrpc":"2.0","method":"m","params":[[[[]]]]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := SplitRequest(body)
		valid := json.Valid(body) && utf8.Valid(body)
		if err == nil && !valid {
			t.Fatalf("took what is not JSON: %q", body)
		}
		if errors.Is(err, ErrSyntax) && valid {
			t.Fatalf("refused valid JSON: %q", body)
		}
		if err != nil {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		if bytes.IndexByte(body, '\\') >= 0 {
			return // names may be escaped, which no client does
		}
		params := string(want["params"])
		if params == "null" {
			params = ""
		}
		in := expect.In(t, "%q", body)
		require.Equal(in, string(r.ID), string(want["id"]))
		require.Equal(in, `"`+string(r.Method)+`"`, string(want["method"]))
		require.Equal(in, string(r.Params), params)
	})
}

func FuzzSplitResponse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"a":[1]}}`, `{"error":{"code":1},"id":null}`,
		`{"result":`, `{"result":"\"`, `{"result":1}`,
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, body []byte, cut int) {
		r, err := SplitResponse(body)
		if err == nil && !json.Valid(body) {
			t.Fatalf("took what is not JSON: %q", body)
		}
		if cut < 0 || cut > len(body) {
			return
		}
		o, openErr := SplitOpening(body[:cut])
		if err != nil || openErr != nil {
			return
		}
		got := string(o.Result)
		done := o.Done
		if !done {
			var n int
			n, done, err = o.Feed(body[cut:])
			if err != nil {
				t.Fatalf("%q cut at %d: %v", body, cut, err)
			}
			got += string(body[cut : cut+n])
		}
		if r.Result != nil && (!done || got != string(r.Result)) {
			t.Fatalf("%q cut at %d: result %q", body, cut, o.Result)
		}
	})
}
