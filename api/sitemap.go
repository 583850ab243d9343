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

	// consoleAssets is where pages of the console have what they load.
	consoleAssets = "/assets/"

	// sitemapSpace names the form of a sitemap (sitemaps.org, version 0.9).
	sitemapSpace = "http://www.sitemaps.org/schemas/sitemap/0.9"
)

// publicPages are the pages that are for everybody and say the same to all: the documents for
// people, and what the console shows without a session. Whatever is somebody's is not among them.
func publicPages(o Options) []string { //nolint:gocritic // once
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

// sitemapOf lists pages by their absolute addresses, without dates, which nothing here knows.
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

// robotsOf lets crawlers (RFC 9309) read the public pages, what they load and what is written for
// programs; nothing else, so that a page of the console that comes new is out without a word. The
// longest rule wins, and $ is where a path ends.
func robotsOf(publicURL string, paths []string, beside ...string) []byte {
	text := &strings.Builder{}
	text.WriteString("User-agent: *\n")
	for _, path := range slices.Concat(paths, beside) {
		end := "$"
		if strings.HasSuffix(path, "/") && path != "/" { // a folder
			end = ""
		}
		fmt.Fprintf(text, "Allow: %s%s\n", path, end)
	}
	fmt.Fprintf(text, "Disallow: /\n\nSitemap: %s\n", publicURL+sitemapPath)
	return []byte(text.String())
}
