package billing_test

import (
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/fault"
)

// refused checks the reason and the words of a refusal.
func refused(t *testing.T, what string, refusal *fault.Error, reason fault.Reason, words ...string) {
	t.Helper()
	if refusal == nil || refusal.Reason != reason {
		t.Errorf("%s: %v, want %s", what, refusal, reason)
		return
	}
	for _, word := range words {
		if !strings.Contains(refusal.Message, word) {
			t.Errorf("%s: %q does not say %q", what, refusal.Message, word)
		}
	}
}
