package site

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
)

// FormField is the hidden field with the id of a form that creates something. The id makes the form
// idempotent. The template "formid" renders it.
const FormField = "form"

// Mistakes are the errors of a form by field. The empty field holds errors without a field.
type Mistakes map[string]string

// MistakesOf sorts the errors of a refusal by the fields of a form. It returns nil when err is not
// a refusal of fields.
func MistakesOf(err error, fields ...string) Mistakes {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Reason != fault.FieldRefused {
		return nil
	}
	wrong := Mistakes{}
	if told, ok := f.Data["fields"].([]map[string]string); ok {
		for _, one := range told {
			if slices.Contains(fields, one["field"]) {
				wrong[one["field"]] = view.Sentence(view.Plainly(one["problem"]))
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

// Notices returns the errors without a field, to show above the form. A form that was already sent
// with other content gets a notice of its own.
func (m Mistakes) Notices() []view.Notice {
	if m[FormField] != "" {
		return []view.Notice{{
			Tone: view.Warn, Title: "This was not sent",
			Text: "This form was already sent once. To send its current content as well, send it again.",
		}}
	}
	if text, ok := m[""]; ok {
		return []view.Notice{{Tone: view.Bad, Title: "Nothing was changed", Text: text}}
	}
	return nil
}

// WholeUnits is the error of a field that takes units.
const WholeUnits = "Enter whole units, digits only. Leave empty for no cap."

// ParseUnits parses a number of units, with or without commas and spaces. An empty text is 0.
func ParseUnits(text string) (int64, bool) {
	text = strings.NewReplacer(",", "", " ", "", "\u00a0", "").Replace(strings.TrimSpace(text))
	if text == "" {
		return 0, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0 && text[0] != '+'
}

// ServicesForm is the submitted form of services. Wrong has the fields that are not numbers.
type ServicesForm struct {
	Enabled []string
	Caps    map[string]int64
	texts   map[string]string // of the caps, as typed
	Wrong   Mistakes
}

const capField = "cap."

// ReadServices reads the form of services.
func (v *Request) ReadServices() ServicesForm {
	s := ServicesForm{Enabled: []string{}, Caps: map[string]int64{}, texts: map[string]string{}, Wrong: Mistakes{}}
	for _, known := range account.Services() {
		name := string(known)
		if slices.Contains(v.R.PostForm["enabled"], name) {
			s.Enabled = append(s.Enabled, name)
		}
		text := v.R.PostForm.Get(capField + name)
		n, ok := ParseUnits(text)
		if !ok {
			s.Wrong["caps."+name] = WholeUnits
		}
		if n > 0 {
			s.Caps[name] = n
		}
		s.texts[name] = text
	}
	return s
}

// Again returns the form as it was submitted, with its errors.
func (s ServicesForm) Again(lines []view.ServiceLine, wrong Mistakes) []view.ServiceLine {
	for i := range lines {
		line := &lines[i]
		line.On, line.Cap, line.Error = slices.Contains(s.Enabled, line.Key), s.texts[line.Key], wrong["caps."+line.Key]
	}
	return lines
}

// ServiceFields returns the names that the rules use for the form of services.
func ServiceFields() []string {
	var fields []string
	for _, known := range account.Services() {
		fields = append(fields, "caps."+string(known))
	}
	return fields
}

// UnixLines converts the line breaks of a submitted text to LF. Browsers send CRLF, which would
// count as two characters.
func UnixLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
