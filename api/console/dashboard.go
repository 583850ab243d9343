// Package console serves the pages for browsers: server-rendered HTML, its assets and its
// protection (security headers, cookies, CSRF tokens). It holds no business rules: the operations
// that it calls decide what a person may do. The pages work without JavaScript; the few scripts are
// for convenience.
package console

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/chainaccess/gateway/internal/assets"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

// Options are the dependencies of the pages. The package owns none of them.
type Options struct {
	// PublicURL is the address that people use. Over HTTPS, cookies are Secure.
	PublicURL string
	Now       func() time.Time
	Random    io.Reader // crypto/rand.Reader
	Logger    *slog.Logger
	Calls     Calls
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

// Pages serves the console and the public pages. It is an http.Handler for every path; Serves
// reports which requests have a page.
type Pages struct {
	Options

	mux       *http.ServeMux
	shown     []string // paths of the pages that are the same for everybody
	patterns  []string // of all routes except the assets and those without a CSRF token
	assets    *assets.Set
	templates *templates
	tools     []toolGroup
	foreign   *http.CrossOriginProtection
	jar       jar
	seal      keySeal
	headers   http.Header

	// Cached answers for public pages.
	plans ttlCache[service.PlanList]
	stand ttlCache[service.Status]
}

// New parses the embedded assets and templates. It fails when they or the public URL are invalid.
func New(o Options) (*Pages, error) {
	a, err := loadAssets()
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	t, err := loadTemplates(a)
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	return assemble(o, a, t)
}

// assemble creates pages from parsed assets and templates.
func assemble(o Options, a *assets.Set, t *templates) (*Pages, error) {
	public, err := url.Parse(o.PublicURL)
	if err != nil || public.Host == "" {
		return nil, fmt.Errorf("pages: the public address %q is no absolute URL", o.PublicURL)
	}
	tools, err := newToolGroups(o.Calls.Tools)
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	seal, err := newKeySeal(o.Secret)
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	https := public.Scheme == "https"
	p := &Pages{
		Options: o, mux: http.NewServeMux(), assets: a, templates: t, tools: tools,
		foreign: http.NewCrossOriginProtection(), jar: jar{secure: https}, seal: seal, headers: securityHeaders(https),
	}
	// The Host header, which Origin is compared with by default, may have been changed by a proxy.
	if err := p.foreign.AddTrustedOrigin(public.Scheme + "://" + public.Host); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	p.routes()
	return p, nil
}

func (p *Pages) routes() {
	p.mux.HandleFunc("GET "+assetsPath+"{name}", p.asset)
	p.public("/", (*request).home)
	p.handle("GET "+pathFirstKey, func(v *request) error { return v.redirect("/") })
	p.handle("POST "+pathFirstKey, (*request).makeKey)
	p.public(pathPricing, (*request).pricing)
	p.handle("POST /theme", (*request).setTheme)
	p.mux.HandleFunc("POST "+pathDocumentTheme, p.setThemeOfDocuments)
	p.public(pathToolbox, (*request).toolbox)
	p.handle("POST "+pathToolbox, (*request).toolbox)
	p.public(pathStatus, (*request).status)
	p.handle("GET "+pathReceipts+"{tx}", (*request).receipt)

	p.handle("GET /sign-in", (*request).signIn)
	p.handle("POST /sign-in", (*request).startSignIn)
	p.handle("GET /sign-in/code", (*request).askCode)
	p.handle("POST /sign-in/code", (*request).finishByCode)
	p.handle("GET "+pathSignInLink, (*request).showLink)
	p.handle("POST "+pathSignInLink, (*request).finishByLink)
	p.handle("GET "+pathAccept, (*request).showInvitation)
	p.handle("POST "+pathAccept, (*request).acceptInvitation)
	p.handle("POST /sign-out", (*request).signOut)
	p.handle("GET "+pathUnsubscribe, (*request).showUnsubscribe)
	p.mux.HandleFunc("POST "+pathUnsubscribe, p.stopMails)
	p.handle("GET "+pathEntries, (*request).showEntry)
	p.handle("POST "+pathEntries, (*request).changeEntry)

	p.console("POST /accounts/switch", (*request).switchAccount)
	p.console("GET /overview", (*request).overview)
	p.console("GET "+pathUsage, (*request).usage)
	p.console("GET "+pathUsageTable, (*request).usageTable)
	p.console("GET /keys", (*request).keys)
	p.console("GET /keys/new", (*request).newKey)
	p.console("POST /keys/new", (*request).createKey)
	p.console("GET /keys/{id}", (*request).key)
	p.console("POST /keys/{id}", (*request).changeKey)
	p.console("GET /keys/{id}/revoke", (*request).confirmRevoke)
	p.console("POST /keys/{id}/revoke", (*request).revokeKey)
	p.console("GET /agents", (*request).agents)
	p.console("POST "+pathAdopt, (*request).adopt)
	p.console("GET "+pathClaim, (*request).claim)
	p.console("POST "+pathClaim, (*request).startClaim)
	p.console("POST "+pathClaimSign, (*request).finishClaim)

	p.supportRoutes()
	p.staffRoutes()
	p.console("GET "+pathBilling, (*request).billing)
	p.console("GET "+pathBilling+"/buy", (*request).showPurchase)
	p.console("POST "+pathBilling+"/buy", (*request).purchase)
	p.console("GET "+pathBilling+"/done", (*request).checkoutDone)
	p.console("GET "+pathBilling+"/change", (*request).showChange)
	p.console("POST "+pathBilling+"/change", (*request).change)
	p.console("GET "+pathBilling+"/cancel", (*request).confirmCancel)
	p.console("POST "+pathBilling+"/cancel", (*request).cancelPlan)
	p.console("POST "+pathBilling+"/resume", (*request).resumePlan)
	p.console("POST "+pathBilling+"/portal", (*request).portal)
	p.console("POST "+pathBilling+"/invoices/{id}", (*request).invoice)
	p.console("GET "+pathStatements, (*request).statements)
	p.console("GET "+pathStatements+"/{period}", (*request).statement)

	p.console("GET /settings", (*request).settings)
	p.console("POST /settings/notifications", (*request).saveNotifications)
	p.console("POST /settings/mails", (*request).saveMails)
	p.console("POST /settings/name", (*request).saveName)
	p.console("POST /settings/time-zone", (*request).saveTimeZone)
	p.console("POST /settings/services", (*request).saveServices)
	p.console("POST /settings/insights", (*request).saveInsights)
	p.console("GET "+pathAudit, (*request).audit)
	p.console("GET /settings/members", func(v *request) error { return v.redirect(pathSettings + "#people") })
	p.console("POST /settings/members/{id}/role", (*request).changeRole)
	p.console("GET /settings/members/{id}/remove", (*request).confirmRemove)
	p.console("POST /settings/members/{id}/remove", (*request).removeMember)
	p.console("POST /settings/invitations", (*request).invite)
	p.console("GET /settings/invitations/{id}/withdraw", (*request).confirmWithdraw)
	p.console("POST /settings/invitations/{id}/withdraw", (*request).withdraw)
	p.console("GET /settings/sessions/end", (*request).confirmSignOutEverywhere)
	p.console("POST /settings/sessions/end", (*request).signOutEverywhere)
	p.console("GET /settings/sessions/{id}/end", (*request).confirmEnd)
	p.console("POST /settings/sessions/{id}/end", (*request).endSession)
}

// Serves reports whether a page or an asset answers the request.
func (p *Pages) Serves(r *http.Request) bool {
	_, pattern := p.mux.Handler(r)
	return pattern != ""
}

// Navigates reports whether a browser navigates to a page, so that a person reads the answer.
func (p *Pages) Navigates(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"),
		"text/html")
}

// ServeHTTP serves the page of the path, or the page for unknown paths.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	maps.Copy(w.Header(), p.headers)
	if !p.Serves(r) {
		p.serve(w, r, (*request).notFound)
		return
	}
	if r.Method == http.MethodPost && r.URL.Path == pathAdopt && sendsJSON(r) {
		p.adoptByProgram(w, r)
		return
	}
	p.mux.ServeHTTP(w, r)
}

// asset serves an asset.
func (p *Pages) asset(w http.ResponseWriter, r *http.Request) {
	if !p.assets.Serve(w, r, r.PathValue("name")) {
		http.NotFound(w, r)
	}
}
