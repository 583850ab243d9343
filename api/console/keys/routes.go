// Package keys has the pages of keys and agents.
package keys

import (
	"embed"

	"github.com/chainaccess/gateway/api/console/site"
)

const pathAdopt = "/agents/adopt"

//go:embed templates
var templates embed.FS

// Register registers the keys and the agents.
func Register(s *site.Site) error {
	if err := s.AddTemplates(templates); err != nil {
		return err
	}
	s.HandleSignedIn("GET /keys", listKeys)
	s.HandleSignedIn("GET /keys/new", showNewKey)
	s.HandleSignedIn("POST /keys/new", createKey)
	s.HandleSignedIn("GET /keys/{id}", showKey)
	s.HandleSignedIn("POST /keys/{id}", changeKey)
	s.HandleSignedIn("GET /keys/{id}/revoke", confirmRevoke)
	s.HandleSignedIn("POST /keys/{id}/revoke", revokeKey)
	s.HandleSignedIn("GET /agents", listAgents)
	s.HandleSignedIn("POST "+pathAdopt, adopt)
	s.HandleSignedIn("GET "+pathClaim, showClaim)
	s.HandleSignedIn("POST "+pathClaim, startClaim)
	s.HandleSignedIn("POST "+pathClaimSign, finishClaim)
	s.HandleProgram(pathAdopt, adoptByProgram)
	return nil
}
