package api

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
)

const (
	sitemapPath = "/sitemap.xml"
	robotsPath  = "/robots.txt"

	// consoleAssets begins the paths of the assets of console pages.
	consoleAssets = "/assets/"

	// sitemapSpace is the XML namespace of a sitemap (sitemaps.org, version 0.9).
	sitemapSpace = "http://www.sitemaps.org/schemas/sitemap/0.9"
)

// publicPages lists the pages that are the same for everybody: the documents for people, and the
// console's pages that need no session.
func publicPages(o Options) []string { //nolint:gocritic // called once
	var paths []string
	if o.Pages != nil {
		paths = o.Pages.Public()
	}
	for _, d := range rendered(o.PublicURL) {
		if d.media == mediaHTML {
			paths = append(paths, d.Path)
		}
	}
	return paths
}

type sitemap struct {
	XMLName struct{}   `xml:"urlset"`
	Space   string     `xml:"xmlns,attr"`
	URLs    []location `xml:"url"`
}

type location struct {
	Loc string `xml:"loc"`
}

// sitemapOf lists pages by absolute URL, without dates because none are known here.
func sitemapOf(publicURL string, paths []string) ([]byte, error) {
	all := sitemap{Space: sitemapSpace}
	for _, path := range paths {
		all.URLs = append(all.URLs, location{publicURL + path})
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("sitemap: %w", err)
	}
	return slices.Concat([]byte(xml.Header), text, []byte("\n")), nil
}

// robotsOf allows crawlers (RFC 9309) to read the public pages, their assets and the files for
// programs, and nothing else. A new page of the console is therefore excluded by default. The
// longest rule wins, and $ marks the end of a path.
func robotsOf(publicURL string, paths []string, beside ...string) []byte {
	text := &strings.Builder{}
	text.WriteString("User-agent: *\n")
	for _, path := range slices.Concat(paths, beside) {
		end := "$"
		if strings.HasSuffix(path, "/") && path != "/" { // a directory
			end = ""
		}
		fmt.Fprintf(text, "Allow: %s%s\n", path, end)
	}
	fmt.Fprintf(text, "Disallow: /\n\nSitemap: %s\n", publicURL+sitemapPath)
	return []byte(text.String())
}
