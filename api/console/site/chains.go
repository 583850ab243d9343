package site

import (
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/status"
)

// Chains returns the state of the chains. It returns nil when the state is not available, which
// must not fail the page.
func (v *Request) Chains() *view.Chains {
	s, err := v.ChainsStatus()
	if err != nil {
		return nil
	}
	shown := view.NewChains(&s)
	return &shown
}

// ChainsStatus returns the state of the chains, cached for all pages.
func (v *Request) ChainsStatus() (status.Status, error) {
	return v.Site.chains.Get(v.R.Context(), v.Now, func() (status.Status, error) {
		return Ask(v, v.Calls.GetStatus, operation.Nothing{})
	})
}
