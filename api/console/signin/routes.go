// Package signin has the pages that sign in and out, accept invitations, and confirm what an e-mail
// address was entered for.
package signin

import (
	"embed"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
)

//go:embed templates
var templates embed.FS

// Register registers signing in and out, and the links of mails that confirm an address.
func Register(s *site.Site) error {
	if err := s.AddTemplates(templates); err != nil {
		return err
	}
	s.Handle("GET /sign-in", showSignIn)
	s.Handle("POST /sign-in", startSignIn)
	s.Handle("GET /sign-in/code", askCode)
	s.Handle("POST /sign-in/code", finishByCode)
	s.Handle("GET "+paths.SignInLink, showLink)
	s.Handle("POST "+paths.SignInLink, finishByLink)
	s.Handle("GET "+paths.Accept, showInvitation)
	s.Handle("POST "+paths.Accept, acceptInvitation)
	s.Handle("POST /sign-out", signOut)
	s.Handle("GET "+pathEntries, showEntry)
	s.Handle("POST "+pathEntries, changeEntry)
	s.HandleSignedIn("POST /accounts/switch", switchAccount)
	return nil
}
