package openapi

import (
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// tag groups operations by the first segment of their paths.
type tag struct {
	name, description string
	segments          []string
}

// tags are in the order in which they are shown. A path that belongs to none is a bug.
var tags = []tag{
	{"Relay", "JSON-RPC to a chain, one endpoint each.", []string{"rpc"}},
	{"Keys", "Keys without sign-up, and the doors past their limits.", []string{"keys"}},
	{"Toolbox", "Answers that take several calls, with one.", []string{"toolbox"}},
	{"Data", "Balances and transfers.", []string{"data"}},
	{"Pay per call", "Units for a payment in USDC, without an account.", []string{"x402"}},
	{"Statements", "What an account, an agent or a key used in a period, closed with a hash.", []string{"api"}},
	{"Agents", "Programs that act for an account.", []string{"agents", "mcp"}},
	{"Status", "How the chains stand, and stood. No key is needed.", []string{"status", "status.json"}},
	{"Documents", "What there is to read. No key is needed.", []string{
		"docs", "openapi.json", "terms", "skill.md",
		"llms.txt", "sitemap.xml", "robots.txt", "server.json", ".well-known",
	}},
	{"Webhooks", "What other services tell this one.", []string{"webhooks"}},
	{"Health", "For whoever routes requests to this process.", []string{"healthz", "readyz"}},
}

func tagOf(path string) string {
	segment, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	for _, t := range tags {
		if slices.Contains(t.segments, segment) {
			return t.name
		}
	}
	panic("openapi: no tag is for " + path)
}

// describeTags lists the tags that are used.
func (d *document) describeTags() {
	for _, t := range tags {
		if d.tags[t.name] {
			d.Tags = append(d.Tags, &huma.Tag{Name: t.name, Description: t.description})
		}
	}
}
