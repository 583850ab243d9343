package keys

import (
	"errors"
	"testing"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/workflows"
)

// An expired challenge leads back to the same key; a key or wallet that is bound already leads to
// another key.
func TestBind_RefusalLeadsToTheKeyThatItMeans(t *testing.T) {
	t.Parallel()
	over := fault.New(fault.BindingRefused, "This challenge was used already.")
	for want, err := range map[string]error{
		"same_key": over.Wrap(workflows.ErrStartAgain),
		"new_key":  fault.New(fault.BindingRefused, "This wallet is bound to another key."),
	} {
		f, ok := errors.AsType[*fault.Error](anotherKeyOf(err))
		if !ok {
			t.Fatalf("%v is no refusal", err)
		}
		if next, _ := f.Data["next_door"].(map[string]string); next["door"] != want || next["where"] == "" {
			t.Errorf("%s leads to %v, want %s", f.Message, next, want)
		}
	}
}
