// Package usage has the overview of an account and the pages of its usage.
package usage

import (
	"embed"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
)

//go:embed templates
var templates embed.FS

// Register registers the overview and the usage.
func Register(s *site.Site) error {
	if err := s.AddTemplates(templates); err != nil {
		return err
	}
	s.HandleSignedIn("GET /overview", showOverview)
	s.HandleSignedIn("GET "+paths.Usage, showUsage)
	s.HandleSignedIn("GET "+pathUsageTable, sendUsageTable)
	return nil
}
