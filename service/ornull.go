package service

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// OrNull is an object that may not be there: it is null then, and its key stays.
type OrNull[T any] struct{ Value *T }

// MarshalJSON writes the object or null.
func (o OrNull[T]) MarshalJSON() ([]byte, error) { return json.Marshal(o.Value) }

// UnmarshalJSON reads either.
func (o *OrNull[T]) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &o.Value) }

// Schema is that of either.
func (OrNull[T]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{r.Schema(reflect.TypeFor[T](), true, ""), {Type: "null"}}}
}
