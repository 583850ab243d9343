package abi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	geth "github.com/ethereum/go-ethereum/accounts/abi"

	"github.com/chainaccess/gateway/toolbox/abi"
)

// random generates types and values from a seed.
type random struct{ *rand.Rand }

// typ returns a type with at most levels of nesting.
func (r random) typ(levels int) string {
	kinds := 8
	if levels > 0 {
		kinds = 12
	}
	switch r.IntN(kinds) {
	case 0:
		return fmt.Sprintf("uint%d", 8*(1+r.IntN(32)))
	case 1:
		return fmt.Sprintf("int%d", 8*(1+r.IntN(32)))
	case 2:
		return "address"
	case 3:
		return "bool"
	case 4:
		return fmt.Sprintf("bytes%d", 1+r.IntN(32))
	case 5:
		return "function"
	case 6:
		return "bytes"
	case 7:
		return "string"
	case 8:
		return r.typ(levels-1) + "[]"
	case 9:
		return fmt.Sprintf("%s[%d]", r.typ(levels-1), 1+r.IntN(3))
	default:
		parts := make([]string, 1+r.IntN(4))
		for i := range parts {
			parts[i] = r.typ(levels - 1)
		}
		return "(" + strings.Join(parts, ",") + ")"
	}
}

func (r random) signature() string {
	parts := make([]string, r.IntN(5))
	for i := range parts {
		parts[i] = r.typ(4)
	}
	return "f(" + strings.Join(parts, ",") + ")"
}

// value returns a value of the type that the decoder must accept.
func (r random) value(t *abi.Type) abi.Value {
	v := abi.Value{Type: t}
	switch t.Kind {
	case abi.Uint:
		v.Data = make([]byte, 32)
		r.fill(v.Data[32-t.Size/8:])
	case abi.Int:
		v.Data = make([]byte, 32)
		r.fill(v.Data[32-t.Size/8:])
		if v.Data[32-t.Size/8]&0x80 != 0 {
			copy(v.Data[:32-t.Size/8], bytes.Repeat([]byte{0xff}, 32))
		}
	case abi.Address:
		v.Data = make([]byte, 32)
		r.fill(v.Data[12:])
	case abi.Bool:
		v.Data = make([]byte, 32)
		v.Data[31] = byte(r.IntN(2))
	case abi.FixedBytes, abi.FunctionPointer:
		v.Data = make([]byte, 32)
		r.fill(v.Data[:t.Size])
	case abi.Bytes:
		v.Data = make([]byte, r.IntN(70))
		r.fill(v.Data)
	case abi.String:
		v.Data = []byte(strings.Repeat("añ😀\x00", r.IntN(10)))
	case abi.Array:
		v.Items = r.values(t.Elem, t.Size)
	case abi.Slice:
		v.Items = r.values(t.Elem, r.IntN(4))
	case abi.Tuple:
		for _, f := range t.Fields {
			v.Items = append(v.Items, r.value(f.Type))
		}
	}
	return v
}

func (r random) values(t *abi.Type, n int) []abi.Value {
	list := make([]abi.Value, n)
	for i := range list {
		list[i] = r.value(t)
	}
	return list
}

func (r random) fill(b []byte) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	if r.IntN(3) == 0 { // many values are small
		copy(b, make([]byte, max(len(b)-1, 0)))
	}
}

// gethArguments returns the inputs of a function in go-ethereum's form.
func gethArguments(t testing.TB, f *abi.Function) geth.Arguments {
	t.Helper()
	var of func(name string, typ *abi.Type) map[string]any
	of = func(name string, typ *abi.Type) map[string]any {
		suffix, inner := "", typ
		for inner.Kind == abi.Array || inner.Kind == abi.Slice {
			suffix = strings.TrimPrefix(inner.String(), inner.Elem.String()) + suffix
			inner = inner.Elem
		}
		if inner.Kind != abi.Tuple {
			return map[string]any{"name": name, "type": inner.String() + suffix}
		}
		var components []any
		for i, c := range inner.Fields {
			components = append(components, of(fmt.Sprintf("field%d", i), c.Type))
		}
		return map[string]any{"name": name, "type": "tuple" + suffix, "components": components}
	}
	inputs := make([]any, len(f.Inputs))
	for i, in := range f.Inputs {
		inputs[i] = of(fmt.Sprintf("arg%d", i), in.Type)
	}
	text, err := json.Marshal([]any{map[string]any{"type": "function", "name": f.Name, "inputs": inputs}})
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := geth.JSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("go-ethereum does not read %s: %v", f.Signature(), err)
	}
	method := parsed.Methods[f.Name]
	if selector := f.Selector(); !bytes.Equal(method.ID, selector[:]) {
		t.Fatalf("the selector of %s is %x, go-ethereum says %x", f.Signature(), selector, method.ID)
	}
	return method.Inputs
}

// asGeth decodes data with go-ethereum and encodes it again in the standard layout.
func asGeth(t testing.TB, f *abi.Function, data []byte) ([]byte, error) {
	t.Helper()
	args := gethArguments(t, f)
	if len(args) == 0 {
		return nil, nil
	}
	values, err := args.Unpack(data)
	if err != nil {
		return nil, err
	}
	return args.Pack(values...)
}

func TestDecode_ReadsRandomValuesAsGoEthereum(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := random{rand.New(rand.NewPCG(seed, 0))}
	t.Logf("seed %d", seed)
	dynamic := 0
	for range 1000 {
		f := function(t, r.signature())
		args := make([]abi.Argument, len(f.Inputs))
		for i, in := range f.Inputs {
			args[i].Value = r.value(in.Type)
			if in.Type.Dynamic() {
				dynamic++
			}
		}
		data := abi.Encode(args)
		again, err := asGeth(t, f, data)
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%s: go-ethereum reads %x as %x, %v", f.Signature(), data, again, err)
		}
		decoded, err := f.Decode(data)
		if err != nil {
			t.Fatalf("%s: %x is refused: %v", f.Signature(), data, err)
		}
		if got, want := shown(t, decoded), shown(t, args); got != want {
			t.Fatalf("%s: %x is read as %s, want %s", f.Signature(), data, got, want)
		}
	}
	if dynamic < 500 {
		t.Errorf("only %d dynamic arguments were tried", dynamic)
	}
}
