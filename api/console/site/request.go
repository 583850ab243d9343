package site

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/accounts"
)

// Request is one request of a browser.
type Request struct {
	*Site

	W http.ResponseWriter
	R *http.Request
	// ID is the request id, which was set before this package was called.
	ID string
	// csrfCookie is the cookie from which this browser's CSRF tokens are derived.
	csrfCookie string
	// mask is the mask of this page's CSRF tokens.
	mask [sha256.Size]byte
	// formOf is the account of the page whose form this request submits; empty for none.
	formOf string
	// holder is the key with which somebody asks support; zero for none.
	holder account.Key
	// For the person who signed in.
	Session  *accounts.CurrentSession
	accounts []accounts.Membership // memberships
	Reader   view.Reader
}

func (p *Site) newRequest(w http.ResponseWriter, r *http.Request) *Request {
	return &Request{Site: p, W: w, R: r, ID: w.Header().Get(requestIDHeader), csrfCookie: p.jar.csrfCookie(r)}
}

// Handle serves a pattern with a function whose errors become pages.
func (p *Site) Handle(pattern string, f func(*Request) error) {
	p.patterns = append(p.patterns, pattern)
	p.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, f) })
}

// HandlePublic serves a page that is the same for everybody.
func (p *Site) HandlePublic(path string, f func(*Request) error) {
	p.shown = append(p.shown, path)
	pattern := path
	if path == "/" {
		pattern = "/{$}"
	}
	p.Handle("GET "+pattern, f)
}

// HandleUnguarded serves a pattern without a check of its CSRF token: f must not need one.
func (p *Site) HandleUnguarded(pattern string, f func(*Request) error) {
	p.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", pageCaching)
		v := p.newRequest(w, r)
		if err := f(v); err != nil {
			v.fail(err)
		}
	})
}

// HandleProgram serves POSTs of programs to a path, which are those with a JSON body. They need no
// CSRF token, because a page of another site cannot send JSON without a preflight request. Errors
// are answered with the error envelope, as in the rest of the interface.
func (p *Site) HandleProgram(path string, f func(*Request) error) {
	p.programs[path] = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", pageCaching)
		v := p.newRequest(w, r)
		err := v.checkOrigin()
		if err == nil {
			err = f(v)
		}
		if err == nil {
			return
		}
		refused := fault.From(err)
		if refused.Reason == fault.InternalFault {
			p.Logger.Error("request of a program failed", "request_id", v.ID, "path", path, "error", err)
		}
		p.Refuse(w, refused)
	}
}

// checkOrigin refuses a program's request that comes from a page of another site.
func (v *Request) checkOrigin() error {
	if err := v.foreign.Check(v.R); err != nil {
		return fault.New(fault.FieldRefused,
			"The request comes from a page of another site (Origin, Sec-Fetch-Site), so nothing was done. "+
				"Send it from this site, or from a program without these headers.").Wrap(err)
	}
	return nil
}

// sendsJSON reports whether a request's Content-Type is JSON.
func sendsJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// Public lists the paths of the pages that are the same for everybody.
func (p *Site) Public() []string { return slices.Clone(p.shown) }

// serve checks the origin of a change, runs f, and shows its error.
func (p *Site) serve(w http.ResponseWriter, r *http.Request, f func(*Request) error) {
	w.Header().Set("Cache-Control", pageCaching)
	v := p.newRequest(w, r)
	_, err := io.ReadFull(p.Random, v.mask[:])
	if err == nil {
		v.formOf, err = p.checkChange(w, r)
	}
	if errors.Is(err, errStaleForm) {
		f, err = (*Request).sentAgain, nil
	}
	if err == nil {
		err = f(v)
	}
	if err != nil {
		v.fail(err)
	}
}

// Show renders a page in its frame.
func (v *Request) Show(status int, content view.Page, notices ...view.Notice) error {
	if err := v.EnsureCSRFCookie(); err != nil {
		return err
	}
	if part, left, ok := v.taken(); ok {
		if inParts, has := content.(view.Sayer); !has || !inParts.Say(part, left) {
			notices = append([]view.Notice{left}, notices...)
		}
	}
	if suspended, ok := v.suspension(); ok {
		notices = append([]view.Notice{suspended}, notices...)
	}
	f := view.Frame{Theme: v.theme(), Token: v.CSRFToken(), Path: v.back(), Person: v.person(), Notices: notices}
	return v.templates.Render(v.W, v.R, status, f, content)
}

// EnsureCSRFCookie sets a cookie for CSRF tokens unless the browser has one.
func (v *Request) EnsureCSRFCookie() error {
	if v.csrfCookie != "" {
		return nil
	}
	value, err := newVisitor(v.Random)
	if err != nil {
		return err
	}
	v.csrfCookie = value
	v.SetCookie(VisitorCookie, value, 0)
	return nil
}

// CSRFToken returns the token for forms of this page. The browser must already have a cookie.
func (v *Request) CSRFToken() string { return CSRFToken(v.csrfCookie, v.account(), v.mask) }

// account returns what this page belongs to: the id of an account, or the prefix of the key that
// asks support; empty for none.
func (v *Request) account() string {
	switch {
	case !v.holder.IsZero():
		return v.holder.Prefix()
	case v.Session == nil:
		return ""
	}
	return v.Session.AccountID
}

// back returns where the theme's form returns to: this page if it was a GET, or the home page.
func (v *Request) back() string {
	if v.R.Method == http.MethodGet {
		return v.R.URL.RequestURI()
	}
	return "/"
}

// Redirect answers a change with 303, so that reloading the next page does not repeat the change.
func (v *Request) Redirect(to string) error {
	//nolint:gosec // paths from visitors have passed localPath
	http.Redirect(v.W, v.R, to, http.StatusSeeOther)
	return nil
}

// SendTable sends a table as a file.
func (v *Request) SendTable(name, media, text string) error {
	v.W.Header().Set("Content-Type", media)
	v.W.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	v.W.WriteHeader(http.StatusOK)
	//nolint:gosec // sent as a file, not as a page; an error means that the client has left
	_, _ = v.W.Write([]byte(text))
	return nil
}

// HideReferrer keeps a URL that holds a token out of the Referer header.
func (v *Request) HideReferrer() { v.W.Header().Set("Referrer-Policy", referrerNever) }

// ShowPart sends one template of a page, for a script.
func (v *Request) ShowPart(status int, page, part string, content any) error {
	return v.templates.RenderPart(v.W, v.R, status, page, part, content)
}

// PageError is an error that is shown as a page.
type PageError struct {
	Status  int
	Heading string
	Text    string
	Cause   error
}

func (e *PageError) Error() string { return fmt.Sprintf("%s: %v", e.Heading, e.Cause) }

func (e *PageError) Unwrap() error { return e.Cause }

// NotFound returns the error for a path without a page.
func (v *Request) NotFound() error {
	return &PageError{
		Status: http.StatusNotFound, Heading: "There is no such page",
		Text: "Check the address, or start at the home page.",
	}
}

const requestIDHeader = "X-Request-Id"

// fail shows an error as a page. It logs unexpected errors, and shows them as the constant internal
// fault.
func (v *Request) fail(err error) {
	request := v.ID
	var status int
	content := view.ErrorPage{Public: v.Session == nil, Back: view.Link{Text: "To the home page", To: "/"}}
	switch {
	case !v.holder.IsZero():
		content.Back = view.Link{Text: "To your tickets", To: paths.AskTickets}
	case v.Session != nil:
		content.Back = view.Link{Text: "To the overview", To: paths.Overview}
	}
	if refused, ok := errors.AsType[*PageError](err); ok {
		status = refused.Status
		content.Heading = refused.Heading
		content.Notice = view.Notice{Tone: view.Warn, Text: refused.Text}
	} else {
		f := fault.From(err)
		status = f.HTTP()
		content.Heading = f.Reason.Entry().Title
		content.Notice = view.RefusalCard(f, request)
		content.Notice.Title = "" // the heading says it
		if f.Reason == fault.WrongKindOfKey && v.Session != nil {
			content.Heading, content.Notice.Steps = "Only for owners", []string{"Ask an owner of the account to do it."}
			content.Notice.Links = append([]view.Link{{Text: "Who owns the account", To: paths.Settings + "#people"}},
				content.Notice.Links...)
		}
		if f.Reason == fault.InternalFault {
			v.Logger.Error("page failed", "request_id", request, "path", v.R.Pattern, "error", err)
		}
		v.RetryAfter(f)
	}
	if err := v.Show(status, content); err != nil {
		v.Logger.Error("error page failed", "request_id", request, "error", err)
		http.Error(v.W, "The page could not be created. Try again in a minute.", http.StatusInternalServerError)
	}
}

// RetryAfter sets Retry-After when a refused request may be retried.
func (v *Request) RetryAfter(f *fault.Error) {
	if f.RetryAfter > 0 {
		v.W.Header().Set("Retry-After", strconv.Itoa(int((f.RetryAfter+time.Second-1)/time.Second)))
	}
}

const themeLifetime = 365 * 24 * time.Hour

func (v *Request) theme() view.Theme {
	if t := view.Theme(v.Cookie(themeCookie)); slices.Contains(view.Themes, t) {
		return t
	}
	return view.ThemeAuto
}

// setTheme stores the theme in a cookie and returns to the page of its form.
func (v *Request) setTheme() error {
	t := view.Theme(v.R.PostForm.Get("theme"))
	if !slices.Contains(view.Themes, t) {
		return fault.New(fault.FieldRefused, "theme takes auto, light or dark.")
	}
	v.SetCookie(themeCookie, string(t), themeLifetime)
	return v.Redirect(paths.Local(v.R.PostForm.Get("back"), "/"))
}

// pathDocumentTheme is where the theme switch of documents posts to.
const pathDocumentTheme = "/docs/theme"

// setThemeOfDocuments is POST /docs/theme. Documents are cached, so they carry no CSRF token. It is
// enough that the form comes from a page of this site, because it can change only the theme.
func (v *Request) setThemeOfDocuments() error {
	if err := v.readForm(v.W, v.R); err != nil {
		return err
	}
	return v.setTheme()
}
