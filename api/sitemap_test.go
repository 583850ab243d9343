package api_test

import (
	"encoding/xml"
	"slices"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
)

// crawlable applies the rules of robots.txt to a path (RFC 9309): the longest match wins, and of
// two equal ones the one that allows.
func crawlable(rules, path string) bool {
	longest, allowed := -1, true
	for line := range strings.Lines(rules) {
		verdict, rule, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if verdict != "Allow" && verdict != "Disallow" {
			continue
		}
		whole, ends := strings.CutSuffix(rule, "$")
		if (ends && path != whole) || !strings.HasPrefix(path, whole) || len(rule) < longest ||
			(len(rule) == longest && verdict == "Disallow") {
			continue
		}
		longest, allowed = len(rule), verdict == "Allow"
	}
	return allowed
}

func TestSitemap_HasThePublicPagesAndNothingElse(t *testing.T) {
	t.Parallel()
	const public = "https://gateway.example"
	g := apitest.Setup(t, func(o *apitest.Options) { o.Pages = somePages{} })
	var listed struct {
		URLs []struct {
			Loc string `xml:"loc"`
		} `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 url"`
	}
	if err := xml.Unmarshal([]byte(read(g, "/sitemap.xml").Body), &listed); err != nil {
		t.Fatal(err)
	}
	robots := read(g, "/robots.txt").Body
	var paths []string
	for _, u := range listed.URLs {
		path, ours := strings.CutPrefix(u.Loc, public)
		paths = append(paths, path)
		if !ours || !crawlable(robots, path) {
			t.Errorf("%s is listed: ours %t; robots.txt says %s", u.Loc, ours, robots)
		}
		if !slices.Contains([]string{"/", "/status"}, path) { // the fake pages have these
			read(g, path)
		}
	}
	for _, path := range []string{
		"/", "/status", "/docs", "/docs/quickstart", "/docs/errors", "/docs/errors/-32017", "/docs/agents", "/terms",
	} {
		if !slices.Contains(paths, path) {
			t.Errorf("%s is not listed: %q", path, paths)
		}
	}
	if unlisted := slices.Compact(slices.Sorted(slices.Values(paths))); len(unlisted) != len(paths) {
		t.Errorf("some are listed twice: %q", paths)
	}
	for _, path := range []string{
		"/llms.txt", "/skill.md", "/openapi.json", "/docs/assets/docs.css", "/assets/base.css",
	} {
		if !crawlable(robots, path) {
			t.Errorf("%s is out of reach", path)
		}
	}
	for _, path := range []string{
		"/overview", "/billing", "/staff/tickets", "/dev/faucet", "/x402/receipts/0x12", "/sign-in", "/entries",
		"/support/new", "/keys", "/toolbox/gas/eth_mainnet", "/rpc/eth_mainnet",
	} {
		if crawlable(robots, path) || slices.Contains(paths, path) {
			t.Errorf("%s is for crawlers", path)
		}
	}
	if !strings.Contains(robots, "\nSitemap: "+public+"/sitemap.xml\n") {
		t.Errorf("robots.txt does not lead to the sitemap: %s", robots)
	}
}
