package site

import (
	"fmt"

	"github.com/google/uuid"
)

// FormID returns the id of the form on this page. When a submitted form is shown again, it keeps
// its id. A form without an id gets a new one, and so does a form whose id was already used with
// other content.
func (v *Request) FormID(wrong Mistakes) (string, error) {
	if wrong[FormField] == "" {
		if id, err := uuid.Parse(v.R.PostForm.Get(FormField)); err == nil {
			return id.String(), nil
		}
	}
	id, err := uuid.NewRandomFromReader(v.Random)
	if err != nil {
		return "", fmt.Errorf("make the id of a form: %w", err)
	}
	return id.String(), nil
}
