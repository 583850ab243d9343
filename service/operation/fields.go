package operation

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
)

// Fields that several operations take or show.

// RefuseField refuses one field for a reason that a schema cannot express.
func RefuseField(field, format string, args ...any) *fault.Error {
	problem := fmt.Sprintf(format, args...)
	return fault.New(fault.FieldRefused, "Correct and send again. %s: %s", field, problem).
		With("fields", []map[string]string{{"field": field, "problem": problem}})
}

// ParseKeyID parses the id of a key.
func ParseKeyID(field, text string) (account.KeyID, *fault.Error) {
	id, err := account.ParseKeyID(text)
	if err != nil {
		return id, fault.New(fault.FieldRefused,
			"%s takes the id of a key, 36 characters in lower or upper case as list_api_keys gives it.", field)
	}
	return id, nil
}

// Label trims a name that people enter, and refuses empty names and invisible characters.
func Label(field, text string) (string, *fault.Error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", fault.New(fault.FieldRefused, "%s is empty. Give a name that you will recognise.", field)
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) || r == unicode.ReplacementChar }):
		return "", fault.New(fault.FieldRefused,
			"%s holds control or invisible characters. Use letters, digits, signs and spaces.", field)
	}
	return text, nil
}

// InWords formats an instant in UTC for people: 20 Nov 2026, 14:05 UTC. Programs read it from
// separate fields, as RFC 3339.
func InWords(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04 MST") }
