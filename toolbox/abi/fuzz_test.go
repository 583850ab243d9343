package abi_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/toolbox/abi"
)

// ladder returns nested lists, levels deep. Each level is one list of n items that all point to the
// next level's list: n to the power of levels values from n times levels words.
func ladder(levels, n int) []byte {
	word := func(n int) []byte { return binary.BigEndian.AppendUint64(make([]byte, 24, 32), uint64(n)) }
	data := word(32)
	for range levels {
		data = append(data, word(n)...)
		for range n {
			data = append(data, word(32*n)...)
		}
	}
	return append(data, word(0)...)
}

// steps returns a ladder whose lists also overlap: every word is a length and an offset.
func steps(words int) []byte {
	return bytes.Repeat(binary.BigEndian.AppendUint64(make([]byte, 24, 32), 32), words)
}

func TestDecode_OverlappingOffsetsCauseBoundedWork(t *testing.T) { //nolint:paralleltest // counts what the process allocates
	for _, signature := range []string{
		"f(uint8" + strings.Repeat("[]", 12) + ")", "f(string" + strings.Repeat("[]", 14) + ")",
		"f((uint8[][][][][],string[][][][])[][][])", "f(bytes" + strings.Repeat("[3]", 8) + ")",
		"f((string,string,string)" + strings.Repeat("[]", 13) + ")", "f(" + strings.Repeat("uint8[][][][][],", 60) +
			"bool)",
	} {
		f := function(t, signature)
		for _, data := range [][]byte{
			ladder(11, 4), ladder(11, 100), ladder(11, 700), steps(100), steps(8000), make([]byte, 256<<10),
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			started := time.Now()
			_, _ = f.Decode(data)
			took := time.Since(started)
			runtime.ReadMemStats(&after)
			if limit := uint64(60*len(data) + 100_000); after.TotalAlloc-before.TotalAlloc > limit {
				t.Errorf("%s over %d bytes allocated %d bytes, more than %d", signature, len(data),
					after.TotalAlloc-before.TotalAlloc, limit)
			}
			if took > 5*time.Second {
				t.Errorf("%s over %d bytes took %s", signature, len(data), took)
			}
		}
	}
}

func TestDecode_SharedTailsAreRefusedBeyondTheBudget(t *testing.T) {
	t.Parallel()
	f := function(t, "f(bytes[])")
	data := words(t, append([]string{"20", "100"}, strings.Split(strings.Repeat("2000 ", 256), " ")[:256]...)...)
	data = append(data, words(t, "20000")...)
	data = append(data, make([]byte, 0x20000)...) // 128 KiB, shared by 256 items
	_, err := f.Decode(data)
	if r, ok := errors.AsType[*abi.ArgumentError](err); !ok || !strings.Contains(r.What, "overlaps so often") {
		t.Errorf("32 MiB out of 136 KiB: %v", err)
	}
}

// FuzzDecode checks that the decoder's work is bounded, and compares it with its own encoder and
// with go-ethereum where both accept the data.
func FuzzDecode(f *testing.F) {
	f.Add("f(address,uint256)", make([]byte, 64))
	f.Add("f(string)", []byte{31: 32, 63: 3, 64: 'a', 65: 'b', 66: 'c', 95: 0})
	f.Add("f(uint8[][][][][][][][])", ladder(8, 3))
	f.Add("f(string[][][][][][])", ladder(6, 16))
	f.Add("f(bytes[][][][],(string,uint8[])[])", ladder(4, 8))
	f.Add("f((uint8[],(bool,string)[2])[])", steps(30))
	f.Add("f(bytes,bytes)", []byte{31: 64, 63: 64, 95: 1, 96: 'a', 127: 0})
	f.Add("f(uint8[])", bytes.Repeat([]byte{0xff}, 96))
	f.Add("f(uint8[65536])", []byte{})
	f.Add("f(int8,int16,function,bytes3,bool)", bytes.Repeat([]byte{0xff}, 160))
	f.Add("f(string[2][2])", []byte{31: 32, 63: 64, 95: 64, 127: 64, 159: 64, 191: 0})
	f.Fuzz(func(t *testing.T, signature string, data []byte) {
		fn, err := abi.ParseSignature(signature)
		if err != nil {
			return
		}
		again, err := abi.ParseSignature(fn.Signature())
		if err != nil || again.Signature() != fn.Signature() {
			t.Fatalf("%q gives %q, which gives %v, %v", signature, fn.Signature(), again, err)
		}
		args, err := fn.Decode(data)
		if err != nil {
			return
		}
		shown(t, args)
		if n := count(args); n > 8*(len(data)/32)+64 {
			t.Fatalf("%d values out of %d bytes", n, len(data))
		}
		encoded := abi.Encode(args)
		decoded, err := fn.Decode(encoded)
		require.NoError(t, err)
		require.Equal(t, shown(t, decoded), shown(t, args), data)
		require.EqualSlices(t, abi.Encode(decoded), encoded, data)
		theirs, err := asGeth(t, fn, data)
		if err == nil && !bytes.Equal(theirs, encoded) {
			t.Fatalf("%s: %x is %x to us and %x to go-ethereum", fn.Signature(), data, encoded, theirs)
		}
	})
}

// FuzzParseContract checks the limits of ABIs, and that every method of a parsed contract works.
func FuzzParseContract(f *testing.F) {
	f.Add([]byte(
		`[{"type":"function","name":"f","inputs":[{"name":"a","type":"tuple[2][]","components":[{"name":"b",` +
			`"type":"bytes"}]}]}]`))
	f.Add([]byte(`[{"type":"fallback","payable":true},{"type":"receive"},{"name":"g"}]`))
	f.Add([]byte(
		`[{"type":"function","name":"f","inputs":[{"type":"tuple[[]]","components":[{"type":"uint8[65537]"}]}]}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var entries []json.RawMessage
		if json.Unmarshal(text, &entries) != nil {
			return
		}
		c, err := abi.ParseContract(entries)
		if err != nil {
			return
		}
		for _, fn := range c.Functions {
			if again, err := abi.ParseSignature(fn.Signature()); err != nil || again.Selector() != fn.Selector() {
				t.Fatalf("%s is read from an ABI, and not from its signature: %v", fn.Signature(), err)
			}
			_, _ = fn.Decode(text)
		}
	})
}

func count(args []abi.Argument) int {
	var of func(v *abi.Value) int
	of = func(v *abi.Value) int {
		n := 1
		for i := range v.Items {
			n += of(&v.Items[i])
		}
		return n
	}
	n := 0
	for i := range args {
		n += of(&args[i].Value)
	}
	return n
}
