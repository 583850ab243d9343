// Package settings has the pages of an account's settings, its people, their sessions and mails,
// and the log of changes.
package settings

import (
	"embed"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
)

//go:embed templates
var templates embed.FS

// Register registers the settings, the audit log and the links that stop mails.
func Register(s *site.Site) error {
	if err := s.AddTemplates(templates); err != nil {
		return err
	}
	s.Handle("GET "+pathUnsubscribe, showUnsubscribe)
	s.HandleUnguarded("POST "+pathUnsubscribe, unsubscribe)
	s.HandleSignedIn("GET /settings", showSettings)
	s.HandleSignedIn("POST /settings/notifications", saveNotifications)
	s.HandleSignedIn("POST /settings/mails", saveMails)
	s.HandleSignedIn("POST /settings/name", saveName)
	s.HandleSignedIn("POST /settings/time-zone", saveTimeZone)
	s.HandleSignedIn("POST /settings/services", saveServices)
	s.HandleSignedIn("POST /settings/insights", saveInsights)
	s.HandleSignedIn("GET "+pathAudit, showAudit)
	s.HandleSignedIn("GET /settings/members", func(v *site.Request) error {
		return v.Redirect(paths.Settings +
			"#people")
	})
	s.HandleSignedIn("POST /settings/members/{id}/role", changeRole)
	s.HandleSignedIn("GET /settings/members/{id}/remove", confirmRemove)
	s.HandleSignedIn("POST /settings/members/{id}/remove", removeMember)
	s.HandleSignedIn("POST /settings/invitations", invite)
	s.HandleSignedIn("GET /settings/invitations/{id}/withdraw", confirmWithdraw)
	s.HandleSignedIn("POST /settings/invitations/{id}/withdraw", withdraw)
	s.HandleSignedIn("GET /settings/sessions/end", confirmSignOutEverywhere)
	s.HandleSignedIn("POST /settings/sessions/end", signOutEverywhere)
	s.HandleSignedIn("GET /settings/sessions/{id}/end", confirmEnd)
	s.HandleSignedIn("POST /settings/sessions/{id}/end", endSession)
	return nil
}
