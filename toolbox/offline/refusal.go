package offline

import (
	"fmt"

	"github.com/chainaccess/gateway/internal/fault"
)

// refuse returns the fault for an invalid field of the input (HTTP 422).
func refuse(field, format string, args ...any) *fault.Error {
	problem := fmt.Sprintf(format, args...)
	return fault.New(fault.FieldRefused, "Correct and send again. %s: %s", field, problem).
		With("fields", []map[string]string{{"field": field, "problem": problem}})
}

// shown quotes what a caller sent, with escapes, cut to 40 bytes.
func shown(s string) string {
	const longest = 40
	if len(s) > longest {
		return fmt.Sprintf("%q…", s[:longest])
	}
	return fmt.Sprintf("%q", s)
}
