package operation

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"unicode/utf8"
)

// decoder decodes validated arguments into a struct by the JSON names of its fields. It handles
// only flat structs of strings, numbers, booleans and string lists. A nil decoder handles nothing.
// Arguments that it does not handle are decoded as JSON, which defines the result.
type decoder map[string]slot

// slot is a field and its setter. The setter returns false for a value that it does not handle.
type slot struct {
	field int
	set   func(reflect.Value, any) bool
}

var (
	jsonReader = reflect.TypeFor[json.Unmarshaler]()
	textReader = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// decoderOf returns the decoder of a struct type, or nil if the struct is not flat.
func decoderOf(t reflect.Type) decoder {
	f := decoder{}
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() && !field.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		set := setterOf(field.Type)
		if field.Anonymous || name == "" || strings.Contains(options, "string") || set == nil {
			return nil
		}
		if name != "-" {
			f[name] = slot{i, set}
		}
	}
	return f
}

func setterOf(t reflect.Type) func(reflect.Value, any) bool {
	if p := reflect.PointerTo(t); p.Implements(jsonReader) || p.Implements(textReader) {
		return nil
	}
	switch t.Kind() { //nolint:exhaustive // JSON decodes the other kinds
	case reflect.String:
		return setText
	case reflect.Bool:
		return setBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return setInt
	case reflect.Float64:
		return setFloat
	case reflect.Slice:
		if setterOf(t.Elem()) != nil && t.Elem().Kind() == reflect.String {
			return setTexts
		}
	case reflect.Pointer:
		if set := setterOf(t.Elem()); set != nil && t.Elem().Kind() != reflect.Pointer {
			return func(v reflect.Value, arg any) bool {
				v.Set(reflect.New(t.Elem()))
				return set(v.Elem(), arg)
			}
		}
	}
	return nil
}

// decode sets the fields of in, a pointer to the struct. If it returns false, some fields may be
// set.
func (f decoder) decode(in any, args map[string]any) bool {
	if f == nil {
		return false
	}
	v := reflect.ValueOf(in).Elem()
	for name, arg := range args {
		s, ok := f[name]
		if !ok || arg != nil && !s.set(v.Field(s.field), arg) {
			return false
		}
	}
	return true
}

func setText(v reflect.Value, arg any) bool {
	s, ok := arg.(string)
	if !ok || !utf8.ValidString(s) {
		return false
	}
	v.SetString(s)
	return true
}

func setBool(v reflect.Value, arg any) bool {
	b, ok := arg.(bool)
	if ok {
		v.SetBool(b)
	}
	return ok
}

// exactly is 2^53: a float64 represents every smaller integer exactly.
const exactly = 1 << 53

func setInt(v reflect.Value, arg any) bool {
	n, ok := arg.(float64)
	if !ok || n != math.Trunc(n) || math.Abs(n) >= exactly || v.OverflowInt(int64(n)) {
		return false
	}
	v.SetInt(int64(n))
	return true
}

func setFloat(v reflect.Value, arg any) bool {
	n, ok := arg.(float64)
	if ok {
		v.SetFloat(n)
	}
	return ok
}

func setTexts(v reflect.Value, arg any) bool {
	list, ok := arg.([]any)
	if !ok {
		return false
	}
	texts := reflect.MakeSlice(v.Type(), len(list), len(list))
	for i, item := range list {
		if !setText(texts.Index(i), item) {
			return false
		}
	}
	v.Set(texts)
	return true
}
