package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/api/internal/openapi"
	"github.com/chainaccess/gateway/api/internal/pages"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/operation"
)

// Media types of the documents.
const (
	mediaJSON     = "application/json"
	mediaHTML     = "text/html"
	mediaMarkdown = "text/markdown"
	mediaText     = "text/plain"
	mediaXML      = "application/xml"
	inUTF8        = "; charset=utf-8"
)

// Content security policies of the pages. None allows other hosts, inline scripts, inline styles or
// eval. The viewer shows icons from data: addresses and sends trial requests to the gateway, under
// whichever host name it was opened. The only form on the pages is the theme switch.
const (
	textPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; " +
		"frame-ancestors 'none'"
	// copyPolicy is for pages with copy buttons.
	copyPolicy   = textPolicy + "; script-src 'self'"
	viewerPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src " +
		"'self' %s; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

// documents are the pages and files about the service. Their content does not change while the
// process runs. Each is rendered once, when it is first read, because rendering every page in every
// theme would dominate the start.
type documents struct {
	pages map[string]func() *page // by path
	// themed are the pages in a chosen theme, by theme and path.
	themed map[string]map[string]func() *page
}

// loadAssets reads the embedded assets, once per process.
var loadAssets = sync.OnceValues(pages.Assets)

// routes returns the routes of the documents. Their content is built later, from all routes.
// missing answers for error codes that do not exist.
func (d *documents) routes(missing gin.HandlerFunc) []plainRoute {
	read := func(path, name, title, description, media string) plainRoute {
		return plainRoute{openapi.Plain{
			Method: http.MethodGet, Path: path, Name: name, Title: title, Description: description,
			Answers: map[int]openapi.Answer{
				http.StatusOK:          {Description: title + ".", Media: media},
				http.StatusNotModified: {Description: "The version of If-None-Match is the newest one."},
			},
		}, d.serve(path)}
	}
	return []plainRoute{
		read("/openapi.json", "openapi", "This document",
			"Describes every route, field and answer of the HTTP door, as OpenAPI 3.1.", mediaJSON),
		read("/docs", "docs", "This document, to look at",
			"Shows the document in a browser, and lets its reader try operations out.", mediaHTML),
		read("/docs/quickstart", "quickstart", "A first call with each client",
			"Has the programs that make a first call in curl, viem, ethers, web3.py, Solana kit and MCP, to copy.",
			mediaHTML),
		read("/docs/pay-per-call", "pay_per_call", "How calls are paid without an account",
			"Walks through paying in USDC: menu, transfer, signature, redeem, call, receipt.", mediaHTML),
		read(pages.ErrorsPath, "errors", "The codes of refusals",
			"Lists every code with its HTTP statuses and what it means; each has a page of its own.", mediaHTML),
		{openapi.Plain{
			Method: http.MethodGet, Path: pages.ErrorsPath + "/{code}", Name: "error_code", Title: "What a code means",
			Description: "Says of a code why it comes, what to do, whether to send the request again and what it " +
				"cost, with programs in curl, viem and ethers.",
			Values: []openapi.Value{{Name: "code", Description: "error.code of a refusal", Example: "-32005"}},
			Answers: map[int]openapi.Answer{
				http.StatusOK:          {Description: "The page of the code.", Media: mediaHTML},
				http.StatusNotModified: {Description: "The version of If-None-Match is the newest one."},
			},
			Fails: []fault.Reason{fault.UnknownRoute},
		}, d.serveCode(missing)},
		read(agentsPath, "agents", "How the gateway is added to an agent",
			"Has the configuration of the common programs that agents run in, to copy, and lists the tools of the "+
				"MCP server.", mediaHTML),
		read("/terms", "terms", "The terms of use",
			"Says what using a key means. Their version is in the body that comes with a key.", mediaHTML),
		read("/skill.md", "skill", "How an agent uses the service",
			"Tells a program, step by step: keys, headers, chains, units, limits, errors and what to do next.",
			mediaMarkdown),
		read("/llms.txt", "llms", "What there is to read, for language models",
			"Lists the documents in the form of llmstxt.org.", mediaText),
		read(sitemapPath, "sitemap", "The pages that are for everybody",
			"Lists the public pages by their addresses, in the form of sitemaps.org.", mediaXML),
		read(robotsPath, "robots", "What crawlers may read",
			"Lets crawlers read the public pages and the documents, and nothing else (RFC 9309).", mediaText),
		{openapi.Plain{
			Method: http.MethodGet, Path: serverPath, Name: "server_json",
			Title: "The entry for registries of MCP servers",
			Description: "Says where the MCP server is and which version its tools have, in the form of the MCP " +
				"registry's server.json.",
			Answers: map[int]openapi.Answer{
				http.StatusOK: {
					Description: "The entry.", Media: mediaJSON, Type: reflect.TypeFor[published](),
				},
				http.StatusNotModified: {Description: "The version of If-None-Match is the newest one."},
			},
		}, d.serve(serverPath)},
	}
}

func (d *documents) serve(path string) gin.HandlerFunc {
	return func(c *gin.Context) { d.in(chosenTheme(c.Request), path).serve(c) }
}

// serveCode serves the page of an error code.
func (d *documents) serveCode(missing gin.HandlerFunc) gin.HandlerFunc {
	return func(c *gin.Context) {
		p := d.in(chosenTheme(c.Request), pages.ErrorsPath+"/"+c.Param("code"))
		if p == nil {
			missing(c)
			return
		}
		p.serve(c)
	}
}

// in returns the page of a path in a theme, or nil when there is none.
func (d *documents) in(theme, path string) *page {
	if made := d.themed[theme][path]; made != nil {
		return made()
	}
	if made := d.pages[path]; made != nil {
		return made()
	}
	return nil
}

// once returns a function that renders a page when it is first called. Pages are made of embedded
// files, so a failure is a bug, and every reader of the page gets it.
func once(path string, render func() (*page, error)) func() *page {
	return sync.OnceValue(func() *page {
		p, err := render()
		if err != nil {
			panic(fmt.Sprintf("document %s: %v", path, err))
		}
		return p.compress()
	})
}

// chosenTheme returns the theme that the reader chose, here or in the console, or "" for the
// system's. Its cookie has a name prefix over HTTPS.
func chosenTheme(r *http.Request) string {
	for _, name := range []string{"__Host-theme", "theme"} {
		if c, err := r.Cookie(name); err == nil {
			return c.Value
		}
	}
	return ""
}

// asset serves an embedded asset.
func (s *server) asset(c *gin.Context) {
	// loaded at start
	if files, err := loadAssets(); err == nil && files.Serve(c.Writer, c.Request, c.Param("name")) {
		return
	}
	s.refuse(c, fault.New(fault.UnknownRoute, ""))
}

// writeDocuments builds the documents from the routes. They are made of embedded files, so a
// failure is a bug.
func (s *server) writeDocuments(routes []plainRoute) {
	if _, err := loadAssets(); err != nil {
		panic(fmt.Sprintf("documents: %v", err))
	}
	s.documents.write(s.Options, routes)
}

// described is the OpenAPI document and the operations that pages list.
type described struct {
	text       []byte
	operations []openapi.Operation
}

func describe(o Options, routes []plainRoute) *huma.OpenAPI {
	plain := make([]openapi.Plain, len(routes))
	for i, r := range routes {
		plain[i] = r.Plain
	}
	return openapi.Build(openapi.Options{
		Operations: o.Capabilities.All(), Schemas: o.Capabilities.Schemas(), Chains: o.Pool.Known(),
		Plain: plain, Console: consoleRoutes(o),
		Shown: shownRoutes(o), StockClients: o.Stock != nil, PublicURL: o.PublicURL, Contact: o.Links.Contact,
	})
}

// consoleRoutes returns the console's paths that the interface names (docs/interface.md, 2.4), or
// nil when there is no console.
func consoleRoutes(o Options) []openapi.Console {
	const adopt = "/agents/adopt"
	asked := &http.Request{Method: http.MethodPost, URL: &url.URL{Path: adopt}}
	if o.Pages == nil || !o.Pages.Serves(asked) {
		return nil
	}
	return []openapi.Console{{Operation: o.Capabilities.AdoptKey, Path: adopt}}
}

// shownRoutes returns the operations that also have a public page, or nil when there is no console.
func shownRoutes(o Options) []openapi.Shown {
	var shown []openapi.Shown
	for _, c := range o.Capabilities.All() {
		path, ok := strings.CutSuffix(c.Meta().Route.Path, asJSON)
		if ok && o.Pages != nil && o.Pages.Serves(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}}) {
			shown = append(shown, openapi.Shown{Operation: c, Path: path})
		}
	}
	return shown
}

func (d *documents) write(o Options, routes []plainRoute) {
	interfaces := sync.OnceValues(func() (described, error) {
		document := describe(o, routes)
		text, err := json.Marshal(document)
		return described{text, openapi.Operations(document)}, err
	})
	open := func(path, media string, text func() ([]byte, error)) func() *page {
		return once(path, func() (*page, error) {
			body, err := text()
			if err != nil {
				return nil, err
			}
			p := newPage(media+inUTF8, body)
			p.foreign = true
			return p, nil
		})
	}
	d.pages = map[string]func() *page{
		"/openapi.json": open("/openapi.json", mediaJSON, func() ([]byte, error) {
			all, err := interfaces()
			return all.text, err
		}),
		serverPath: open(serverPath, mediaJSON, func() ([]byte, error) { return serverJSON(o.PublicURL) }),
		sitemapPath: open(sitemapPath, mediaXML, func() ([]byte, error) {
			return sitemapOf(o.PublicURL, publicPages(o))
		}),
		robotsPath: open(robotsPath, mediaText, func() ([]byte, error) {
			return robotsOf(o.PublicURL, publicPages(o), pages.AssetsPath, consoleAssets, "/llms.txt", "/skill.md",
				"/openapi.json", serverPath, sitemapPath), nil
		}),
	}
	d.render(o.PublicURL, sync.OnceValues(func() (pages.Facts, error) {
		all, err := interfaces()
		return factsOf(o, all.operations), err
	}))
}

// factsOf returns what differs between deployments.
func factsOf(o Options, operations []openapi.Operation) pages.Facts { //nolint:gocritic // called once
	facts := pages.Facts{
		PublicURL: o.PublicURL, Contact: o.Links.Contact, MaxBody: o.MaxBodyBytes,
		MaxMessage:   o.MaxMessageBytes,
		KeepCallDays: cmp.Or(o.KeepCallDays, pages.KeepCallDays), Operations: operations, Asset: assetPath,
		Tools: toolsOf(o.Capabilities.All()), AgentTools: o.AgentTools, Chains: o.Pool.Known(),
	}
	if o.Pages != nil {
		facts.Console = func(path string) bool {
			return o.Pages.Serves(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}})
		}
	}
	return facts
}

// assetPath returns the path of an asset.
func assetPath(name string) (string, error) {
	files, err := loadAssets()
	if err != nil {
		return "", err
	}
	return files.Path(name)
}

// rendered lists the documents that are made from templates.
func rendered(publicURL string) []rendering {
	all := []rendering{
		{pages.Page{Name: pages.Docs, Path: "/docs"}, mediaHTML, fmt.Sprintf(viewerPolicy, origin(publicURL))},
		{pages.Page{Name: pages.Quickstart, Path: "/docs/quickstart"}, mediaHTML, copyPolicy},
		{pages.Page{Name: pages.Pay, Path: "/docs/pay-per-call"}, mediaHTML, copyPolicy},
		{pages.Page{Name: pages.Agents, Path: agentsPath}, mediaHTML, copyPolicy},
		{pages.Page{Name: pages.Errors, Path: pages.ErrorsPath}, mediaHTML, textPolicy},
		{pages.Page{Name: pages.Terms, Path: "/terms"}, mediaHTML, textPolicy},
		{pages.Page{Name: pages.Skill, Path: "/skill.md"}, mediaMarkdown, ""},
		{pages.Page{Name: pages.Llms, Path: "/llms.txt"}, mediaText, ""},
	}
	for _, code := range pages.Codes() {
		all = append(all, rendering{
			pages.Page{Name: pages.Code, Path: pages.ErrorsPath + "/" + strconv.Itoa(code), Code: code},
			mediaHTML,
			copyPolicy,
		})
	}
	return all
}

// rendering is a document made from a template, with its media type and policy.
type rendering struct {
	pages.Page

	media, policy string
}

// render registers the documents in every theme. Those that are not HTML are the same in each.
func (d *documents) render(publicURL string, facts func() (pages.Facts, error)) {
	d.themed = map[string]map[string]func() *page{}
	for _, theme := range pages.Themes() {
		byPath := map[string]func() *page{}
		for _, of := range rendered(publicURL) {
			of.Theme = theme
			byPath[of.Path] = once(of.Path, func() (*page, error) { return of.page(facts) })
		}
		d.themed[theme] = byPath
	}
	maps.Copy(d.pages, d.themed[pages.Themes()[0]])
}

// page renders the document.
func (r rendering) page(facts func() (pages.Facts, error)) (*page, error) {
	of, err := facts()
	if err != nil {
		return nil, err
	}
	body, err := pages.Render(r.Page, of)
	if err != nil {
		return nil, err
	}
	p := newPage(r.media+inUTF8, body)
	p.policy, p.themed, p.foreign = r.policy, r.media == mediaHTML, r.media != mediaHTML
	return p, nil
}

// toolsOf lists the metered operations that have a route.
func toolsOf(all []operation.Definition) []operation.Meta {
	var metas []operation.Meta
	for _, c := range all {
		if m := c.Meta(); m.Metered() && m.Route.Path != "" {
			metas = append(metas, m)
		}
	}
	return metas
}

// origin returns the scheme and host of an address.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "" // checked by the configuration
	}
	return u.Scheme + "://" + u.Host
}
