package capability

import (
	"context"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/fault"
)

// SignedIn is who signed in, in which account, and as what.
type SignedIn struct {
	User  account.UserID
	Email string
	Owner bool // of the account
}

// identifyUser finds out who signed in. Nobody can yet.
func (h *house) identifyUser(_ context.Context, _ *Call, _ *Meta) *fault.Error {
	return fault.New(fault.KeyInvalid, "The session is over. Sign in at %s/sign-in and try again.", h.PublicURL)
}
