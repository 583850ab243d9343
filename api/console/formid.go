package console

import (
	"fmt"

	"github.com/google/uuid"
)

// formField is the hidden field with the id of a form whose sending makes something: sent twice, it
// makes one. The template "formid" renders it.
const formField = "form"

// formID is the id of a form that this visit shows with what is wrong with it: the one that was
// sent, when what was sent is shown again, so that it stays the same form; a new one when there is
// none, or when that one said something else before.
func (v *request) formID(wrong mistakes) (string, error) {
	if wrong[formField] == "" {
		if id, err := uuid.Parse(v.r.PostForm.Get(formField)); err == nil {
			return id.String(), nil
		}
	}
	id, err := uuid.NewRandomFromReader(v.Random)
	if err != nil {
		return "", fmt.Errorf("make the id of a form: %w", err)
	}
	return id.String(), nil
}
