package operation_test

import (
	"testing"

	"github.com/chainaccess/gateway/service"
)

// Metered operations are called often, so their input must use the decoder.
func TestDecodeArgs_MeteredInputsAreFlat(t *testing.T) {
	t.Parallel()
	metered := 0
	for _, c := range service.New(service.Options{}).All() {
		if meta := c.Meta(); meta.Metered() {
			metered++
			if f, ok := c.(interface{ IsFlat() bool }); !ok || !f.IsFlat() {
				t.Errorf("the input of %s goes through JSON", meta.Name)
			}
		}
	}
	if metered == 0 {
		t.Error("nothing is metered")
	}
}
