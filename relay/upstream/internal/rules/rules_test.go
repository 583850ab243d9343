package rules

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
)

func table(t testing.TB, own ...config.ErrorRule) *Table {
	t.Helper()
	made, err := New(own)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func errorOf(code int, message string) []byte {
	raw, _ := json.Marshal(map[string]any{"code": code, "message": message})
	return raw
}

// said returns an error on an EVM chain with HTTP 200.
func said(code int, message string) *Error {
	return &Error{Status: 200, Method: []byte("eth_call"), Object: errorOf(code, message)}
}

// ofRow returns an error that a built-in row decides: its example with what else it asks for.
func ofRow(r *Row) *Error {
	e := &Error{Status: 200, Method: []byte("eth_call")}
	if from, to, _ := r.Statuses(); to > 0 {
		e.Status = from
		if r.Words == "" && r.Code == "" {
			return e // the body of such an answer need not be JSON-RPC
		}
	}
	if r.Family == "solana" {
		e.Family, e.Method = chain.Solana, []byte("getBlock")
	}
	if len(r.Methods) > 0 {
		e.Method = []byte(strings.TrimSuffix(r.Methods[0], "*"))
	}
	code := -32000
	if from, to, _ := r.Codes(); from != 0 || to != 0 {
		code = from
	}
	members := map[string]any{"code": code, "message": r.Example}
	if r.Data {
		members["data"] = "0x08c379a0"
	}
	e.Object, _ = json.Marshal(members)
	return e
}

func TestBuiltin_EachRowDecidesItsExample(t *testing.T) {
	t.Parallel()
	rows, err := builtinRows()
	if err != nil {
		t.Fatal(err)
	}
	made := table(t)
	for i, row := range slices.Concat(rows.First, rows.Then) {
		name := fmt.Sprintf("row %d, %q", i, row.Words+row.Code+row.Status)
		if row.Example == "" || row.Source == "" {
			t.Errorf("%s has no example or no source", name)
		}
		if row.Words != strings.ToLower(row.Words) {
			t.Errorf("%s is not in lower case", name)
		}
		if decided, _ := made.find(ofRow(&row)); decided != &made.rules[i] {
			t.Errorf("%s: %q is decided by %+v", name, row.Example, decided)
		}
	}
}

// wording is an error that a node or a provider published.
type wording struct {
	who string
	*Error

	want string
}

// wordings reads the pack: source, who, method, HTTP status, code, message, data, verdict.
func wordings(t testing.TB) (pack []wording) {
	t.Helper()
	raw, err := os.ReadFile("testdata/wordings.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if row[0] == "source" {
			continue
		}
		status, err := strconv.Atoi(row[3])
		if err != nil {
			t.Fatalf("%v: %v", row, err)
		}
		w := wording{who: row[1], want: row[7], Error: &Error{Status: status, Method: []byte(row[2])}}
		if !strings.Contains(row[2], "_") {
			w.Family = chain.Solana
		}
		if row[4] != "" {
			w.Object = fmt.Appendf(nil, `{"code":%s,"message":%s,"data":%s}`, row[4], quoted(row[5]),
				cmp.Or(row[6], "null"))
		}
		pack = append(pack, w)
	}
	return pack
}

func quoted(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}

// The pack has at least 150 published wordings, each with its source.
func TestPack_MeansWhatItSays(t *testing.T) {
	t.Parallel()
	pack, made := wordings(t), table(t)
	if len(pack) < 150 {
		t.Errorf("the pack has %d wordings, want 150", len(pack))
	}
	for _, w := range pack {
		if got := made.Judge(w.Error).Meaning.String(); got != w.want {
			t.Errorf("%s, %s, HTTP %d %s means %s, want %s", w.who, w.Method, w.Status, w.Object, got, w.want)
		}
	}
}

// What follows the beginning of a revert is the contract's text and may say anything.
func TestJudge_ARevertIsAnAnswerWhateverItSays(t *testing.T) {
	t.Parallel()
	own := config.ErrorRule{Verdict: "denied", Words: "transfer"}
	made := table(t, own)
	for _, w := range wordings(t) {
		var e struct{ Message string }
		_ = json.Unmarshal(w.Object, &e)
		for _, prefix := range []string{
			"execution reverted: ", "Reverted ", "VM Exception while processing transaction: ",
		} {
			if v := made.Judge(said(-32000, prefix+e.Message+" transfer")); v.Meaning != Answer {
				t.Errorf("%s%s means %s", prefix, e.Message, v.Meaning)
			}
		}
	}
}

func TestJudge_WordsOfTheRequestMeanNothing(t *testing.T) {
	t.Parallel()
	rows, err := builtinRows()
	if err != nil {
		t.Fatal(err)
	}
	made := table(t)
	for _, row := range rows.Then {
		if row.Words == "" || row.Verdict == "answer" || row.Code != "" {
			continue
		}
		for _, write := range []func(string) string{
			func(s string) string { return s }, strings.ToUpper,
			func(s string) string { return strings.ReplaceAll(s, "e", `\u0065`) },
		} {
			e := ofRow(&row)
			e.Object = errorOf(-32000, "invalid block: "+row.Example)
			e.Asked = []byte(`{"params":["` + write(strings.ReplaceAll(row.Example, `"`, `\"`)) + `"]}`)
			if v := made.Judge(e); v.Meaning != Unknown && v.Meaning != Answer && !v.ByStatus {
				t.Errorf("%q repeated from the request means %s", row.Example, v.Meaning)
			}
		}
	}
	e := said(-32000, "monthly capacity limit; header not found")
	e.Asked = []byte(`{"params":["header not found"]}`)
	if v := made.Judge(e); v.Meaning != Billing {
		t.Errorf("beside words of the request the provider's own mean %s", v.Meaning)
	}
}

func TestJudge_AnOperatorsRuleComesBeforeTheBuiltInOnes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		own  config.ErrorRule
		e    *Error
		want Meaning
	}{
		{config.ErrorRule{Verdict: "billing", Words: "too many requests"}, said(-32000, "Too many requests"), Billing},
		{config.ErrorRule{Verdict: "denied", Words: "our * words"}, said(1, "our very own words"), Denied},
		{config.ErrorRule{Verdict: "denied", Words: "^own words"}, said(1, "our own words"), Unknown},
		{config.ErrorRule{Verdict: "range_refused", Code: "-7"}, said(-7, "no"), Range},
		{
			config.ErrorRule{Verdict: "range_refused", Code: "-9..-7", Methods: []string{"trace_*"}},
			said(-7, "no"),
			Unknown,
		},
		{config.ErrorRule{Verdict: "throttled", Status: "503"}, &Error{Status: 503}, Throttled},
		{config.ErrorRule{Verdict: "throttled", Family: "solana", Code: "-7"}, said(-7, "no"), Unknown},
		{config.ErrorRule{Verdict: "denied", Code: "-7", Data: true}, said(-7, "no"), Unknown},
	} {
		t.Run(row.want.String(), func(t *testing.T) {
			if v := table(t, row.own).Judge(row.e); v.Meaning != row.want {
				t.Errorf("with %+v, HTTP %d %s means %s, want %s", row.own, row.e.Status, row.e.Object, v.Meaning,
					row.want)
			}
		})
	}
}

func TestJudge_WithoutAWellFormedError(t *testing.T) {
	t.Parallel()
	made := table(t)
	for _, raw := range []string{`{"code":"x"}`, `{"code":1,"message":{}}`, `{"code":1e99}`, `"no"`} {
		if v := made.Judge(&Error{Status: 200, Object: []byte(raw)}); v.Meaning != Broken {
			t.Errorf("%s means %s", raw, v.Meaning)
		}
	}
	for status, want := range map[int]Meaning{
		301: Broken, 307: Broken, 401: Denied, 402: Billing, 403: Denied, 413: Unsupported, 429: Throttled,
		500: Broken, 502: Broken, 529: Broken,
	} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			if got, refused := made.Refuses(chain.EVM, status); got != want || !refused {
				t.Errorf("HTTP %d means %s (%v), want %s", status, got, refused, want)
			}
		})
	}
	for _, status := range []int{200, 400, 404} {
		if got, refused := made.Refuses(chain.Solana, status); refused {
			t.Errorf("HTTP %d alone means %s", status, got)
		}
	}
}

// swapCase swaps the case of ASCII letters. It keeps others: some have no inverse, and no
// provider's words contain any.
func swapCase(b []byte) []byte {
	return bytes.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, b)
}

func FuzzJudge(f *testing.F) {
	made := table(f)
	for _, w := range wordings(f) {
		var e struct {
			Code    int
			Message string
		}
		_ = json.Unmarshal(w.Object, &e)
		f.Add(e.Code, e.Message, "", w.Status, w.Family == chain.Solana)
		f.Add(3, "execution reverted: "+e.Message, e.Message, 500, false)
	}
	f.Fuzz(func(t *testing.T, code int, message, asked string, status int, solana bool) {
		e := Error{Status: status, Method: []byte("eth_call"), Asked: []byte(asked), Object: errorOf(code, message)}
		if solana {
			e.Family, e.Method = chain.Solana, []byte("getBlock")
		}
		v := made.Judge(&e)
		other := e
		other.Object, other.Asked = errorOf(code, string(swapCase([]byte(message)))), swapCase(e.Asked)
		if w := made.Judge(&other); w != v {
			t.Errorf("%s means %s, and %s means %s", e.Object, v.Meaning, other.Object, w.Meaning)
		}
		other.Object, other.Asked, other.Status = e.Object, []byte(message), 200
		if own := made.Judge(&other).Meaning; own == Denied || own == Billing || own == Throttled {
			t.Errorf("a message of the request's own words means %s: %s", own, e.Object)
		}
		if strings.HasPrefix(strings.ToLower(message), "execution reverted") && !solana && v.Meaning != Answer {
			t.Errorf("a revert means %s: %s", v.Meaning, e.Object)
		}
		made.Judge(&Error{Status: status, Object: []byte(message), Asked: e.Asked}) // must not panic
	})
}

// What could not be reported is not lost.
func TestUnknownErrors_AreKeptUntilReported(t *testing.T) {
	t.Parallel()
	var u UnknownErrors
	for range 2 {
		u.Note(time.Now(), []byte("eth_call"), errorOf(-7, "odd"))
	}
	taken := u.Take()
	u.Note(time.Now(), []byte("eth_call"), errorOf(-7, "odd"))
	u.Restore(taken)
	all := u.Take()
	expect.Len(t, all, 1)
	expect.Equal(t, all[KindOf(-7, "odd")].Count, 3)
	expect.Empty(t, u.Take())
}
