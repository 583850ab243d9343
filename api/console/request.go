package console

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

// request is one request of a browser.
type request struct {
	*Pages

	w http.ResponseWriter
	r *http.Request
	// request is the request id, which was set before this package was called.
	request string
	// csrfCookie is the cookie from which this browser's CSRF tokens are derived.
	csrfCookie string
	// mask is the mask of this page's CSRF tokens.
	mask [sha256.Size]byte
	// formOf is the account of the page whose form this request submits; empty for none.
	formOf string
	// holder is the key with which somebody asks support; zero for none.
	holder account.Key
	// For the person who signed in.
	session  *service.CurrentSession
	accounts []service.Membership // memberships
	reader   reader
}

func (p *Pages) newRequest(w http.ResponseWriter, r *http.Request) *request {
	return &request{Pages: p, w: w, r: r, request: w.Header().Get(requestIDHeader), csrfCookie: p.jar.csrfCookie(r)}
}

// handle serves a pattern with a function whose errors become pages.
func (p *Pages) handle(pattern string, f func(*request) error) {
	p.patterns = append(p.patterns, pattern)
	p.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, f) })
}

// public serves a page that is the same for everybody.
func (p *Pages) public(path string, f func(*request) error) {
	p.shown = append(p.shown, path)
	pattern := path
	if path == "/" {
		pattern = "/{$}"
	}
	p.handle("GET "+pattern, f)
}

// Public lists the paths of the pages that are the same for everybody.
func (p *Pages) Public() []string { return slices.Clone(p.shown) }

// serve checks the origin of a change, runs f, and shows its error.
func (p *Pages) serve(w http.ResponseWriter, r *http.Request, f func(*request) error) {
	w.Header().Set("Cache-Control", pageCaching)
	v := p.newRequest(w, r)
	_, err := io.ReadFull(p.Random, v.mask[:])
	if err == nil {
		v.formOf, err = p.checkChange(w, r)
	}
	if errors.Is(err, errStaleForm) {
		f, err = (*request).sentAgain, nil
	}
	if err == nil {
		err = f(v)
	}
	if err != nil {
		v.fail(err)
	}
}

// show renders a page in its frame.
func (v *request) show(status int, content page, notices ...notice) error {
	if err := v.ensureCSRFCookie(); err != nil {
		return err
	}
	if part, left, ok := v.taken(); ok {
		if inParts, has := content.(sayer); !has || !inParts.say(part, left) {
			notices = append([]notice{left}, notices...)
		}
	}
	if suspended, ok := v.suspension(); ok {
		notices = append([]notice{suspended}, notices...)
	}
	f := frame{Theme: v.theme(), Token: v.csrfToken(), Path: v.back(), Person: v.person(), Notices: notices}
	return v.templates.render(v.w, v.r, status, f, content)
}

// ensureCSRFCookie sets a cookie for CSRF tokens unless the browser has one.
func (v *request) ensureCSRFCookie() error {
	if v.csrfCookie != "" {
		return nil
	}
	value, err := newVisitor(v.Random)
	if err != nil {
		return err
	}
	v.csrfCookie = value
	v.jar.set(v.w, visitorCookie, value, 0)
	return nil
}

// csrfToken returns the token for forms of this page. The browser must already have a cookie.
func (v *request) csrfToken() string { return maskedToken(v.csrfCookie, v.account(), v.mask) }

// account returns what this page belongs to: the id of an account, or the prefix of the key that
// asks support; empty for none.
func (v *request) account() string {
	switch {
	case !v.holder.IsZero():
		return v.holder.Prefix()
	case v.session == nil:
		return ""
	}
	return v.session.AccountID
}

// sayer is a long page that shows messages at one of its parts.
type sayer interface {
	// say shows a message at a part, and reports whether the page has that part.
	say(part string, n notice) bool
}

// back returns where the theme's form returns to: this page if it was a GET, or the home page.
func (v *request) back() string {
	if v.r.Method == http.MethodGet {
		return v.r.URL.RequestURI()
	}
	return "/"
}

// redirect answers a change with 303, so that reloading the next page does not repeat the change.
func (v *request) redirect(to string) error {
	//nolint:gosec // paths from visitors have passed localPath
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// refusal is an error that is shown as a page.
type refusal struct {
	status  int
	heading string
	text    string
	cause   error
}

func (e *refusal) Error() string { return fmt.Sprintf("%s: %v", e.heading, e.cause) }

func (e *refusal) Unwrap() error { return e.cause }

func (v *request) notFound() error {
	return &refusal{
		status: http.StatusNotFound, heading: "There is no such page",
		text: "Check the address, or start at the home page.",
	}
}

const requestIDHeader = "X-Request-Id"

// codeOf formats an error code.
func codeOf(code int) string { return strconv.Itoa(code) }

// fail shows an error as a page. It logs unexpected errors, and shows them as the constant internal
// fault.
func (v *request) fail(err error) {
	request := v.request
	var status int
	content := errorPage{Public: v.session == nil, Back: link{"To the home page", "/"}}
	switch {
	case !v.holder.IsZero():
		content.Back = link{"To your tickets", pathAskTickets}
	case v.session != nil:
		content.Back = link{"To the overview", pathOverview}
	}
	if refused, ok := errors.AsType[*refusal](err); ok {
		status = refused.status
		content.Heading = refused.heading
		content.Notice = notice{Tone: warn, Text: refused.text}
	} else {
		f := fault.From(err)
		status = f.HTTP()
		content.Heading = f.Reason.Entry().Title
		content.Notice = refusalCard(f, request)
		content.Notice.Title = "" // the heading says it
		if f.Reason == fault.WrongKindOfKey && v.session != nil {
			content.Heading, content.Notice.Steps = "Only for owners", []string{"Ask an owner of the account to do it."}
			content.Notice.Links = append([]link{{"Who owns the account", pathSettings + "#people"}},
				content.Notice.Links...)
		}
		if f.Reason == fault.InternalFault {
			v.Logger.Error("page failed", "request_id", request, "path", v.r.Pattern, "error", err)
		}
		v.retryAfter(f)
	}
	if err := v.show(status, content); err != nil {
		v.Logger.Error("error page failed", "request_id", request, "error", err)
		http.Error(v.w, "The page could not be created. Try again in a minute.", http.StatusInternalServerError)
	}
}

// retryAfter sets Retry-After when a refused request may be retried.
func (v *request) retryAfter(f *fault.Error) {
	if f.RetryAfter > 0 {
		v.w.Header().Set("Retry-After", strconv.Itoa(int((f.RetryAfter+time.Second-1)/time.Second)))
	}
}

// supportPath is the form for help with a request; error envelopes link to it, too.
const supportPath = "/support/new?request_id="

// pathErrors begins the paths of the pages of error codes.
const pathErrors = "/docs/errors/"

// refusalCard shows what the error envelope contains: the message, the code, what to do, and where
// to ask.
func refusalCard(f *fault.Error, request string) notice {
	entry := f.Reason.Entry()
	n := notice{
		Tone: bad, Title: entry.Title, Text: forPeople(f.Message), Code: codeOf(entry.Code),
		Steps: stepsForPeople(entry.Steps), Request: request,
	}
	n.Links = append(n.Links, link{"What " + n.Code + " means", pathErrors + n.Code})
	if entry.Doorway != "" {
		n.Links = append(n.Links, link{entry.Doorway, entry.Doorway})
	}
	if request != "" {
		n.Links = append(n.Links, link{"Ask for help with this request", supportPath + request})
	}
	return n
}

// theme is a colour theme.
type theme string

// The themes. auto follows the system's setting.
const (
	themeAuto  theme = "auto"
	themeLight theme = "light"
	themeDark  theme = "dark"
)

var themes = []theme{themeAuto, themeLight, themeDark}

// Label returns the label of the theme's button.
func (t theme) Label() string { return strings.ToUpper(string(t[:1])) + string(t[1:]) }

const themeLifetime = 365 * 24 * time.Hour

func (v *request) theme() theme {
	if t := theme(v.jar.get(v.r, themeCookie)); slices.Contains(themes, t) {
		return t
	}
	return themeAuto
}

// setTheme stores the theme in a cookie and returns to the page of its form.
func (v *request) setTheme() error {
	t := theme(v.r.PostForm.Get("theme"))
	if !slices.Contains(themes, t) {
		return fault.New(fault.FieldRefused, "theme takes auto, light or dark.")
	}
	v.jar.set(v.w, themeCookie, string(t), themeLifetime)
	return v.redirect(localPath(v.r.PostForm.Get("back"), "/"))
}

// pathDocumentTheme is where the theme switch of documents posts to.
const pathDocumentTheme = "/docs/theme"

// setThemeOfDocuments is POST /docs/theme. Documents are cached, so they carry no CSRF token. It is
// enough that the form comes from a page of this site, because it can change only the theme.
func (p *Pages) setThemeOfDocuments(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", pageCaching)
	v := p.newRequest(w, r)
	err := p.readForm(w, r)
	if err == nil {
		err = v.setTheme()
	}
	if err != nil {
		v.fail(err)
	}
}

const longestPath = 2048

// localPath returns path when it is on this site, and otherwise if it is not. A path that browsers
// read as another host (a second slash, a backslash, a control character that they ignore) is not
// on this site.
func localPath(path, otherwise string) string {
	switch {
	case !strings.HasPrefix(path, "/"), strings.HasPrefix(path, "//"), len(path) > longestPath:
		return otherwise
	case strings.ContainsFunc(path, func(c rune) bool { return c < ' ' || c == '\\' || c == 0x7f }):
		return otherwise
	}
	return path
}
