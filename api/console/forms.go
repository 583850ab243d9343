package console

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
)

// mistakes are the errors of a form by field. The empty field holds errors without a field.
type mistakes map[string]string

// mistakesOf sorts the errors of a refusal by the fields of a form. It returns nil when err is not
// a refusal of fields.
func mistakesOf(err error, fields ...string) mistakes {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Reason != fault.FieldRefused {
		return nil
	}
	wrong := mistakes{}
	if told, ok := f.Data["fields"].([]map[string]string); ok {
		for _, one := range told {
			if slices.Contains(fields, one["field"]) {
				wrong[one["field"]] = sentence(plainly(one["problem"]))
			}
		}
	}
	if name, ok := f.Data["field"].(string); ok && slices.Contains(fields, name) {
		wrong[name] = f.Message
	}
	if len(wrong) == 0 {
		name, _, _ := strings.Cut(f.Message, " ") // rules begin with the field's name
		name = strings.TrimSuffix(name, ":")
		if !slices.Contains(fields, name) {
			name = ""
		}
		wrong[name] = f.Message
	}
	return wrong
}

// notices returns the errors without a field, to show above the form. A form that was already sent
// with other content gets a notice of its own.
func (m mistakes) notices() []notice {
	if m[formField] != "" {
		return []notice{{
			Tone: warn, Title: "This was not sent",
			Text: "This form was already sent once. To send its current content as well, send it again.",
		}}
	}
	if text, ok := m[""]; ok {
		return []notice{{Tone: bad, Title: "Nothing was changed", Text: text}}
	}
	return nil
}

// plainly rewrites a schema error as an instruction. It returns an unknown one unchanged.
func plainly(problem string) string {
	for begin, say := range schemaWords {
		limit, found := strings.CutPrefix(problem, begin)
		if !found {
			continue
		}
		if n, err := strconv.ParseFloat(limit, 64); err == nil && n >= 0 && n < 1<<53 {
			limit = plan.Group(strconv.FormatInt(int64(n), 10))
			if begin == "expected length >= " && n == 1 {
				return "enter something here"
			}
		}
		return strings.ReplaceAll(say, "#", limit)
	}
	return problem
}

// schemaWords map the beginning of schema errors to instructions; # is replaced by the number that
// follows.
var schemaWords = map[string]string{
	"expected required property":           "enter something here",
	"expected length >= ":                  "enter at least # characters",
	"expected length <= ":                  "enter # characters at most",
	"expected number >= ":                  "enter # or more",
	"expected number <= ":                  "enter # or less",
	"expected number > ":                   "enter more than #",
	"expected number < ":                   "enter less than #",
	"expected string to match pattern":     "use the format that is described next to the field",
	"expected string to be RFC 5322 email": "enter a whole e-mail address, such as name@company.example",
	"expected value to be one of":          "choose one from the list",
}

// sentence returns text with a capital letter at the beginning and a full stop at the end.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

const wholeUnits = "Enter whole units, digits only. Leave empty for no cap."

// parseUnits parses a number of units, with or without commas and spaces. An empty text is 0.
func parseUnits(text string) (int64, bool) {
	text = strings.NewReplacer(",", "", " ", "", "\u00a0", "").Replace(strings.TrimSpace(text))
	if text == "" {
		return 0, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0 && text[0] != '+'
}

// capText formats a cap for a form; empty for none.
func capText(c *plan.Units) string {
	if c == nil {
		return ""
	}
	return c.Grouped()
}

// capWords formats a cap for a list.
func capWords(c *plan.Units) string {
	if c == nil {
		return "none"
	}
	return c.Grouped()
}

// serviceWords describe the services.
var serviceWords = map[account.Service][2]string{
	account.RPC:       {"RPC", "JSON-RPC on every chain"},
	account.Data:      {"Data", "balances and history"},
	account.Gas:       {"Gas", "fee suggestions"},
	account.TxStatus:  {"Transaction status", "status of a transaction"},
	account.ENS:       {"ENS", "names and addresses"},
	account.Prices:    {"Prices", "token prices"},
	account.Contracts: {"Contracts", "ABIs and decoding"},
	account.Utils:     {"Utilities", "checksums, units, signatures"},
}

// servicesSent is the submitted form of services. wrong has the fields that are not numbers.
type servicesSent struct {
	enabled []string
	caps    map[string]int64
	texts   map[string]string // of the caps, as typed
	wrong   mistakes
}

const capField = "cap."

// readServices reads the form of services.
func (v *request) readServices() servicesSent {
	s := servicesSent{enabled: []string{}, caps: map[string]int64{}, texts: map[string]string{}, wrong: mistakes{}}
	for _, known := range account.Services() {
		name := string(known)
		if slices.Contains(v.r.PostForm["enabled"], name) {
			s.enabled = append(s.enabled, name)
		}
		text := v.r.PostForm.Get(capField + name)
		n, ok := parseUnits(text)
		if !ok {
			s.wrong["caps."+name] = wholeUnits
		}
		if n > 0 {
			s.caps[name] = n
		}
		s.texts[name] = text
	}
	return s
}

// again returns the form as it was submitted, with its errors.
func (s servicesSent) again(lines []serviceLine, wrong mistakes) []serviceLine {
	for i := range lines {
		line := &lines[i]
		line.On, line.Cap, line.Error = slices.Contains(s.enabled, line.Key), s.texts[line.Key], wrong["caps."+line.Key]
	}
	return lines
}

// serviceFields returns the names that the rules use for the form of services.
func serviceFields() []string {
	var fields []string
	for _, known := range account.Services() {
		fields = append(fields, "caps."+string(known))
	}
	return fields
}
