// Package billing has the pages of plans, packs, payments, invoices and statements.
package billing

import (
	"embed"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
)

//go:embed templates
var templates embed.FS

// Register registers plans, payments, invoices and statements.
func Register(s *site.Site) error {
	if err := s.AddTemplates(templates); err != nil {
		return err
	}
	s.HandleSignedIn("GET "+paths.Billing, showBilling)
	s.HandleSignedIn("GET "+paths.Billing+"/buy", showPurchase)
	s.HandleSignedIn("POST "+paths.Billing+"/buy", startPurchase)
	s.HandleSignedIn("GET "+paths.Billing+"/done", showCheckout)
	s.HandleSignedIn("GET "+paths.Billing+"/change", showChange)
	s.HandleSignedIn("POST "+paths.Billing+"/change", changePlan)
	s.HandleSignedIn("GET "+paths.Billing+"/cancel", confirmCancel)
	s.HandleSignedIn("POST "+paths.Billing+"/cancel", cancelPlan)
	s.HandleSignedIn("POST "+paths.Billing+"/resume", resumePlan)
	s.HandleSignedIn("POST "+paths.Billing+"/portal", openPortal)
	s.HandleSignedIn("POST "+paths.Billing+"/invoices/{id}", openInvoice)
	s.HandleSignedIn("GET "+paths.Statements, listStatements)
	s.HandleSignedIn("GET "+paths.Statements+"/{period}", showStatement)
	return nil
}
