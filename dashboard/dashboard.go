// Package dashboard is the browser's door: server-rendered pages, their assets, and what guards them (security headers, cookies,
// tokens against forged requests). It holds no rule of its own: what a person may do is decided by the capabilities that it calls.
// The pages need no JavaScript; the few scripts save a page load or a hand's movement.
package dashboard

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options are what the pages work with. The package owns none of them.
type Options struct {
	// PublicURL is the address that people use; over https, cookies are Secure.
	PublicURL string
	Now       func() time.Time
	Random    io.Reader // crypto/rand.Reader
	Logger    *slog.Logger
}

// Pages serves the console and the public pages. It is an http.Handler for every path; Serves says which of them are its own.
type Pages struct {
	Options

	mux       *http.ServeMux
	assets    *assets
	templates *templates
	foreign   *http.CrossOriginProtection
	jar       jar
	headers   http.Header
}

// New reads the embedded assets and templates. It fails when they or the public address are broken.
func New(o Options) (*Pages, error) {
	public, err := url.Parse(o.PublicURL)
	if err != nil || public.Host == "" {
		return nil, fmt.Errorf("pages: the public address %q is no absolute URL", o.PublicURL)
	}
	p := &Pages{Options: o, mux: http.NewServeMux(), foreign: http.NewCrossOriginProtection()}
	// A proxy may have changed the Host header that an Origin is compared with otherwise.
	if err := p.foreign.AddTrustedOrigin(public.Scheme + "://" + public.Host); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	p.jar = jar{secure: public.Scheme == "https"}
	p.headers = securityHeaders(public.Scheme == "https")
	if p.assets, err = loadAssets(); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	if p.templates, err = loadTemplates(p.assets); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	p.routes()
	return p, nil
}

// Handler is New for those who need no more than the handler.
func Handler(o Options) (http.Handler, error) { return New(o) }

func (p *Pages) routes() {
	p.mux.HandleFunc("GET "+assetsPath+"{name}", p.asset)
	p.handle("GET /{$}", (*visit).home)
	p.handle("POST /theme", (*visit).setTheme)
}

// Serves says whether a page or asset answers this request. What it does not serve belongs to somebody else, or is not found.
func (p *Pages) Serves(r *http.Request) bool {
	_, pattern := p.mux.Handler(r)
	return pattern != ""
}

// Navigates says whether a browser asks for a page to show, so that a person reads the answer.
func (p *Pages) Navigates(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// ServeHTTP answers with the page of the path, or with the page that says that there is none.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	maps.Copy(w.Header(), p.headers)
	if !p.Serves(r) {
		p.serve(w, r, (*visit).notFound)
		return
	}
	p.mux.ServeHTTP(w, r)
}

// asset serves one file. A fingerprint of another version is not found: its page is loaded again and names the new one.
func (p *Pages) asset(w http.ResponseWriter, r *http.Request) {
	if !p.assets.serve(w, r, r.PathValue("name")) {
		http.NotFound(w, r)
	}
}
