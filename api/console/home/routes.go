// Package home has the home page, which makes a first key, and the prices.
package home

import (
	"embed"

	"github.com/chainaccess/gateway/api/console/site"
)

//go:embed templates
var templates embed.FS

// Register registers the home page, which has a live tool, and the prices.
func Register(s *site.Site, tool ToolForm) error {
	if err := s.AddTemplates(templates); err != nil {
		return err
	}
	prices := &offers{}
	first := &home{tool: tool, prices: prices}
	s.HandlePublic("/", first.serve)
	s.Handle("GET "+pathFirstKey, func(v *site.Request) error { return v.Redirect("/") })
	s.Handle("POST "+pathFirstKey, first.makeKey)
	s.HandlePublic(pathPricing, prices.serve)
	return nil
}
