package console

import (
	"fmt"

	"github.com/google/uuid"
)

// formField is the hidden field with the id of a form that creates something. The id makes the form
// idempotent. The template "formid" renders it.
const formField = "form"

// formID returns the id of the form on this page. When a submitted form is shown again, it keeps
// its id. A form without an id gets a new one, and so does a form whose id was already used with
// other content.
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
