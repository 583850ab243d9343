package stripe

import (
	"encoding/json"
	"fmt"
	"slices"
)

func marshal(v any) ([]byte, error) { return json.Marshal(v) }

// row is an object in a table.
type row interface {
	id() string
	made() int64
}

// table holds objects in order of creation.
type table[T row] struct {
	kind string
	rows map[string]T
	made []T // the same objects, oldest first
}

func newTable[T row](kind string) *table[T] { return &table[T]{kind: kind, rows: map[string]T{}} }

func (t *table[T]) add(v T) {
	t.rows[v.id()] = v
	t.made = append(t.made, v)
}

func (t *table[T]) drop(id string) {
	delete(t.rows, id)
	t.made = slices.DeleteFunc(t.made, func(v T) bool { return v.id() == id })
}

// find returns an object, or the error for a missing one; param names the parameter with its id.
func (t *table[T]) find(id, param string) (T, error) {
	v, ok := t.rows[id]
	if !ok {
		return v, missing(t.kind, id, param)
	}
	return v, nil
}

// all returns the objects for which fits returns true, oldest first.
func (t *table[T]) all(fits func(T) bool) []T {
	var found []T
	for _, v := range t.made {
		if fits(v) {
			found = append(found, v)
		}
	}
	return found
}

func (t *table[T]) MarshalJSON() ([]byte, error) {
	return marshal(append([]T{}, t.all(func(T) bool { return true })...))
}

func (t *table[T]) UnmarshalJSON(b []byte) error {
	var all []T
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	for _, v := range all {
		t.add(v)
	}
	return nil
}

// Limits of a page.
const (
	defaultPage = 10
	maxPage     = 100
)

// page answers a list request, newest first, with the common parameters: limit, starting_after,
// ending_before, created.
func page[T row](c *call, t *table[T], fits func(T) bool) (any, error) {
	limit, ok := c.p.integer("limit")
	if !ok {
		limit = defaultPage
	}
	after, before := c.p.text("starting_after"), c.p.text("ending_before")
	made := c.created()
	if err := c.p.done(); err != nil {
		return nil, err
	}
	if limit < 1 || limit > maxPage {
		return nil, invalid("parameter_invalid_integer", "limit", "This value must be between 1 and %d: %d", maxPage,
			limit)
	}
	found := t.all(func(v T) bool { return made(v.made()) && fits(v) })
	slices.Reverse(found)
	for _, cursor := range []string{after, before} {
		if cursor != "" && !slices.ContainsFunc(found, func(v T) bool { return v.id() == cursor }) {
			return nil, missing(t.kind, cursor, "starting_after")
		}
	}
	more := false
	if i := slices.IndexFunc(found, func(v T) bool { return v.id() == after }); i >= 0 {
		found = found[i+1:]
	}
	if i := slices.IndexFunc(found, func(v T) bool { return v.id() == before }); i >= 0 {
		found = found[:i]
		more = len(found) > int(limit)
		found = found[max(0, len(found)-int(limit)):]
	}
	if len(found) > int(limit) {
		found, more = found[:limit], true
	}
	answer := listOf(c.r.URL.Path, found...)
	answer.HasMore = more
	return answer, nil
}

// created reads the filter on creation times.
func (c *call) created() func(int64) bool {
	type bound struct {
		at   int64
		fits func(made, at int64) bool
	}
	var bounds []bound
	under := c.p.in("created")
	for name, fits := range map[string]func(made, at int64) bool{
		"gt":  func(made, at int64) bool { return made > at },
		"gte": func(made, at int64) bool { return made >= at },
		"lt":  func(made, at int64) bool { return made < at },
		"lte": func(made, at int64) bool { return made <= at },
	} {
		if at, ok := under.integer(name); ok {
			bounds = append(bounds, bound{at, fits})
		}
	}
	if at, ok := c.p.integer("created"); ok {
		bounds = append(bounds, bound{at, func(made, at int64) bool { return made == at }})
	}
	return func(made int64) bool {
		for _, b := range bounds {
			if !b.fits(made, b.at) {
				return false
			}
		}
		return true
	}
}

// newID returns a new id with the prefix of its kind.
func (s *Server) newID(prefix string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	text := make([]byte, 24)
	for i := range text {
		text[i] = letters[s.random.IntN(len(letters))]
	}
	return fmt.Sprintf("%s_%s", prefix, text)
}
