package plan

import (
	"strconv"
)

// Units counts weighted units in thousandths, so that a cheap standard call (0.5 units) is an integer.
type Units int64

// Unit is one weighted unit.
const Unit Units = 1000

// AppendJSON appends the JSON number of u: whole units without a fraction, others with up to three decimals and no trailing
// zeros (500 is 0.5).
func (u Units) AppendJSON(b []byte) []byte {
	if u < 0 {
		b = append(b, '-')
		u = -u
	}
	b = strconv.AppendInt(b, int64(u/Unit), 10)
	rest := u % Unit
	if rest == 0 {
		return b
	}
	digits := strconv.Itoa(int(Unit + rest))[1:]
	for digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	return append(append(b, '.'), digits...)
}

// MarshalJSON writes u as a JSON number of whole units.
func (u Units) MarshalJSON() ([]byte, error) { return u.AppendJSON(nil), nil }

// String is u in units, for messages.
func (u Units) String() string { return string(u.AppendJSON(nil)) }

// Cents is an amount of US dollars in cents.
type Cents int64
