// Package console is the browser's door: server-rendered pages, their assets, and what guards them
// (security headers, cookies, tokens against forged requests). It holds no rule of its own: what a
// person may do is decided by the capabilities that it calls. The pages need no JavaScript; the few
// scripts save a page load or a hand's movement.
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

// Options are what the pages work with. The package owns none of them.
type Options struct {
	// PublicURL is the address that people use; over https, cookies are Secure.
	PublicURL string
	Now       func() time.Time
	Random    io.Reader // crypto/rand.Reader
	Logger    *slog.Logger
	Calls     Calls
	// Network is what limits of a visitor go by.
	Network func(*http.Request) netip.Prefix
	// Secret seals the keys that people put in to ask support: at least 32 bytes, the same in every
	// process.
	Secret []byte
	// Refuse answers programs with the error envelope.
	Refuse func(http.ResponseWriter, *fault.Error)
	// DevMail is where caught mails are read, on development gateways; empty elsewhere.
	DevMail string
}

// Pages serves the console and the public pages. It is an http.Handler for every path; Serves says
// which of them are its own.
type Pages struct {
	Options

	mux       *http.ServeMux
	shown     []string // paths of the pages that say the same to everybody
	patterns  []string // of all routes but the assets and what needs no form's token
	assets    *assets.Set
	templates *templates
	tools     []toolGroup
	foreign   *http.CrossOriginProtection
	jar       jar
	seal      keySeal
	headers   http.Header

	// What public pages say to everybody.
	plans kept[service.PlanList]
	stand kept[service.Status]
}

// New reads the embedded assets and templates. It fails when they or the public address are broken.
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

// assemble makes pages of what was read.
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
		Options: o, mux: http.NewServeMux(), assets: a, templates: t, tools: tools, foreign: http.NewCrossOriginProtection(), jar: jar{secure: https}, seal: seal,
		headers: securityHeaders(https),
	}
	// A proxy may have changed the Host header that an Origin is compared with otherwise.
	if err := p.foreign.AddTrustedOrigin(public.Scheme + "://" + public.Host); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	p.routes()
	return p, nil
}

func (p *Pages) routes() {
	p.mux.HandleFunc("GET "+assetsPath+"{name}", p.asset)
	p.public("/", (*visit).home)
	p.handle("GET "+pathFirstKey, func(v *visit) error { return v.moveOn("/") })
	p.handle("POST "+pathFirstKey, (*visit).makeKey)
	p.public(pathPricing, (*visit).pricing)
	p.handle("POST /theme", (*visit).setTheme)
	p.mux.HandleFunc("POST "+pathDocumentTheme, p.setThemeOfDocuments)
	p.public(pathToolbox, (*visit).toolbox)
	p.handle("POST "+pathToolbox, (*visit).toolbox)
	p.public(pathStatus, (*visit).status)
	p.handle("GET "+pathReceipts+"{tx}", (*visit).receipt)

	p.handle("GET /sign-in", (*visit).signIn)
	p.handle("POST /sign-in", (*visit).startSignIn)
	p.handle("GET /sign-in/code", (*visit).askCode)
	p.handle("POST /sign-in/code", (*visit).finishByCode)
	p.handle("GET "+pathSignInLink, (*visit).showLink)
	p.handle("POST "+pathSignInLink, (*visit).finishByLink)
	p.handle("GET "+pathAccept, (*visit).showInvitation)
	p.handle("POST "+pathAccept, (*visit).acceptInvitation)
	p.handle("POST /sign-out", (*visit).signOut)
	p.handle("GET "+pathUnsubscribe, (*visit).showUnsubscribe)
	p.mux.HandleFunc("POST "+pathUnsubscribe, p.stopMails)
	p.handle("GET "+pathEntries, (*visit).showEntry)
	p.handle("POST "+pathEntries, (*visit).changeEntry)

	p.console("POST /accounts/switch", (*visit).switchAccount)
	p.console("GET /overview", (*visit).overview)
	p.console("GET "+pathUsage, (*visit).usage)
	p.console("GET "+pathUsageTable, (*visit).usageTable)
	p.console("GET /keys", (*visit).keys)
	p.console("GET /keys/new", (*visit).newKey)
	p.console("POST /keys/new", (*visit).createKey)
	p.console("GET /keys/{id}", (*visit).key)
	p.console("POST /keys/{id}", (*visit).changeKey)
	p.console("GET /keys/{id}/revoke", (*visit).confirmRevoke)
	p.console("POST /keys/{id}/revoke", (*visit).revokeKey)
	p.console("GET /agents", (*visit).agents)
	p.console("POST "+pathAdopt, (*visit).adopt)
	p.console("GET "+pathClaim, (*visit).claim)
	p.console("POST "+pathClaim, (*visit).startClaim)
	p.console("POST "+pathClaimSign, (*visit).finishClaim)

	p.supportRoutes()
	p.staffRoutes()
	p.console("GET "+pathBilling, (*visit).billing)
	p.console("GET "+pathBilling+"/buy", (*visit).showPurchase)
	p.console("POST "+pathBilling+"/buy", (*visit).purchase)
	p.console("GET "+pathBilling+"/done", (*visit).checkoutDone)
	p.console("GET "+pathBilling+"/change", (*visit).showChange)
	p.console("POST "+pathBilling+"/change", (*visit).change)
	p.console("GET "+pathBilling+"/cancel", (*visit).confirmCancel)
	p.console("POST "+pathBilling+"/cancel", (*visit).cancelPlan)
	p.console("POST "+pathBilling+"/resume", (*visit).resumePlan)
	p.console("POST "+pathBilling+"/portal", (*visit).portal)
	p.console("POST "+pathBilling+"/invoices/{id}", (*visit).invoice)
	p.console("GET "+pathStatements, (*visit).statements)
	p.console("GET "+pathStatements+"/{period}", (*visit).statement)

	p.console("GET /settings", (*visit).settings)
	p.console("POST /settings/notifications", (*visit).saveNotifications)
	p.console("POST /settings/mails", (*visit).saveMails)
	p.console("POST /settings/name", (*visit).saveName)
	p.console("POST /settings/time-zone", (*visit).saveTimeZone)
	p.console("POST /settings/services", (*visit).saveServices)
	p.console("POST /settings/insights", (*visit).saveInsights)
	p.console("GET "+pathAudit, (*visit).audit)
	p.console("GET /settings/members", func(v *visit) error { return v.moveOn(pathSettings + "#people") })
	p.console("POST /settings/members/{id}/role", (*visit).changeRole)
	p.console("GET /settings/members/{id}/remove", (*visit).confirmRemove)
	p.console("POST /settings/members/{id}/remove", (*visit).removeMember)
	p.console("POST /settings/invitations", (*visit).invite)
	p.console("GET /settings/invitations/{id}/withdraw", (*visit).confirmWithdraw)
	p.console("POST /settings/invitations/{id}/withdraw", (*visit).withdraw)
	p.console("GET /settings/sessions/end", (*visit).confirmSignOutEverywhere)
	p.console("POST /settings/sessions/end", (*visit).signOutEverywhere)
	p.console("GET /settings/sessions/{id}/end", (*visit).confirmEnd)
	p.console("POST /settings/sessions/{id}/end", (*visit).endSession)
}

// Serves reports whether a page or asset answers this request. What it does not serve belongs to
// somebody else, or is not found.
func (p *Pages) Serves(r *http.Request) bool {
	_, pattern := p.mux.Handler(r)
	return pattern != ""
}

// Navigates reports whether a browser asks for a page to show, so that a person reads the answer.
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
	if r.Method == http.MethodPost && r.URL.Path == pathAdopt && sendsJSON(r) {
		p.adoptByProgram(w, r)
		return
	}
	p.mux.ServeHTTP(w, r)
}

// asset serves one file.
func (p *Pages) asset(w http.ResponseWriter, r *http.Request) {
	if !p.assets.Serve(w, r, r.PathValue("name")) {
		http.NotFound(w, r)
	}
}
