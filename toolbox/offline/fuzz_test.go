package offline_test

import (
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/toolbox/offline"
)

// FuzzConvert checks that a conversion is exact by another library's arithmetic, in canonical form,
// and reversible.
func FuzzConvert(f *testing.F) {
	for _, value := range []string{
		"1", "-0.5", "1.50", "007", ".5", "5.", "0x10", "1e18", "+1", "1.2.3", "", "-",
		strings.Repeat("9", 80), "0." + strings.Repeat("0", 78) + "1",
	} {
		f.Add(value, "eth", "wei")
		f.Add(value, "WEI", "Tether")
		f.Add(value, "finney", "szabo")
	}
	f.Add("1", "btc", "")
	f.Fuzz(func(t *testing.T, value, from, to string) {
		there, refusal := offline.Convert(value, from, to)
		if refusal != nil {
			if refusal.Reason != fault.FieldRefused || len(refusal.Message) > 600 {
				t.Fatal(refusal)
			}
			return
		}
		plain(t, there.Result)
		if !strings.Contains(value, "0x") { // the other library reads such text differently
			if want := rat(t, decimal(value), units[there.From]-units[there.To]); rat(t, there.Result,
				0).Cmp(want) != 0 {
				t.Fatalf("%s %s is %s %s", value, from, there.Result, to)
			}
		}
		if len(there.Result) > offline.MaxValue {
			return
		}
		back, refusal := offline.Convert(there.Result, to, from)
		same, other := offline.Convert(value, from, from)
		in := expect.In(t, "%s %s", value, from)
		require.Nil(in, refusal, to)
		require.Nil(in, other, to)
		require.Equal(in, back.Result, same.Result, to)
		require.Equal(in, back.Note, there.Note, to)
	})
}

// decimal adds the digits that .5 and 5. leave out.
func decimal(value string) string {
	sign, digits := "", value
	if rest, negative := strings.CutPrefix(value, "-"); negative {
		sign, digits = "-", rest
	}
	return sign + "0" + strings.TrimSuffix(digits, ".")
}

// FuzzCanonical checks that the canonical form is idempotent, has the form that is hashed, and
// consists of types that go-ethereum knows.
func FuzzCanonical(f *testing.F) {
	for _, signature := range []string{
		"transfer(address,uint256)",
		"function f(uint a, tuple(int[] b, bool)[2] memory c) external view returns (byte d);",
		"event E(address indexed a, fixed)", "error e ( ( ( ) ) )", "f(address payable[] x, function cb)", "f(uint7)",
		"f(address uint)", "f((((((((", "f(uint[", "constructor()", "f(uint)\x00", "f\u0430(bytes32)",
		"function(function)",
	} {
		f.Add(signature)
	}
	f.Fuzz(func(t *testing.T, written string) {
		canonical, refusal := offline.Canonical(written)
		if refusal != nil {
			if refusal.Reason != fault.FieldRefused || len(refusal.Message) > 600 {
				t.Fatal(refusal)
			}
			return
		}
		if again, refusal := offline.Canonical(canonical); refusal != nil || again != canonical {
			t.Fatalf("%q becomes %q, which becomes %q: %v", written, canonical, again, refusal)
		}
		if strings.ContainsAny(canonical, " \t\r\n;") || strings.Count(canonical, "(") != strings.Count(canonical,
			")") {
			t.Fatalf("%q becomes %q", written, canonical)
		}
		knownToGoEthereum(t, canonical)
	})
}

// knownToGoEthereum compares the types of a signature without tuples with go-ethereum's, which has
// no fixed-point numbers.
func knownToGoEthereum(t *testing.T, canonical string) {
	t.Helper()
	_, types, _ := strings.Cut(strings.TrimSuffix(canonical, ")"), "(")
	if strings.ContainsAny(types, "()") || types == "" {
		return
	}
	for name := range strings.SplitSeq(types, ",") {
		if strings.Contains(name, "fixed") || len(name) > 60 {
			continue
		}
		for length := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '[' || r == ']' }) {
			if len(length) > 9 && strings.Trim(length, "0123456789") == "" {
				return // does not fit in an int
			}
		}
		if known, err := abi.NewType(name, "", nil); err != nil || known.String() != name {
			t.Fatalf("%q is %q to go-ethereum: %v", name, known.String(), err)
		}
	}
}

// FuzzChecksum checks that go-ethereum accepts the same addresses, and that the checksummed form is
// valid.
func FuzzChecksum(f *testing.F) {
	for _, address := range append(eip55, "", "0x", "0X00", "someone.eth", strings.ToLower(eip55[4]),
		eip55[4][:41]+"d") {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		got := offline.Checksum(address)
		if is := strings.HasPrefix(address, "0x") && common.IsHexAddress(address); is != (got.Checksummed != nil) {
			t.Fatalf("%q: %+v, and to go-ethereum it is %v", address, got, is)
		}
		if got.ValidAddress == (got.Note != "") || (got.ChecksumOK != nil && *got.ChecksumOK != got.ValidAddress) {
			t.Fatalf("%q: %+v", address, got)
		}
		if got.Checksummed == nil {
			return
		}
		right := offline.Checksum(*got.Checksummed)
		in := expect.In(t, "%q", address)
		require.True(in, right.ValidAddress, got)
		require.True(in, *right.ChecksumOK)
		require.Equal(in, *right.Checksummed, common.HexToAddress(address).Hex())
	})
}
