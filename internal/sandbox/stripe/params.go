package stripe

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Stripe's limits of metadata.
const (
	maxMetadata      = 50
	maxMetadataKey   = 40
	maxMetadataValue = 500
)

// form is the flat form of a request, with names such as items[0][price]. It records which
// parameters were read, so that unknown ones can be refused, and the first invalid value.
type form struct {
	values url.Values
	used   map[string]bool
	bad    error
}

// params is a form, or the part of it below a name.
type params struct {
	form *form
	at   string
}

func newParams(v url.Values) params { return params{form: &form{values: v, used: map[string]bool{}}} }

func (p params) key(name string) string {
	if p.at == "" {
		return name
	}
	return p.at + "[" + name + "]"
}

func (p params) fail(err error) {
	if p.form.bad == nil {
		p.form.bad = err
	}
}

// lookup returns a value and reports whether it was sent.
func (p params) lookup(name string) (string, bool) {
	key := p.key(name)
	p.form.used[key] = true
	v, ok := p.form.values[key]
	if !ok || len(v) == 0 {
		return "", false
	}
	return v[len(v)-1], true
}

func (p params) text(name string) string {
	v, _ := p.lookup(name)
	return v
}

func (p params) require(name string) string {
	v, _ := p.lookup(name)
	if v == "" {
		p.fail(invalid("parameter_missing", p.key(name), "Missing required param: %s.", p.key(name)))
	}
	return v
}

// oneOf returns a value, which must be one of choices; the first choice when nothing was sent.
func (p params) oneOf(name string, choices ...string) string {
	v, ok := p.lookup(name)
	if !ok {
		return choices[0]
	}
	if !slices.Contains(choices, v) {
		p.fail(invalid("", p.key(name), "Invalid %s: must be one of %s", p.key(name), strings.Join(choices, ", ")))
	}
	return v
}

func (p params) integer(name string) (int64, bool) {
	v, ok := p.lookup(name)
	if !ok || v == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		p.fail(invalid("parameter_invalid_integer", p.key(name), "Invalid integer: %s", v))
	}
	return n, true
}

func (p params) boolean(name string) (value, ok bool) {
	v, ok := p.lookup(name)
	if ok && v != "true" && v != "false" {
		p.fail(invalid("", p.key(name), "Invalid boolean: %s", v))
	}
	return v == "true", ok
}

func (p params) in(name string) params { return params{form: p.form, at: p.key(name)} }

// any reports whether anything was sent below a name.
func (p params) any(name string) bool {
	at := p.key(name)
	for key := range p.form.values {
		if key == at || strings.HasPrefix(key, at+"[") {
			return true
		}
	}
	return false
}

// each returns the elements of a list of objects, name[0][…], name[1][…].
func (p params) each(name string) []params {
	var all []params
	for i := 0; p.any(p.index(name, i)); i++ {
		all = append(all, p.in(p.index(name, i)))
	}
	return all
}

func (p params) index(name string, i int) string {
	if p.at == "" {
		return fmt.Sprintf("%s[%d]", name, i)
	}
	return fmt.Sprintf("%s][%d", name, i)
}

// list returns the values of name[0], name[1], or of repeated name[]. An empty value of the bare
// name is an empty list.
func (p params) list(name string) (values []string, ok bool) {
	if v, sent := p.lookup(name); sent {
		if v != "" {
			p.fail(invalid("", p.key(name), "Invalid array"))
		}
		return nil, true
	}
	bare := p.key(name) + "[]"
	if v, sent := p.form.values[bare]; sent {
		p.form.used[bare] = true
		return v, true
	}
	for i := 0; ; i++ {
		v, sent := p.lookup(p.index(name, i))
		if !sent {
			return values, i > 0
		}
		values = append(values, v)
	}
}

// metadata applies the sent metadata to the old values: an empty value removes a key, and an empty
// string in place of the map removes all.
func (p params) metadata(old map[string]string) map[string]string {
	const name = "metadata"
	merged := maps.Clone(old)
	if merged == nil {
		merged = map[string]string{}
	}
	if v, sent := p.lookup(name); sent {
		if v != "" {
			p.fail(invalid("", p.key(name), "Invalid hash"))
		}
		return map[string]string{}
	}
	at := p.key(name) + "["
	for key, v := range p.form.values {
		if !strings.HasPrefix(key, at) || !strings.HasSuffix(key, "]") {
			continue
		}
		p.form.used[key] = true
		inner := key[len(at) : len(key)-1]
		switch value := v[len(v)-1]; {
		case len(inner) > maxMetadataKey || strings.ContainsAny(inner, "[]"):
			p.fail(invalid("", key, "Metadata keys have at most %d characters and no brackets", maxMetadataKey))
		case len(value) > maxMetadataValue:
			p.fail(invalid("", key, "Metadata values have at most %d characters", maxMetadataValue))
		case value == "":
			delete(merged, inner)
		default:
			merged[inner] = value
		}
	}
	if len(merged) > maxMetadata {
		p.fail(invalid("", p.key(name), "Metadata has at most %d keys", maxMetadata))
	}
	return merged
}

// done must be called after all parameters were read and before anything is changed. It returns an
// error for the first invalid value or for an unknown parameter.
func (p params) done() error {
	if p.form.bad != nil {
		return p.form.bad
	}
	for _, key := range slices.Sorted(maps.Keys(p.form.values)) {
		if !p.form.used[key] {
			return invalid("parameter_unknown", key, "Received unknown parameter: %s", key)
		}
	}
	return nil
}
