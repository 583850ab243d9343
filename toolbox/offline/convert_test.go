package offline_test

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/toolbox/offline"
)

// units has every name in ethers, viem and web3, with its power of ten of wei.
var units = map[string]int64{
	"wei": 0, "kwei": 3, "babbage": 3, "femtoether": 3, "mwei": 6, "lovelace": 6, "picoether": 6, "gwei": 9,
	"shannon": 9, "nanoether": 9, "nanoeth": 9, "nano": 9, "szabo": 12, "microether": 12, "micro": 12, "finney": 15,
	"milliether": 15, "milli": 15, "eth": 18, "ether": 18, "kether": 21, "grand": 21, "mether": 24, "gether": 27,
	"tether": 30,
}

func TestConvert_AmountsExactly(t *testing.T) {
	t.Parallel()
	eighty := strings.Repeat("1234567890", 8)
	for _, c := range []struct{ value, from, to, want string }{
		{"1", "eth", "wei", "1000000000000000000"},
		{"1", "wei", "eth", "0.000000000000000001"},
		{"1.5", "gwei", "wei", "1500000000"},
		{"21000", "gwei", "ether", "0.000021"},
		{"0.1", "eth", "gwei", "100000000"},
		{"1", "tether", "wei", "1000000000000000000000000000000"},
		{"1", "wei", "tether", "0.000000000000000000000000000001"},
		{"123", "Finney", "SZABO", "123000"},
		{"-0.25", "eth", "finney", "-250"},
		{"-1", "wei", "kwei", "-0.001"},
		{"0", "wei", "eth", "0"},
		{"-0.000", "wei", "eth", "0"},
		{"007", "wei", "wei", "7"},
		{"00.700", "wei", "wei", "0.7"},
		{".5", "eth", "wei", "500000000000000000"},
		{"5.", "wei", "wei", "5"},
		{"100", "wei", "wei", "100"},
		{"0.0000000000000000001", "eth", "wei", "0.1"},
		{"0.3", "wei", "eth", "0.0000000000000000003"},
		{eighty, "wei", "wei", eighty},
		{eighty, "wei", "eth", eighty[:62] + "." + strings.TrimRight(eighty[62:], "0")},
		{eighty, "eth", "wei", eighty + strings.Repeat("0", 18)},
		{"0." + eighty, "eth", "wei", strings.TrimRight("123456789012345678."+eighty[18:], "0")},
		{
			strings.Repeat("9", offline.MaxValue), "tether", "wei",
			strings.Repeat("9", offline.MaxValue) + strings.Repeat("0", 30),
		},
		{"0xde0b6b3a7640000", "wei", "eth", "1"},
		{"0xDE0B6B3A7640000", "wei", "eth", "1"},
		{"0x0", "wei", "eth", "0"},
		{"-0x0010", "gwei", "wei", "-16000000000"},
		{
			"0x" + strings.Repeat("f", 64), "wei", "wei",
			"115792089237316195423570985008687907853269984665640564039457584007913129639935",
		},
	} {
		t.Run(c.from, func(t *testing.T) {
			got, refusal := offline.Convert(c.value, c.from, c.to)
			if refusal != nil || got.Result != c.want {
				t.Errorf("%s %s in %s: %q, %v; want %s", c.value, c.from, c.to, got.Result, refusal, c.want)
			}
			expect.Equal(t, got.Value, c.value)
			expect.Equal(t, got.From, strings.ToLower(c.from))
			expect.Equal(t, got.To, strings.ToLower(c.to))
		})
	}
}

func TestConvert_EveryUnitToEveryOther(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(6, 1))
	for from, decimals := range units {
		for to, others := range units {
			value := amount(random)
			got, refusal := offline.Convert(value, from, strings.ToUpper(to))
			if refusal != nil {
				t.Fatalf("%s %s in %s: %v", value, from, to, refusal)
			}
			if want := rat(t, value, decimals-others); rat(t, got.Result, 0).Cmp(want) != 0 {
				t.Errorf("%s %s is %s %s, want %s", value, from, got.Result, to, want)
			}
			if whole := rat(t, value, decimals).IsInt(); whole != (got.Note == "") {
				t.Errorf("%s %s: whole is %v, the note says %q", value, from, whole, got.Note)
			}
			plain(t, got.Result)
		}
	}
}

// amount returns a decimal number of up to 80 digits.
func amount(r *rand.Rand) string {
	digits := make([]byte, 1+r.IntN(80))
	for i := range digits {
		digits[i] = byte('0' + r.IntN(10))
	}
	sign := strings.Repeat("-", r.IntN(2))
	if point := r.IntN(2 * len(digits)); point < len(digits) {
		return sign + string(digits[:point]) + "." + string(digits[point:])
	}
	return sign + string(digits)
}

// rat returns a decimal times ten to the power of by, computed by another library.
func rat(t *testing.T, decimal string, by int64) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(decimal)
	if !ok {
		t.Fatalf("%q is no decimal", decimal)
	}
	power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(max(by, -by)), nil))
	if by < 0 {
		power.Inv(power)
	}
	return r.Mul(r, power)
}

// plain checks that a result is in the canonical form of a decimal number.
func plain(t *testing.T, result string) {
	t.Helper()
	digits := strings.TrimPrefix(result, "-")
	whole, fraction, pointed := strings.Cut(digits, ".")
	switch {
	case strings.Trim(whole+fraction, "0123456789") != "", whole == "", pointed == (fraction == ""), result == "-0",
		len(whole) > 1 && whole[0] == '0', strings.HasSuffix(fraction, "0"):
		t.Errorf("%q is not plainly written", result)
	}
}

func TestConvert_InvalidAmountIsRefused(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"", ".", "-", "-.", "+1", "--1", "1-", "1e18", "1E18", "1e-3", "1.2.3", "1..2", " 1", "1 ", "1 000", "1,000",
		"1_000", "1'000", "١", "１", "½", "NaN", "inf", "Infinity", "0x", "-0x", "0xg", "0x1.8", "0x-1", "0x+1", "0x 1",
		"0x1_0", "0X10", "1x", "ten", "1 eth", "1\x00", "\xff", strings.Repeat("1", offline.MaxValue+1),
	} {
		got, refusal := offline.Convert(value, "eth", "wei")
		refused(t, value, refusal, "value")
		if got != (offline.Conversion{}) {
			t.Errorf("%q: %+v", value, got)
		}
	}
}

func TestConvert_UnknownUnitIsRefused(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{
		"", "btc", "we", "weii", " wei", "wei ", "gwei,eth", "wеi" /* Cyrillic */, "18",
		strings.Repeat("wei", 1000), "\x00", "Kwei\u0130",
	} {
		_, refusal := offline.Convert("1", unit, "wei")
		refused(t, unit, refusal, "from")
		_, refusal = offline.Convert("1", "wei", unit)
		refused(t, unit, refusal, "to")
		if !strings.Contains(refusal.Message, "gwei") {
			t.Errorf("%q: %q does not say what there is", unit, refusal.Message)
		}
	}
}

// refused checks the field of a fault, and that its message is bounded.
func refused(t *testing.T, input string, refusal *fault.Error, field string) {
	t.Helper()
	if refusal == nil {
		t.Errorf("%.60q is not refused", input)
		return
	}
	fields, ok := refusal.Data["fields"].([]map[string]string)
	in := expect.In(t, "%.60q", input)
	expect.Equal(in, refusal.Reason, fault.FieldRefused)
	require.True(in, ok)
	require.Len(in, fields, 1)
	expect.Equal(in, fields[0]["field"], field)
	if len(refusal.Message) > 600 || !strings.Contains(refusal.Message, field+": ") {
		t.Errorf("%.60q: the message is %q", input, refusal.Message)
	}
}
