// Package site serves pages: it registers those of the sections, identifies who asks, protects
// changes against cross-site request forgery, and shows errors.
package site

import (
	"embed"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/assets"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/status"
)

// Options are the dependencies of the pages. The package owns none of them.
type Options struct {
	// PublicURL is the address that people use. Over HTTPS, cookies are Secure.
	PublicURL string
	Now       func() time.Time
	Random    io.Reader // crypto/rand.Reader
	Logger    *slog.Logger
	Calls     Calls
	Known     *chain.Set // the chains that the gateway knows
	// Network returns the network that a visitor's rate limits apply to.
	Network func(*http.Request) netip.Prefix
	// Secret seals the API keys that people enter to ask support: at least 32 bytes, the same in
	// every process.
	Secret []byte
	// Refuse answers programs with the error envelope.
	Refuse func(http.ResponseWriter, *fault.Error)
	// DevMail is where development gateways show the mails they caught; empty elsewhere.
	DevMail string
}

// Site serves the console and the public pages. It is an http.Handler for every path; Serves
// reports which requests have a page.
type Site struct {
	Options

	mux       *http.ServeMux
	shown     []string // paths of the pages that are the same for everybody
	patterns  []string // of all routes except the assets and those without a CSRF token
	assets    *assets.Set
	templates view.Templates
	foreign   *http.CrossOriginProtection
	jar       jar
	seal      keySeal
	headers   http.Header

	// programs serve POSTs of programs, whose body is JSON, by path.
	programs map[string]http.HandlerFunc
	// chains caches the state of the chains, which several pages show.
	chains TTLCache[status.Status]
}

// New returns a site without pages. It fails when its options or the embedded files are invalid.
func New(o Options) (*Site, error) {
	read, err := view.Assets()
	if err != nil {
		return nil, err
	}
	shared, err := view.SharedPages()
	if err != nil {
		return nil, err
	}
	public, err := url.Parse(o.PublicURL)
	if err != nil || public.Host == "" {
		return nil, fmt.Errorf("the public address %q is no absolute URL", o.PublicURL)
	}
	seal, err := newKeySeal(o.Secret)
	if err != nil {
		return nil, err
	}
	https := public.Scheme == "https"
	p := &Site{
		Options: o, mux: http.NewServeMux(), assets: read, templates: maps.Clone(shared),
		foreign: http.NewCrossOriginProtection(), jar: jar{secure: https}, seal: seal, headers: securityHeaders(https),
		programs: map[string]http.HandlerFunc{},
	}
	// The Host header, which Origin is compared with by default, may have been changed by a proxy.
	if err := p.foreign.AddTrustedOrigin(public.Scheme + "://" + public.Host); err != nil {
		return nil, err
	}
	p.mux.HandleFunc("GET "+view.AssetsPath+"{name}", p.asset)
	p.Handle("POST /theme", (*Request).setTheme)
	p.HandleUnguarded("POST "+pathDocumentTheme, (*Request).setThemeOfDocuments)
	return p, nil
}

// AddTemplates adds the pages of a section's embedded templates. Names of pages are unique.
func (p *Site) AddTemplates(section embed.FS) error {
	set, err := view.ParsePages(section)
	if err != nil {
		return err
	}
	for name, page := range set {
		if _, taken := p.templates[name]; taken {
			return fmt.Errorf("two pages have the template %s", name)
		}
		p.templates[name] = page
	}
	return nil
}

// Routes lists the patterns of the pages, without the assets and what carries no CSRF token.
func (p *Site) Routes() []string { return slices.Clone(p.patterns) }

// Serves reports whether a page or an asset answers the request.
func (p *Site) Serves(r *http.Request) bool {
	_, pattern := p.mux.Handler(r)
	return pattern != ""
}

// Navigates reports whether a browser navigates to a page, so that a person reads the answer.
func (p *Site) Navigates(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"),
		"text/html")
}

// ServeHTTP serves the page of the path, or the page for unknown paths.
func (p *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	maps.Copy(w.Header(), p.headers)
	if !p.Serves(r) {
		p.serve(w, r, (*Request).NotFound)
		return
	}
	if program := p.programs[r.URL.Path]; program != nil && r.Method == http.MethodPost && sendsJSON(r) {
		program(w, r)
		return
	}
	p.mux.ServeHTTP(w, r)
}

// asset serves an asset.
func (p *Site) asset(w http.ResponseWriter, r *http.Request) {
	if !p.assets.Serve(w, r, r.PathValue("name")) {
		http.NotFound(w, r)
	}
}
