package contracts_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/abi"
	"github.com/chainaccess/gateway/toolbox/contracts"
)

// call joins a selector and words of 32 bytes. Each word is hex, padded on the left, or on the
// right if it ends with a dot.
func call(selector string, list ...string) string {
	var text strings.Builder
	text.WriteString(strings.TrimPrefix(selector, "0x"))
	for _, w := range list {
		if left, ok := strings.CutSuffix(w, "."); ok {
			text.WriteString(left + strings.Repeat("0", 64-len(left)))
			continue
		}
		text.WriteString(strings.Repeat("0", 64-len(w)) + w)
	}
	return text.String()
}

// selectorOf returns the selector of a signature, in hex without 0x.
func selectorOf(t *testing.T, signature string) string {
	t.Helper()
	f, err := abi.ParseSignature(signature)
	if err != nil {
		t.Fatal(err)
	}
	selector := f.Selector()
	return hex.EncodeToString(selector[:])
}

// decode decodes a call of the token; data is hex without 0x.
func (h *bundle) decode(t *testing.T, data string) (contracts.Decoded, time.Duration, error) {
	t.Helper()
	address, err := wallet.ParseAddress(token)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := hex.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	return h.Decode(t.Context(), chain.EthMainnet, address, bytes)
}

// decoded is decode for data that is not refused.
func (h *bundle) decoded(t *testing.T, data string) (contracts.Decoded, time.Duration) {
	t.Helper()
	d, kept, err := h.decode(t, data)
	if err != nil {
		t.Fatal(err)
	}
	return d, kept
}

func shown(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// known sets the signature database's entries for a selector.
func (h *bundle) known(selector, entries string) {
	h.names.on("/signature-database/v1/lookup?function=0x"+selector+"&filter=true",
		says(http.StatusOK, fmt.Sprintf(`{"ok":true,"result":{"function":{"0x%s":%s},"event":{}}}`, selector, entries)))
}

const who = "5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"

func TestDecode_ReadsACallByTheVerifiedABI(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.verified(token, "Token", tokenABI, notAProxy)
	d, kept := h.decoded(t, call("a9059cbb", who, "f4240"))
	want := `{"chain":"eth_mainnet","address":"` + checksummed(token) +
		`","function":"transfer(address,uint256)","selector":"0xa9059cbb","args":[` +
		`{"name":"to","type":"address","value":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed","dynamic":false},` +
		`{"name":"value","type":"uint256","value":"1000000","dynamic":false}],"source":"sourcify","guess":false,` +
		`"abi_address":"` + checksummed(token) + `"}`
	if got := shown(t, d); got != want || kept != 24*time.Hour {
		t.Errorf("gave %s, kept for %s\nwant %s", got, kept, want)
	}
	if n := h.names.requests(); n != 0 {
		t.Errorf("the database of signatures was asked %d times", n)
	}
	h.decoded(t, call("a9059cbb", who, "1"))
	if n := h.sourcify.requests(); n != 1 {
		t.Errorf("Sourcify was asked %d times for two calls of one contract", n)
	}
}

func TestDecode_DynamicArgumentsComeWithTheirBytes(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.verified(token, "Market",
		`[{"type":"function","name":"fill","inputs":[{"name":"orders","type":"tuple[]","components":[{"name":"maker","type":"address"},
		{"name":"memo","type":"string"}]},{"name":"ids","type":"uint8[2]"},{"name":"","type":"string"}]}]`, notAProxy)
	orders := call("", "1", "20", who, "40", "2", "6869.")
	d, _ := h.decoded(t, call(selectorOf(t, "fill((address,string)[],uint8[2],string)"), "80", "7", "8", "140", "1",
		"20", who, "40", "2", "6869.", "1", "ff."))
	want := `[{"name":"orders","type":"(address,string)[]","value":[[{"name":"maker","type":"address",` +
		`"value":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},` +
		`{"name":"memo","type":"string","value":"hi"}]],"dynamic":true,"raw":"0x` + orders + `"},` +
		`{"name":"ids","type":"uint8[2]","value":["7","8"],"dynamic":false},` +
		`{"name":"","type":"string","value":{"invalid_utf8":"0xff"},"dynamic":true,"raw":"0x` +
		call("", "1", "ff.") + `"}]`
	if got := shown(t, d.Args); got != want {
		t.Errorf("gave %s\nwant %s", got, want)
	}
	if d.Note != "" {
		t.Errorf("the note is %q", d.Note)
	}
}

func TestDecode_ProxyCallIsReadByItsImplementationAndThenByItself(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.verified(token, "Proxy", adminABI, notAProxy)
	h.verified(logic, "Logic", tokenABI, notAProxy)
	h.chain.slot(implementationSlot, logic)
	if d, _ := h.decoded(t, call("a9059cbb", who, "1")); *d.Function != "transfer(address,uint256)" ||
		d.ABIAddress.Checksummed() != checksummed(logic) {
		t.Errorf("a call of the implementation gave %s", shown(t, d))
	}
	if d, _ := h.decoded(t, call(selectorOf(t, "upgradeTo(address)"), who)); *d.Function != "upgradeTo(address)" ||
		d.ABIAddress.Checksummed() != checksummed(token) {
		t.Errorf("a call of the proxy gave %s", shown(t, d))
	}
}

func TestDecode_DiamondCallIsReadByTheFacetThatHasIt(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.verified(token, "Diamond", adminABI,
		fmt.Sprintf(`{"isProxy":true,"proxyType":"DiamondProxy","implementations":[{"address":%q},{"address":%q}]}`,
			logic, clone))
	h.verified(logic, "Facet", tokenABI, notAProxy)
	h.chain.returns(token, "0xcdffacc6a9059cbb"+strings.Repeat("0", 56), logic)
	d, _ := h.decoded(t, call("a9059cbb", who, "1"))
	expect.Equal(t, *d.Function, "transfer(address,uint256)")
	expect.False(t, d.Guess)
	expect.Equal(t, d.ABIAddress.Checksummed(), checksummed(logic))
	h.known("12345678", "null")
	if d, _ := h.decoded(t, call("12345678")); *d.Function != "fallback()" { // the call of facetAddress reverts
		t.Errorf("a selector of no facet gave %s", shown(t, d))
	}
}

func TestDecode_OfOneSelectorsFunctionsTheOneWithoutARestIsTaken(t *testing.T) {
	t.Parallel()
	h := setup(t)
	// Both have the selector 0x42966c68, a known collision.
	h.verified(token, "Both",
		`[{"type":"function","name":"collate_propagate_storage","inputs":[{"name":"a","type":"bytes16"}]},
		{"type":"function","name":"burn","inputs":[{"name":"amount","type":"uint256"}]}]`, notAProxy)
	for data, want := range map[string]string{
		call("42966c68", "7"):                                   "burn(uint256)",
		call("42966c68", strings.Repeat("7", 32)+"."):           "collate_propagate_storage(bytes16)",
		call("42966c68", strings.Repeat("f", 64)):               "burn(uint256)",
		call("42966c68", strings.Repeat("7", 32)+".", "1") + "": "collate_propagate_storage(bytes16)",
	} {
		t.Run(data, func(t *testing.T) {
			if d, _ := h.decoded(t, data); *d.Function != want {
				t.Errorf("%s gave %s, want %s", data, *d.Function, want)
			}
		})
	}
	// Overloaded functions have different selectors; duplicates of a function count once.
	h = setup(t)
	h.verified(token, "Overloaded",
		`[{"type":"function","name":"f","inputs":[{"name":"a","type":"uint256"}]},{"type":"function","name":"f","inputs":[{"name":"b","type":"uint256"}]},
		{"type":"function","name":"f","inputs":[{"name":"c","type":"address"}]}]`, notAProxy)
	if d, _ := h.decoded(t, call(selectorOf(t, "f(uint256)"), "7")); d.Args[0].Name != "a" {
		t.Errorf("gave %s", shown(t, d))
	}
	if d, _ := h.decoded(t, call(selectorOf(t, "f(address)"), "7")); d.Args[0].Name != "c" {
		t.Errorf("gave %s", shown(t, d))
	}
}

func TestDecode_NonStandardLayoutIsReadAndReported(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.verified(token, "Token", `[{"type":"function","name":"f","inputs":[{"name":"a","type":"string"}]}]`, notAProxy)
	f := selectorOf(t, "f(string)")
	if d, _ := h.decoded(t, call(f, "20", "2", "6869.")+"c0ffee"); d.TrailingData != "0xc0ffee" ||
		!strings.HasPrefix(d.Note, "3 bytes follow the last argument") {
		t.Errorf("bytes behind gave %s", shown(t, d))
	}
	d, _ := h.decoded(t, call(f, "40", "0", "2", "6869."))
	expect.Equal(t, d.TrailingData, "")
	expect.Contains(t, d.Note, "laid out in another way")
	expect.Equal[any](t, d.Args[0].Value, "hi")
}

func TestDecode_DataThatDoesNotFitIsRefusedWithWhatIsWrong(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.verified(token, "Token", tokenABI, notAProxy)
	for data, want := range map[string]string{
		call("a9059cbb"): "data does not fit transfer(address,uint256), the function of this " +
			"contract with its selector: transfer(address,uint256) needs at least 64 bytes after the selector, and " +
			"there are 0.",
		call("a9059cbb", "1"+who,
			"1"): "data does not fit transfer(address,uint256), the function of this contract with its selector: to " +
			"has bits beyond its type, address.",
		call("a9059cbb", who, "1")[:8+64+62]: "there are 63.",
		"a9": "data has 1 bytes. A call begins with the four bytes of a function's " +
			"selector",
		"a9059c": "data has 3 bytes.",
	} {
		t.Run(data, func(t *testing.T) {
			d, _, err := h.decode(t, data)
			refusal, ok := errors.AsType[*fault.Error](err)
			in := expect.In(t, "%s", data)
			require.True(in, ok, d, err)
			expect.Equal(in, refusal.Reason, fault.FieldRefused)
			expect.Contains(in, refusal.Message, want)
		})
	}
}

func TestDecode_DataWithoutASelectorIsATransferOrAFallback(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ abi, data, function, note string }{
		{
			`[{"type":"receive","stateMutability":"payable"},{"type":"fallback"}]`, "", "receive()",
			"a plain transfer of value.",
		},
		{`[{"type":"fallback","stateMutability":"payable"}]`, "", "fallback()", "a plain transfer of value."},
		{`[{"type":"fallback","payable":true}]`, "", "fallback()", "a plain transfer of value."},
		{`[{"type":"fallback","stateMutability":"nonpayable"}]`, "", "", "By its ABI the contract takes none."},
		{`[]`, "", "", "By its ABI the contract takes none."},
		{"", "", "", "The data is empty: a plain transfer of value."},
		{`[{"type":"fallback"}]`, "010203", "fallback()", ""},
	} {
		t.Run(c.abi, func(t *testing.T) {
			h := setup(t)
			h.unverified(token)
			if c.abi != "" {
				h.verified(token, "Token", c.abi, notAProxy)
			}
			d, _ := h.decoded(t, c.data)
			function := ""
			if d.Function != nil {
				function = *d.Function
			}
			in := expect.In(t, "%q with %s", c.data, c.abi)
			expect.Equal(in, function, c.function)
			expect.Nil(in, d.Selector)
			expect.Contains(in, d.Note, c.note)
			expect.NotNil(in, d.Args)
			if c.data != "" && shown(t, d.Args) != `[{"name":"","type":"bytes3","value":"0x010203","dynamic":false}]` {
				t.Errorf("its arguments are %s", shown(t, d.Args))
			}
		})
	}
	h := setup(t)
	h.unverified(token)
	if _, _, err := h.decode(t, "010203"); err == nil {
		t.Error("three bytes to a contract without an ABI are read")
	}
}

func TestDecode_WithoutAnABIGuessesByTheSelector(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.unverified(token)
	// The first is spam with the selector whose types do not fit; the last one has another
	// selector.
	h.known("a9059cbb",
		`[{"name":"many_msg_babbage(bytes1)","filtered":false,"hasVerifiedContract":false},{"name":"transfer(address,uint256)","filtered":false,"hasVerifiedContract":true},
		{"name":"transfer(bytes4[9],bytes5[6],int48[11])","filtered":false},{"name":"approve(address,uint256)","filtered":false,"hasVerifiedContract":true}]`)
	d, kept := h.decoded(t, call("a9059cbb", who, "1"))
	want := `{"chain":"eth_mainnet","address":"` + checksummed(token) +
		`","function":"transfer(address,uint256)","selector":"0xa9059cbb","args":[` +
		`{"name":"","type":"address","value":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed","dynamic":false},` +
		`{"name":"","type":"uint256","value":"1","dynamic":false}],` +
		`"source":"signature_database","guess":true,"abi_address":null,` +
		`"note":"No verified ABI of this contract is there: the function is a guess by its selector, and its ` +
		`arguments have no names."}`
	if got := shown(t, d); got != want || kept != 5*time.Minute {
		t.Errorf("gave %s, kept for %s\nwant %s", got, kept, want)
	}
	h.decoded(t, call("a9059cbb", who, "2"))
	if n := h.names.requests(); n != 1 {
		t.Errorf("the database was asked %d times for one selector", n)
	}
}

// The sources of an answer may have been cached for a while: cached for a full TTL, the answer
// would live twice as long as it may.
func TestDecode_AnswersAreCachedNoLongerThanTheirSources(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.verified(token, "Token", tokenABI, notAProxy)
	h.decoded(t, call("a9059cbb", who, "1"))
	h.clock = h.clock.Add(23 * time.Hour)
	if _, kept := h.decoded(t, call("a9059cbb", who, "2")); kept != time.Hour {
		t.Errorf("a call of a contract that was read 23 hours ago is kept for %s", kept)
	}
	if _, kept := h.abi(t); kept != time.Hour {
		t.Errorf("its ABI is kept for %s", kept)
	}
	h.clock = h.clock.Add(time.Hour)
	if _, kept := h.abi(t); kept != 24*time.Hour || h.sourcify.requests() != 2 {
		t.Errorf("a day later it is kept for %s after %d requests", kept, h.sourcify.requests())
	}

	h = setup(t)
	h.unverified(token)
	h.known("12345678", "null")
	h.decoded(t, call("12345678", "1"))
	h.clock = h.clock.Add(4 * time.Minute)
	if _, kept := h.decoded(t, call("12345678", "2")); kept != time.Minute {
		t.Errorf("words of a selector that nobody knew four minutes ago are kept for %s", kept)
	}
	h.clock = h.clock.Add(2 * time.Minute)
	h.verified(token, "Token", tokenABI, notAProxy)
	if _, kept := h.decoded(t, call("a9059cbb", who, "2")); kept != 24*time.Hour {
		t.Errorf("once it is verified, a call is kept for %s", kept)
	}
}

// A diamond's call is decoded from two contracts; the older entry decides how long it is cached.
func TestDecode_FacetCallIsCachedNoLongerThanTheFacet(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.verified(token, "Diamond", adminABI,
		fmt.Sprintf(`{"isProxy":true,"proxyType":"DiamondProxy","implementations":[{"address":%q},{"address":%q}]}`,
			logic, clone))
	h.verified(logic, "Facet", tokenABI, notAProxy)
	h.chain.returns(token, "0xcdffacc6a9059cbb"+strings.Repeat("0", 56), logic)
	if _, _, err := h.ABI(t.Context(), chain.EthMainnet, mustAddress(logic)); err != nil {
		t.Fatal(err)
	}
	h.clock = h.clock.Add(23 * time.Hour)
	if d, kept := h.decoded(t, call("a9059cbb", who, "1")); d.Guess || kept != time.Hour {
		t.Errorf("gave %s, kept for %s", shown(t, d), kept)
	}
}

func TestContract_IsLookedUpAgainAfterADeepReorg(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.verified(token, "Token", tokenABI, notAProxy)
	h.abi(t)
	h.abi(t)
	if n := h.sourcify.requests(); n != 1 {
		t.Fatalf("%d requests", n)
	}
	h.chain.past++
	h.abi(t)
	if n := h.sourcify.requests(); n != 2 {
		t.Errorf("%d requests after the reorganisation, want 2", n)
	}
}

func TestDecode_GuessNamesTheOtherReadings(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.unverified(token)
	h.known("42966c68",
		`[{"name":"collate_propagate_storage(bytes16)"},{"name":"burn(uint256)","hasVerifiedContract":true}]`)
	d, _ := h.decoded(t, call("42966c68", "0")) // both signatures fit
	if *d.Function != "burn(uint256)" || !slices.Equal(d.Candidates, []string{"collate_propagate_storage(bytes16)"}) {
		t.Errorf("gave %s", shown(t, d))
	}
	if d, _ = h.decoded(t, call("42966c68", "1")); *d.Function != "burn(uint256)" || d.Candidates != nil {
		t.Errorf("gave %s", shown(t, d))
	}
	if d, _ = h.decoded(t, call("42966c68", "1")+"00"); d.Guess || d.Function != nil {
		t.Errorf("with a byte behind its argument a guess is taken: %s", shown(t, d))
	}
}

func TestDecode_TriesAndNamesAFewOfManySignatures(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.unverified(token)
	h.known("42966c68", "["+strings.Repeat(`{"name":"collate_propagate_storage(bytes16)"},`, 1000)+
		`{"name":"burn(uint256)"}]`)
	if d, _ := h.decoded(t, call("42966c68", "0")); len(d.Candidates) != 8 {
		t.Errorf("%d further candidates are named", len(d.Candidates))
	}
	if d, _ := h.decoded(t, call("42966c68", "1")); d.Function != nil {
		t.Errorf("the last of 1001 signatures is tried: %s", shown(t, d))
	}
}

func TestDecode_UnknownCallIsExplainedInWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ abi, entries, function, note string }{
		{"", "null", "", "No verified ABI of this contract is there, and no known signature fits"},
		{"", "[]", "", "no known signature fits"},
		{"", `[{"name":"f(uint8)"}]`, "", "no known signature fits"},
		{"", `[{"name":"junk(bytes1)","filtered":true}]`, "", "no known signature fits"},
		{
			tokenABI, "null", "",
			"The verified ABI of this contract has no function with this selector, and no known signature fits",
		},
		{adminABI, "null", "fallback()", "so its fallback function runs"},
	} {
		t.Run(c.entries, func(t *testing.T) {
			h := setup(t)
			h.unverified(token)
			if c.abi != "" {
				h.verified(token, "Token", c.abi, notAProxy)
			}
			h.known("12345678", c.entries)
			d, kept := h.decoded(t, call("12345678", "1")+"ff")
			function := ""
			if d.Function != nil {
				function = *d.Function
			}
			args := `[{"name":"","type":"bytes32","value":"0x` + strings.Repeat("0", 63) +
				`1","dynamic":false},{"name":"","type":"bytes1","value":"0xff","dynamic":false}]`
			in := expect.In(t, "%s with %s", c.entries, c.abi)
			expect.Equal(in, function, c.function)
			expect.Contains(in, d.Note, c.note)
			expect.Equal(in, shown(t, d.Args), args)
			expect.Equal(in, kept, 5*time.Minute)
			expect.False(in, d.Guess)
		})
	}
}

func TestDecode_FailingSignatureDatabaseIsNeverReportedAsKnowingNone(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"too many requests": says(http.StatusTooManyRequests, "{}"),
		"an internal error": says(http.StatusInternalServerError, `{"ok":false}`),
		"not found":         says(http.StatusNotFound, `{"ok":true,"result":{"function":{"0x12345678":null}}}`),
		"no JSON":           says(http.StatusOK, "<html>"),
		"not ok":            says(http.StatusOK, `{"ok":false,"result":{"function":{"0x12345678":null}}}`),
		"no result":         says(http.StatusOK, `{"ok":true}`),
		"another selector":  says(http.StatusOK, `{"ok":true,"result":{"function":{"0x12345679":null}}}`),
		"a text":            says(http.StatusOK, `{"ok":true,"result":{"function":{"0x12345678":"f()"}}}`),
		"too large": says(http.StatusOK,
			`{"ok":true,"result":{"function":{"0x12345678":[`+strings.Repeat(`{"name":"f()"},`, 400_000)+`{}]}}}`),
		"a connection that breaks": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t)
			h.unverified(token)
			h.names.on("/signature-database/v1/lookup?function=0x12345678&filter=true", handler)
			d, _, err := h.decode(t, call("12345678", "1"))
			refusal, ok := errors.AsType[*fault.Error](err)
			require.True(t, ok, d, err)
			expect.Equal(t, refusal.Reason, fault.NoUpstream)
			expect.NotEqual(t, refusal.RetryAfter, 0)
		})
	}
}

func TestDecode_SourcifyOutageIsNoGuess(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.sourcify.on(lookup(token), says(http.StatusBadGateway, ""))
	h.known("a9059cbb", `[{"name":"transfer(address,uint256)"}]`)
	d, _, err := h.decode(t, call("a9059cbb", who, "1"))
	if refusal, ok := errors.AsType[*fault.Error](err); !ok || refusal.Reason != fault.NoUpstream {
		t.Errorf("gave %s, %v", shown(t, d), err)
	}
}
