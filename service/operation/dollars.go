package operation

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/metering/plan"
)

// Dollars is an amount in cents. It is a JSON number of dollars with one or two decimals.
type Dollars plan.Cents

// MarshalJSON writes 4.5 and 9.0.
func (d Dollars) MarshalJSON() ([]byte, error) {
	return []byte(strings.TrimSuffix(plan.Cents(d).String(), "0")), nil
}

// Schema returns the schema of a number.
func (Dollars) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeNumber} }
