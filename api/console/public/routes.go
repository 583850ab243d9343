// Package public has the status page and receipts of payments, which everybody may read.
package public

import (
	"embed"

	"github.com/chainaccess/gateway/api/console/site"
)

//go:embed templates
var templates embed.FS

// Register registers the status and the receipts, which everybody may read.
func Register(s *site.Site) error {
	if err := s.AddTemplates(templates); err != nil {
		return err
	}
	s.HandlePublic(pathStatus, showStatus)
	s.Handle("GET "+pathReceipts+"{tx}", showReceipt)
	return nil
}
