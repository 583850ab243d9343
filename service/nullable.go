package service

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Nullable is an object that may not be there: it is null then, and its key stays.
type Nullable[T any] struct{ Value *T }

// MarshalJSON writes the object or null.
func (o Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(o.Value) }

// UnmarshalJSON reads either.
func (o *Nullable[T]) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &o.Value) }

// Schema is that of either.
func (Nullable[T]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{r.Schema(reflect.TypeFor[T](), true, ""), {Type: "null"}}}
}
