package service

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/metering/plan"
)

// dollars is an amount in cents. It is a JSON number of dollars with one or two decimals.
type dollars plan.Cents

// MarshalJSON writes 4.5 and 9.0.
func (d dollars) MarshalJSON() ([]byte, error) {
	return []byte(strings.TrimSuffix(plan.Cents(d).String(), "0")), nil
}

// Schema returns the schema of a number.
func (dollars) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeNumber} }
