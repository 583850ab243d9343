package operation

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/metering/plan"
)

// Nullable is an optional object that is null in JSON rather than absent.
type Nullable[T any] struct{ Value *T }

// MarshalJSON writes the object or null.
func (o Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(o.Value) }

// UnmarshalJSON reads the object or null.
func (o *Nullable[T]) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &o.Value) }

// Schema returns the schema of the object or null.
func (Nullable[T]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{r.Schema(reflect.TypeFor[T](), true, ""), {Type: "null"}}}
}

// NullTime returns a time as a field that is null for the zero time.
func NullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// NullUnits returns a cap as a field that is null for none, which is 0.
func NullUnits(u plan.Units) *plan.Units {
	if u == 0 {
		return nil
	}
	return &u
}
