package ens

import (
	"bytes"
	"encoding/hex"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// pack encodes with go-ethereum: the types of a signature's arguments, and values of Go types.
func pack(t testing.TB, types string, values ...any) []byte {
	t.Helper()
	var arguments abi.Arguments
	for name := range strings.FieldsFuncSeq(types, func(r rune) bool { return r == ' ' || r == ',' }) {
		kind, err := abi.NewType(name, "", components[name])
		if err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, abi.Argument{Type: kind})
	}
	data, err := arguments.Pack(values...)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// packed is pack after the selector of a function or an error.
func packed(t testing.TB, signature, types string, values ...any) []byte {
	t.Helper()
	of := selectorOf(signature)
	if types == "" {
		return of[:]
	}
	return append(of[:], pack(t, types, values...)...)
}

// components are those of a batch's tuple.
var components = map[string][]abi.ArgumentMarshaling{
	"tuple[]": {{Name: "sender", Type: "address"}, {Name: "urls", Type: "string[]"}, {Name: "data", Type: "bytes"}},
}

type request struct {
	Sender common.Address
	Urls   []string
	Data   []byte
}

func TestEncoding_IsThatOfSolidity(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte{7}, 100)
	address := common.HexToAddress("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")
	for name, c := range map[string]struct{ got, want []byte }{
		"bytes": {encode(blob(long), blob(nil)), pack(t, "bytes,bytes", long, []byte{})},
		"a word": {
			encode(blob(make([]byte, 32)), number(coinEther)),
			pack(t, "bytes uint256", make([]byte, 32), big.NewInt(60)),
		},
		"lists": {
			encode(list(number(0), number(1)), list(blob(long), blob(nil))),
			pack(t, "bool[] bytes[]", []bool{false, true}, [][]byte{long, {}}),
		},
		"nothing": {encode(list(), list()), pack(t, "bool[] bytes[]", []bool{}, [][]byte{})},
		"a hash": {
			encode(hash([32]byte{1, 2}), number(60)), pack(t, "bytes32 uint256", [32]byte{1, 2}, big.NewInt(60)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if !bytes.Equal(c.got, c.want) {
				t.Errorf("%s:\n%x, want\n%x", name, c.got, c.want)
			}
		})
	}
	l, ok := readLookup(pack(t, "address string[] bytes bytes4 bytes", address, []string{"a", "b"}, long,
		[4]byte{1, 2, 3, 4}, []byte("extra")))
	require.True(t, ok)
	expect.Equal(t, common.Address(l.sender), address)
	expect.Equal(t, strings.Join(l.urls, " "), "a b")
	expect.EqualSlices(t, l.data, long)
	expect.Equal(t, l.callback, selector{1, 2, 3, 4})
	expect.Equal(t, string(l.extra), "extra")
	batch := encoded(pack(t, "tuple[]", []request{{address, []string{"a"}, long}, {common.Address{}, nil, nil}}))
	n, items, ok := batch.list(0)
	if !ok || n != 2 {
		t.Fatalf("the batch has %d items, %v", n, ok)
	}
	l, ok = readRequest(items, 0)
	in := expect.In(t, "the first request")
	require.True(in, ok)
	expect.Equal(in, common.Address(l.sender), address)
	expect.Equal(in, strings.Join(l.urls, " "), "a")
	expect.EqualSlices(in, l.data, long)
}

// Offsets and lengths that point outside the data, or overflow.
func TestDecoding_RefusesLengthsThatLie(t *testing.T) {
	t.Parallel()
	word := func(digits string) []byte {
		w, err := hex.DecodeString(strings.Repeat("0", 64-len(digits)) + digits)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	join := func(words ...string) (e encoded) {
		for _, w := range words {
			e = append(e, word(w)...)
		}
		return e
	}
	for name, e := range map[string]encoded{
		"nothing": nil, "half a word": make(encoded, 31), "offset behind the end": join("40"),
		"offset at the end": join("20"), "offset beyond 64 bits": join(strings.Repeat("f", 64)),
		"offset of 2^64+32": join("10000000000000020", "0"), "offset of 2^63": join("8000000000000000", "0"),
		"length behind the end": join("20", "1"), "length of 2^64-1": join("20", "ffffffffffffffff"),
		"length beyond 64 bits": join("20", strings.Repeat("f", 64)),
		"length one too long":   append(join("20", "21"), make([]byte, 32)...), "offset into the last word": join("21"),
	} {
		t.Run(name, func(t *testing.T) {
			if b, ok := e.bytes(0); ok {
				t.Errorf("bytes %x", b)
			}
			if n, _, ok := e.list(0); ok {
				t.Errorf("a list of %d", n)
			}
		})
	}
	if _, ok := join("ff" + strings.Repeat("1", 40)).address(); ok {
		t.Error("an address of 21 bytes was read")
	}
	if _, ok := encoded(make([]byte, 64)).word(-1); ok {
		t.Error("a word before the first was read")
	}
}

// Thousands of URLs at the same offset take few bytes, and would take gigabytes if they were
// copied.
func TestDecoding_OffsetsToTheSamePlaceCostNothing(t *testing.T) {
	t.Parallel()
	const urls, size = 8000, 200_000
	address := make([]byte, 32)
	e := encoded(encode(value{words: address}, number(5*32), number(0), value{words: make([]byte, 32)}, number(0)))
	e = append(e, number(urls).words...)
	for range urls {
		e = append(e, number(urls*32).words...)
	}
	e = append(append(e, number(size).words...), make([]byte, size)...)
	copy(e[2*32:], number(len(e)-size-32).words)
	copy(e[4*32:], number(len(e)-size-32).words)
	l, ok := readLookup(e)
	require.True(t, ok)
	require.Len(t, l.urls, maxURLs)
	expect.Len(t, l.urls[0], size)
	expect.Equal(t, &l.data[0], &e[len(e)-size])
	expect.Equal(t, &l.extra[0], &l.data[0])
}

func FuzzReadLookup(f *testing.F) {
	f.Add(pack(f, "address string[] bytes bytes4 bytes", common.Address{1}, []string{"https://a"}, []byte("b"),
		[4]byte{1}, []byte("c")))
	f.Add(pack(f, "tuple[]", []request{{common.Address{1}, []string{"https://a"}, []byte("b")}}))
	f.Add(make([]byte, 160))
	f.Fuzz(func(t *testing.T, data []byte) {
		if l, ok := readLookup(data); ok {
			bounded(t, &l, data)
		}
		if n, items, ok := encoded(data).list(0); ok {
			for i := range min(n, maxBatch) {
				if l, ok := readRequest(items, i); ok {
					bounded(t, &l, data)
				}
			}
		}
		if name, ok := dnsDecode(data); ok && !bytes.Equal(dnsEncode(name), data) && !strings.Contains(name, ".") {
			t.Fatalf("%x was read as %q", data, name)
		}
	})
}

func bounded(t *testing.T, l *lookup, data []byte) {
	t.Helper()
	require.AtMost(t, len(l.urls), maxURLs, l.urls)
	require.AtMost(t, len(l.data), len(data), l.data)
	require.AtMost(t, len(l.extra), len(data), l.extra)
}
