// Package console assembles the pages for browsers: server-rendered HTML, in a package per section.
// It holds no business rules: the operations that the pages call decide what a person may do. The
// pages work without JavaScript; the few scripts are for convenience.
package console

import (
	"fmt"

	"github.com/chainaccess/gateway/api/console/billing"
	"github.com/chainaccess/gateway/api/console/home"
	"github.com/chainaccess/gateway/api/console/keys"
	"github.com/chainaccess/gateway/api/console/public"
	"github.com/chainaccess/gateway/api/console/settings"
	"github.com/chainaccess/gateway/api/console/signin"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/staff"
	"github.com/chainaccess/gateway/api/console/support"
	"github.com/chainaccess/gateway/api/console/toolbox"
	"github.com/chainaccess/gateway/api/console/usage"
)

// New returns the pages. It fails when the options, an operation of the toolbox or the embedded
// files are invalid.
func New(o site.Options) (*site.Site, error) {
	s, err := site.New(o)
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	if err := register(s); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	return s, nil
}

// register registers the pages of all sections.
func register(s *site.Site) error {
	tools, err := toolbox.New(s.Known, s.Calls.Tools)
	if err != nil {
		return err
	}
	for _, section := range []func(*site.Site) error{
		func(s *site.Site) error { return home.Register(s, tools.Form) }, tools.Register, public.Register,
		signin.Register, usage.Register, keys.Register, support.Register, staff.Register, billing.Register,
		settings.Register,
	} {
		if err := section(s); err != nil {
			return err
		}
	}
	return nil
}
