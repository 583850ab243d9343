package jsonrpc

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/require"
)

// follow feeds a value in chunks of the given size. end is where the value ended; -1 if it did not.
func follow(body []byte, size int) (end int, err error) {
	var f follower
	for from := 0; from < len(body); from += size {
		n, done, err := f.feed(body[from:min(from+size, len(body))])
		if err != nil {
			return -1, err
		}
		if done {
			return from + n, nil
		}
	}
	return -1, nil
}

var values = []string{
	`{"a":[1,"}]\"\\",{"b":null}],"c":"x"}`, ` [ ] `, `{}`, `[[],[{}],[ [ ] ]]`, `"é😀\u00e9\ud83d\ude00\/\b\f\n\r\t"`,
	`[-0,0.5,-1.25e+10,1E-2,10,1e5]`, `[true,false,null]`, `"exactly8"`, `"0123456789abcdef0123456789abcde\\"`,
	"[\"\x7f\x80\xff\"]", `{"":{"":""}}`, `{"a" : 1 , "b" : [ 2 , 3 ] }`,
	strings.Repeat("[", MaxResponseDepth) + strings.Repeat("]", MaxResponseDepth),
}

var nonValues = []string{
	`[}`, `{]`, `[1,]`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{1:2}`, `{a:1}`, `[1 2]`, `{"a":1 "b":2}`, `[,1]`, `{,}`,
	`[01]`, `[-]`, `[1.]`, `[.5]`, `[1e]`, `[1e+]`, `[+1]`, `[1.5.5]`, `[--1]`, `[tru]`, `[truee]`, `[nul1]`, `["\x"]`,
	`["\u12g4"]`, "[\"a\nb\"]", "[\"aaaaaaa\x00aaaaaaaa\"]", `]`, `}`, `,`, `:`, "\x00", "\ufeff[]", `[1}`, `[0x1]`,
	`[NaN]`, `['a']`, `[/*x*/1]`,
}

func TestFollower_FindsTheEndOfEveryValueInAnyChunks(t *testing.T) {
	t.Parallel()
	for _, v := range values {
		want := len(strings.TrimRight(v, " "))
		for _, size := range []int{1, 2, 3, 7, 8, 9, 1 << 20} {
			if end, err := follow([]byte(v+",rest"), size); err != nil || end != want {
				t.Errorf("%.60s in chunks of %d ends at %d (%v), want %d", v, size, end, err, want)
			}
		}
	}
	for _, number := range []string{"0", "-1", "1.5", "2e7", "12345678901234567890"} {
		for _, after := range []string{",", "}", " ", "\n"} {
			if end, err := follow([]byte(number+after), 1); err != nil || end != len(number) {
				t.Errorf("%s before %q ends at %d, %v", number, after, end, err)
			}
		}
	}
}

func TestFollower_RefusesInvalidValues(t *testing.T) {
	t.Parallel()
	for _, v := range nonValues {
		for _, size := range []int{1, 8, 1 << 20} {
			if end, err := follow([]byte(v+"     "), size); !errors.Is(err, ErrSyntax) {
				t.Errorf("%q in chunks of %d passed to %d, %v", v, size, end, err)
			}
		}
	}
	deep := strings.Repeat(`{"a":[`, MaxResponseDepth)
	if _, err := follow([]byte(deep), 1<<20); !errors.Is(err, ErrTooDeep) {
		t.Errorf("a value of %d levels gives %v", 2*MaxResponseDepth, err)
	}
}

// FuzzFollower compares the follower with encoding/json, which reads the whole value.
func FuzzFollower(f *testing.F) {
	for _, v := range append(values, nonValues...) {
		f.Add([]byte(v), 3)
	}
	f.Fuzz(func(t *testing.T, body []byte, size int) {
		if size < 1 {
			size = 1
		}
		end, err := follow(append(slices.Clip(body), ' '), size) // the blank ends a number
		if json.Valid(body) {
			if errors.Is(err, ErrTooDeep) {
				return
			}
			require.NoError(t, err)
			require.AtLeast(t, end, 0, size)
			require.Equal(t, strings.TrimRight(string(body), " \n\r\t"), string(body[:end]), size)
			return
		}
		if end >= 0 && !json.Valid(body[:min(end, len(body))]) {
			t.Fatalf("%q is no JSON up to %d", body, end)
		}
		if Valid(body) {
			t.Fatalf("%q passes as JSON", body)
		}
	})
}

// trace returns an answer of some megabytes that resembles debug_traceTransaction's.
func trace() []byte {
	var b strings.Builder
	b.WriteString(`{"gas":21000,"failed":false,"returnValue":"","structLogs":[`)
	for i := range 4000 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"pc":` + strconv.Itoa(i) + `,"op":"SLOAD","gas":` + strconv.Itoa(8_000_000-i) +
			`,"gasCost":2100,"depth":3,"stack":[`)
		for j := range 12 {
			if j > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"0x` + strings.Repeat(strconv.FormatInt(int64(i*j%16), 16), 1+(i*j)%64) + `"`)
		}
		b.WriteString(`]}`)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

// BenchmarkFollow measures following a streamed trace, and one long string of hexadecimal digits.
func BenchmarkFollow(b *testing.B) {
	for name, body := range map[string][]byte{
		"trace": trace(), "bytes": []byte(`"0x` + strings.Repeat("00ff", 1<<18) + `"`),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if end, err := follow(body, 32<<10); err != nil || end != len(body) {
					b.Fatal(end, err)
				}
			}
		})
	}
}

// BenchmarkValid measures the validation of the same answers as a whole.
func BenchmarkValid(b *testing.B) {
	for name, body := range map[string][]byte{
		"trace": trace(), "bytes": []byte(`"0x` + strings.Repeat("00ff", 1<<18) + `"`),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if !Valid(body) {
					b.Fatal("not valid")
				}
			}
		})
	}
}
