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
	// request is the id that this answer carries; whoever passed the request on made it.
	request string
	// csrfCookie is the cookie that the tokens of this browser's forms hang on.
	csrfCookie string
	// mask is on the tokens of this page's forms.
	mask [sha256.Size]byte
	// formOf is the account that the page was of whose form this request sends; empty for none.
	formOf string
	// holder is the key that asks support; zero for none.
	holder account.Key
	// Of whoever is signed in.
	session  *service.CurrentSession
	accounts []service.Membership // that they belong to
	reader   reader
}

func (p *Pages) newRequest(w http.ResponseWriter, r *http.Request) *request {
	return &request{Pages: p, w: w, r: r, request: w.Header().Get(requestIDHeader), csrfCookie: p.jar.csrfCookie(r)}
}

// handle serves a pattern by a function whose errors become pages.
func (p *Pages) handle(pattern string, f func(*request) error) {
	p.patterns = append(p.patterns, pattern)
	p.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, f) })
}

// public serves a page that says the same to everybody.
func (p *Pages) public(path string, f func(*request) error) {
	p.shown = append(p.shown, path)
	pattern := path
	if path == "/" {
		pattern = "/{$}"
	}
	p.handle("GET "+pattern, f)
}

// Public lists the paths of the pages that say the same to everybody.
func (p *Pages) Public() []string { return slices.Clone(p.shown) }

// serve checks where a change comes from, runs f, and shows its error.
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

// show renders a page in the frame of this visit.
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

// ensureCSRFCookie sets a cookie that the tokens of the browser's forms hang on, unless it has one.
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

// csrfToken is what forms of this page carry. The browser bears a cookie by then.
func (v *request) csrfToken() string { return maskedToken(v.csrfCookie, v.account(), v.mask) }

// account is what this page is of: an account by its id, or a key that asks support by its prefix;
// empty for none.
func (v *request) account() string {
	switch {
	case !v.holder.IsZero():
		return v.holder.Prefix()
	case v.session == nil:
		return ""
	}
	return v.session.AccountID
}

// sayer is a long page that says what happened at the part that it happened to.
type sayer interface {
	// say takes a message for a part, and whether there is such a part.
	say(part string, n notice) bool
}

// back is where the theme's form leads: to this page, when it can be asked for again.
func (v *request) back() string {
	if v.r.Method == http.MethodGet {
		return v.r.URL.RequestURI()
	}
	return "/"
}

// redirect answers a change: the browser asks for the next page itself, so that loading it again
// changes nothing again.
func (v *request) redirect(to string) error {
	//nolint:gosec // what a visitor names goes through localPath before
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// refusal is what a page says when there is nothing else to show.
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

// codeOf is a code as people read it.
func codeOf(code int) string { return strconv.Itoa(code) }

// fail shows an error as a page. What nobody expected is logged, and shown as the constant internal
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

// retryAfter says when a refused request may be sent again.
func (v *request) retryAfter(f *fault.Error) {
	if f.RetryAfter > 0 {
		v.w.Header().Set("Retry-After", strconv.Itoa(int((f.RetryAfter+time.Second-1)/time.Second)))
	}
}

// supportPath leads to help with one request; the envelope of errors names it as well.
const supportPath = "/support/new?request_id="

// pathErrors is where every code has its page.
const pathErrors = "/docs/errors/"

// refusalCard says of a refusal what the envelope says: the message, the code, what to do, and
// where to ask.
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

// theme is how a page is coloured.
type theme string

// The themes; auto follows the system's.
const (
	themeAuto  theme = "auto"
	themeLight theme = "light"
	themeDark  theme = "dark"
)

var themes = []theme{themeAuto, themeLight, themeDark}

// Label is the theme's name on its button.
func (t theme) Label() string { return strings.ToUpper(string(t[:1])) + string(t[1:]) }

const themeLifetime = 365 * 24 * time.Hour

func (v *request) theme() theme {
	if t := theme(v.jar.get(v.r, themeCookie)); slices.Contains(themes, t) {
		return t
	}
	return themeAuto
}

// setTheme keeps the theme in a cookie and goes back to where its form was.
func (v *request) setTheme() error {
	t := theme(v.r.PostForm.Get("theme"))
	if !slices.Contains(themes, t) {
		return fault.New(fault.FieldRefused, "theme takes auto, light or dark.")
	}
	v.jar.set(v.w, themeCookie, string(t), themeLifetime)
	return v.redirect(localPath(v.r.PostForm.Get("back"), "/"))
}

// pathDocumentTheme is where the switch of documents leads.
const pathDocumentTheme = "/docs/theme"

// setThemeOfDocuments is POST /docs/theme. Documents are kept by caches, so there is no token in
// them: that a page of this site sent the form is all that is asked, and a colour all that can be
// changed.
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

// localPath is path when it leads to a page of this site, and otherwise the fallback. What browsers
// read as another host (a second slash, a backslash, a control character that they leave out) is
// none.
func localPath(path, otherwise string) string {
	switch {
	case !strings.HasPrefix(path, "/"), strings.HasPrefix(path, "//"), len(path) > longestPath:
		return otherwise
	case strings.ContainsFunc(path, func(c rune) bool { return c < ' ' || c == '\\' || c == 0x7f }):
		return otherwise
	}
	return path
}
