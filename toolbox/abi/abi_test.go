package abi_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/toolbox/abi"
)

func function(t *testing.T, signature string) *abi.Function {
	t.Helper()
	f, err := abi.ParseSignature(signature)
	if err != nil {
		t.Fatalf("%s: %v", signature, err)
	}
	return f
}

// words joins 32-byte words. Each is hex, padded on the left, or on the right if it ends with a
// dot.
func words(t *testing.T, list ...string) []byte {
	t.Helper()
	var text strings.Builder
	for _, w := range list {
		if left, ok := strings.CutSuffix(w, "."); ok {
			text.WriteString(left + strings.Repeat("0", 64-len(left)))
			continue
		}
		text.WriteString(strings.Repeat("0", 64-len(w)) + w)
	}
	data, err := hex.DecodeString(text.String())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func shown(t *testing.T, args []abi.Argument) string {
	t.Helper()
	list := make([]any, len(args))
	for i := range args {
		list[i] = args[i].Value.JSON()
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSignature_IsReadInCanonicalForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"transfer(address,uint256)":    "transfer(address,uint256) 0xa9059cbb",
		"f()":                          "f() 0x26121ff0",
		"f(uint,int[],byte[2])":        "f(uint256,int256[],bytes1[2])",
		"f((uint,(bool,string)[3])[])": "f((uint256,(bool,string)[3])[])",
		"$_9(function,bytes32,bytes)":  "$_9(function,bytes32,bytes)",
		// Solidity's order: the last bracket is the outermost.
		"f(uint8[2][])": "f(uint8[2][])",
	} {
		t.Run(text, func(t *testing.T) {
			f := function(t, text)
			selector := f.Selector()
			if got := f.Signature() + " " + abi.Hex(selector[:]); !strings.HasPrefix(got, want) {
				t.Errorf("%s is read as %s, want %s", text, got, want)
			}
		})
	}
}

func TestSignature_InvalidIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "f", "f(", "f)", "(uint256)", "f(uint256", "f(uint256))", "f(uint256)x", "f(uint256,)", "f(,)",
		"f( uint256)", "f(uint256 a)", "1f()", "f-g()", "é()", "f(uint7)", "f(uint264)", "f(uint08)", "f(uint0)",
		"f(int-8)", "f(bytes0)", "f(bytes33)", "f(bytes01)", "f(uint256[)", "f(uint256])", "f(uint256[0])",
		"f(uint256[01])", "f(uint256[-1])", "f(uint256[+1])", "f(uint256[1e3])", "f(uint256[65537])",
		"f(uint256[99999999999999999999])", "f(uint256[300][300])", "f(())", "f(()[])", "f(fixed)", "f(tuple)",
		"f(address payable)", "f(Uint256)", "f(uint256[]uint8)", "f([])",
		"f(" + strings.Repeat("(", 17) + "bool" + strings.Repeat(")", 17) + ")",
		"f(bool" + strings.Repeat("[]", 17) + ")", "f(" + strings.Repeat("bool,", 512) + "bool)",
		strings.Repeat("f", 257) + "()", "f(" + strings.Repeat("(", 1_000_000),
	} {
		if f, err := abi.ParseSignature(text); err == nil {
			t.Errorf("%.60q is read as %.60s", text, f.Signature())
		}
	}
}

func TestArguments_AreShownByTheirTypes(t *testing.T) {
	t.Parallel()
	const address = "5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"
	minusOne := strings.Repeat("f", 64)
	for _, c := range []struct {
		signature string
		data      []string
		want      string
	}{
		{"f()", nil, `[]`},
		{
			"f(address,uint256)",
			[]string{address, minusOne},
			`["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",` +
				`"115792089237316195423570985008687907853269984665640564039457584007913129639935"]`,
		},
		{"f(int256,int8,int8)", []string{minusOne, strings.Repeat("f", 62) + "80", "7f"}, `["-1","-128","127"]`},
		{
			"f(int256)",
			[]string{"80" + strings.Repeat("0", 62)},
			`["-57896044618658097711785492504343953926634992332820282019728792003956564819968"]`,
		},
		{
			"f(bool,bool,bytes3,function)",
			[]string{"1", "0", "010203.", address + "a9059cbb."},
			`[true,false,"0x010203","0x` + address + `a9059cbb"]`,
		},
		{"f(string,bytes)", []string{"40", "80", "3", "616263.", "0"}, `["abc","0x"]`},
		{"f(string)", []string{"20", "2", "c328."}, `[{"invalid_utf8":"0xc328"}]`},
		{"f(uint8[2][])", []string{"20", "2", "1", "2", "3", "4"}, `[[["1","2"],["3","4"]]]`},
		{"f(uint8[][2])", []string{"20", "40", "80", "1", "7", "0"}, `[[["7"],[]]]`},
		{
			"f((uint8,bool)[1],string)",
			[]string{"5", "1", "60", "1", "78."},
			`[[[{"name":"","type":"uint8","value":"5"},{"name":"","type":"bool","value":true}]],"x"]`,
		},
	} {
		t.Run(c.signature, func(t *testing.T) {
			data := words(t, c.data...)
			args, err := function(t, c.signature).Decode(data)
			if err != nil {
				t.Error(err)
				return
			}
			if got := shown(t, args); got != c.want {
				t.Errorf("%s gives %s, want %s", c.signature, got, c.want)
			}
			if again := abi.Encode(args); string(again) != string(data) {
				t.Errorf("encodes to %x, want %x", again, data)
			}
		})
	}
}

func TestRaw_IsWhatADynamicArgumentTakes(t *testing.T) {
	t.Parallel()
	data := words(t, "60", "1", "e0", "2", "40", "60", "0", "20", "1", "78.")
	args, err := function(t, "f(uint8[][],bool,(string))").Decode(data)
	if err == nil {
		t.Fatalf("items overlap the next argument, and it is read: %s", shown(t, args))
	}
	data = words(t, "60", "1", "100", "2", "40", "60", "0", "0", "20", "1", "78.")
	if args, err = function(t, "f(uint8[][],bool,(string))").Decode(data); err != nil {
		t.Fatal(err)
	}
	if got, want := string(args[0].Raw), string(data[0x60:0x100]); got != want {
		t.Errorf("the raw array is %x, want %x", got, want)
	}
	if args[1].Raw != nil {
		t.Errorf("a static argument has raw bytes %x", args[1].Raw)
	}
	if got, want := string(args[2].Raw), string(data[0x100:]); got != want {
		t.Errorf("the raw tuple is %x, want %x", got, want)
	}
}

func TestDecode_NonStandardLayoutsAreReadAndReported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, signature, want, data string }{
		{"bytes behind the last argument", "f(bool)", `[true]`, string(words(t, "1")) + "referrer"},
		{
			"tails in another order", "f(string,string)", `["b","a"]`,
			string(words(t, "80", "40", "1", "61.", "1", "62.")),
		},
		{
			"two arguments that share a tail", "f(bytes,bytes)", `["0x61","0x61"]`,
			string(words(t, "40", "40", "1", "61.")),
		},
		{"a gap before the tail", "f(bytes)", `["0x61"]`, string(words(t, "40", "ff", "1", "61."))},
		{"no zeros behind the content", "f(string)", `["abc"]`, string(words(t, "20", "3")) + "abc"},
		{
			"something else than zeros behind the content", "f(string)", `["abc"]`,
			string(words(t, "20", "3", "61626378.")),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			args, err := function(t, c.signature).Decode([]byte(c.data))
			if err != nil {
				t.Error(err)
				return
			}
			if got := shown(t, args); got != c.want {
				t.Errorf("gives %s, want %s", got, c.want)
			}
			if string(abi.Encode(args)) == c.data {
				t.Errorf("%s is taken for the standard layout", c.name)
			}
		})
	}
}

func TestDecode_MismatchIsRefusedByPlaceAndReason(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("f", 64)
	for _, c := range []struct {
		name, signature string
		data            []string
		want            string
	}{
		{
			"short", "f(uint8,uint8)",
			[]string{"1"},
			"f(uint8,uint8) needs at least 64 bytes after the selector, and there are 32",
		},
		{"nothing", "f(string)", nil, "f(string) needs at least 32 bytes after the selector, and there are 0"},
		{
			"offset past the end", "f(string)",
			[]string{"40"},
			"argument 1 has an offset that leads past the end of the data",
		},
		{
			"offset to the very end", "f(string)",
			[]string{"20"},
			"argument 1 has an offset that leads past the end of the data",
		},
		{
			"offset of 2^256-1", "f(string)",
			[]string{huge},
			"argument 1 has an offset that leads past the end of the data",
		},
		{
			"offset of 2^31", "f(string)",
			[]string{"80000000"},
			"argument 1 has an offset that leads past the end of the data",
		},
		{
			"offset of 2^64", "f(string)",
			[]string{"10000000000000000"},
			"argument 1 has an offset that leads past the end of the data",
		},
		{"length past the end", "f(string)", []string{
			"20", "21", "61.",
		}, "argument 1 has a length that is longer than the data"},
		{"length of 2^256-1", "f(bytes)", []string{"20", huge}, "argument 1 has a length that is longer than the data"},
		{"too many items", "f(uint8[])", []string{"20", "2", "1"}, "argument 1 has more items than the data holds"},
		{"length of 2^31-1 items", "f(uint8[])", []string{
			"20", "7fffffff",
		}, "argument 1 has more items than the data holds"},
		{"item of an array", "f(uint8[2])", []string{"1", "100"}, "argument 1[1] has bits beyond its type, uint8"},
		{
			"component of a tuple", "f(bool,(bool,string)[])",
			[]string{"1", "40", "1", "20", "1", "40", "1"},
			"argument 2[0].1 has a length that is longer than the data",
		},
		{
			"tuple past the end", "f((bool,string))",
			[]string{"20", "1"},
			"argument 1 has an offset that leads past the end of the data",
		},
		{
			"array of fixed length past the end", "f(string[2])",
			[]string{"20", "1"},
			"argument 1 has more items than the data holds",
		},
		{"dirty address", "f(address)", []string{
			"01" + strings.Repeat("0", 40),
		}, "argument 1 has bits beyond its type, address"},
		{"dirty uint", "f(uint8)", []string{"100"}, "argument 1 has bits beyond its type, uint8"},
		{"dirty int", "f(int8)", []string{"80"}, "argument 1 has bits beyond its type, int8"},
		{
			"dirty negative int", "f(int16)",
			[]string{"ff" + strings.Repeat("0", 58) + "8000"},
			"argument 1 has bits beyond its type, int16",
		},
		{"dirty bytes", "f(bytes2)", []string{"616263."}, "argument 1 has bits beyond its type, bytes2"},
		{
			"dirty function", "f(function)",
			[]string{strings.Repeat("1", 50) + "."},
			"argument 1 has bits beyond its type, function",
		},
		{"bool of 2", "f(bool)", []string{"2"}, "argument 1 is neither 0 nor 1, and its type is bool"},
		{"bool of 257", "f(bool)", []string{"101"}, "argument 1 has bits beyond its type, bool"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args, err := function(t, c.signature).Decode(words(t, c.data...))
			if err == nil {
				t.Errorf("%s is read: %s", c.name, shown(t, args))
				return
			}
			if r, ok := errors.AsType[*abi.ArgumentError](err); !ok || r.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestABI_ContractsAreReadFromIt(t *testing.T) {
	t.Parallel()
	c, err := abi.ParseContract(entries(t, `[1,null,{"inputs":{}},
		{"type":"constructor","inputs":[{"type":"uint256"}]},
		{"type":"function","name":"fill","inputs":[{"name":"orders","type":"tuple[2][]","components":[{"name":"maker","type":"address"},{"name":"data","type":"bytes"}]}]},
		{"name":"old","inputs":[],"constant":true},
		{"type":"function","name":"ofLibrary","inputs":[{"type":"Lib.Data storage"}]},
		{"type":"function","name":"fixedPoint","inputs":[{"type":"fixed168x10"}]},
		{"type":"function","name":"empty","inputs":[{"type":"tuple","components":[]}]},
		{"type":"function","name":"trailing","inputs":[{"type":"uint256[]x"}]},
		{"type":"function","name":"not a name","inputs":[]},
		{"type":"event","name":"fill","inputs":[]},{"type":"error","name":"fill","inputs":[]},
		{"type":"receive","stateMutability":"payable"},{"type":"fallback","stateMutability":"nonpayable"}]`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range c.Functions {
		got = append(got, f.Signature())
	}
	if list := strings.Join(got, " "); list != "fill((address,bytes)[2][]) old()" {
		t.Errorf("the functions are %s", list)
	}
	expect.True(t, c.Receive)
	expect.True(t, c.Fallback)
	expect.False(t, c.Payable)
	orders := c.Functions[0].Inputs[0]
	if orders.Name != "orders" || orders.Type.Elem.Elem.Fields[1].Name != "data" {
		t.Errorf("the names are lost: %+v", orders)
	}
	if found := c.Selected(c.Functions[0].Selector()); len(found) != 1 || found[0] != c.Functions[0] {
		t.Errorf("its selector finds %v", found)
	}
}

func TestABI_IsReadWithinBounds(t *testing.T) {
	t.Parallel()
	if _, err := abi.ParseContract(entries(t, "["+strings.Repeat("{},", abi.MaxEntries)+"{}]")); err == nil {
		t.Errorf("more than %d entries are read", abi.MaxEntries)
	}
	deep := strings.Repeat(`{"type":"tuple","components":[`, 4000) + strings.Repeat(`]}`, 4000)
	c, err := abi.ParseContract(
		entries(t, `[{"type":"function","name":"f","inputs":[`+deep+`]},{"type":"function","name":"g"}]`))
	if err != nil || len(c.Functions) != 1 {
		t.Errorf("beside a function of deep components there are %v, %v", c, err)
	}
}

func entries(t *testing.T, text string) (list []json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	return list
}
