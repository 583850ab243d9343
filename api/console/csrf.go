package console

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/chainaccess/gateway/service"
)

// Every change by a browser is guarded three times against requests that another site forged:
// cookies are SameSite=Lax, the request's Origin and Sec-Fetch-Site must be ours where the browser
// sends them, and the form carries a token that hangs on a cookie (the session's, or before sign-in
// a random one) and on the account that the page was of: a page that was left open while the
// session moved to another account changes nothing there.

const (
	// tokenField is the hidden field of every form.
	tokenField = "csrf"
	// maxFormBytes bounds a form; the largest, the settings, has a tenth of it.
	maxFormBytes  = 64 << 10
	visitorBytes  = 32
	forgeryDomain = "csrf"
)

const (
	forgedText = "This form did not come from a page of this site, so nothing was done. Open the page here and send " +
		"the form again."
	filesText = "Files cannot be uploaded here, so nothing was done. Go back and paste the relevant part into the " +
		"message, up to 5,000 characters; for calls, their request ids are enough."
	movedText = "You have switched to another account since you opened it, so nothing was done. Switch back, or open " +
		"the page again in this account and send the form again."
	staleText = "Its session has ended, or your browser blocks cookies, so nothing was done. Reload the page and send " +
		"the form again."
)

// csrfToken is what forms carry: the account that the page is of, empty for none, and a digest
// of it under the cookie, so that reading a page does not give the cookie away.
func csrfToken(cookie, account string) string {
	return maskedToken(cookie, account, [sha256.Size]byte{})
}

// maskedToken is forgeryToken under a mask that is another one on every page, and is part of it:
// pages are compressed, and what is the same on each could be guessed from how well they are.
func maskedToken(cookie, account string, mask [sha256.Size]byte) string {
	mac := hmac.New(sha256.New, []byte(cookie))
	mac.Write([]byte(forgeryDomain + account))
	masked := make([]byte, sha256.Size)
	subtle.XORBytes(masked, mask[:], mac.Sum(nil))
	return account + "." + base64.RawURLEncoding.EncodeToString(append(mask[:], masked...))
}

// isToken reports whether a form's token is one of the cookie, and gives the account that its page
// was of.
func isToken(token, cookie string) (account string, ok bool) {
	account, given, formed := unmasked(token)
	if !formed || cookie == "" {
		return account, false
	}
	return account, hmac.Equal([]byte(token), []byte(maskedToken(cookie, account, [sha256.Size]byte(given))))
}

// unmasked takes a form's token apart: the account, and the mask with what is masked. False for
// what was never a token.
func unmasked(token string) (account string, digest []byte, ok bool) {
	account, text, _ := strings.Cut(token, ".")
	digest, err := base64.RawURLEncoding.DecodeString(text)
	return account, digest, err == nil && len(digest) == 2*sha256.Size
}

// newVisitor makes the random value of a visitor's cookie.
func newVisitor(random io.Reader) (string, error) {
	value := make([]byte, visitorBytes)
	if _, err := io.ReadFull(random, value); err != nil {
		return "", fmt.Errorf("make a visitor's cookie: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(value), nil
}

// csrfCookie is the cookie that this browser's tokens hang on; empty when it has none.
func (j jar) csrfCookie(r *http.Request) string {
	if session := j.get(r, sessionCookie); session != "" {
		return session
	}
	return j.get(r, visitorCookie)
}

// checkChange refuses a request that changes something unless a page of this site sent it, and
// gives the account that the page was of. It reads the form, bounded.
func (p *Pages) checkChange(w http.ResponseWriter, r *http.Request) (account string, err error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return "", nil
	}
	if err := p.readForm(w, r); err != nil {
		return "", err
	}
	account, ok := isToken(r.PostForm.Get(tokenField), p.jar.csrfCookie(r))
	if !ok {
		return "", errStaleForm
	}
	return account, nil
}

// readForm reads a form that this site's page sent, bounded, and refuses those of others.
func (p *Pages) readForm(w http.ResponseWriter, r *http.Request) error {
	if err := p.foreign.Check(r); err != nil {
		return &refusal{status: http.StatusForbidden, heading: "Not sent from here", text: forgedText, cause: err}
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		return &refusal{status: http.StatusUnsupportedMediaType, heading: "Files are not accepted", text: filesText}
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	if err := r.ParseForm(); err != nil {
		return &refusal{
			status: http.StatusBadRequest, heading: "The form could not be read",
			text: "Reload the page and send the form again.", cause: err,
		}
	}
	return nil
}

// errStaleForm is for forms whose token hangs on another cookie than the browser's.
var errStaleForm = errors.New("the form's token is of another cookie")

// sentAgain answers a stale form. It leads on who pressed a button twice that signs in: the first
// time gave the browser another cookie, so that its form is stale by now, though what it asks for
// is done. A link that works still was not used, and its form is as stale as others. Nothing is
// done here.
func (v *request) sentAgain() error {
	stale := &refusal{
		status: http.StatusForbidden, heading: "This page is too old", text: staleText, cause: errStaleForm,
	}
	_, _, formed := unmasked(v.r.PostForm.Get(tokenField))
	if !formed || v.r.URL.Path != pathSignInLink && v.r.URL.Path != pathAccept {
		return stale
	}
	known, err := v.enter()
	switch {
	case err != nil:
		return err
	case !known || mistakesOf(v.linkNow(), "token") == nil:
		return stale
	}
	return v.redirect(pathOverview)
}

// linkNow is why the link of a form works no more; nil while it does.
func (v *request) linkNow() (err error) {
	token := v.r.PostForm.Get("token")
	if v.r.URL.Path == pathAccept {
		_, err = ask(v, v.Calls.ShowInvitation, service.InvitationLinkInput{Token: token})
	} else {
		_, err = ask(v, v.Calls.ShowLink, service.SignInLinkInput{Token: token})
	}
	return err
}
