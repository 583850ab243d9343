package console

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

// Lifetimes of cookies. The database decides when a session or a sign-in expires, which may be
// earlier.
const (
	signInLifetime  = 15 * time.Minute
	sessionLifetime = 90 * 24 * time.Hour
)

const signInMinutes = int(signInLifetime / time.Minute)

func emailField(value, wrong string) field {
	return field{
		Name: "email", Label: "E-mail address", Type: "email", Required: true, Complete: "email", Autofocus: true,
		Most: 254, Value: value, Error: wrong,
	}
}

// signIn asks for an e-mail address. The form carries the path to return to.
func (v *request) signIn() error {
	next := localPath(v.r.URL.Query().Get("next"), "")
	if v.jar.get(v.r, sessionCookie) != "" {
		if _, err := ask(v, v.Calls.ShowSession, service.Nothing{}); err == nil {
			return v.redirect(localPath(next, pathOverview))
		}
	}
	return v.show(http.StatusOK, signInPage{Email: emailField("", ""), Next: next, Then: thenWords(next)})
}

// thenWords describes where a sign-in leads when it is not the overview.
func thenWords(next string) string {
	if strings.HasPrefix(next, pathAgents) {
		return "You then return here to adopt the agent's key."
	}
	return ""
}

// startSignIn sends the mail. The answer is the same for known and unknown addresses.
func (v *request) startSignIn() error {
	email, next := v.r.PostForm.Get("email"), localPath(v.r.PostForm.Get("next"), "")
	started, err := ask(v, v.Calls.StartSignIn, service.StartSignInInput{Email: email, ReturnTo: next})
	if wrong := mistakesOf(err, "email"); wrong != nil {
		if text, ok := wrong[""]; ok {
			wrong["email"] = text
		}
		return v.show(http.StatusUnprocessableEntity, signInPage{
			Email: emailField(email, wrong["email"]), Next: next, Then: thenWords(next),
		})
	}
	if err != nil {
		return err
	}
	v.jar.set(v.w, signInCookie, signInUnderWay(started.BrowserToken, email), signInLifetime)
	return v.redirect("/sign-in/code")
}

// signInUnderWay returns the cookie that the browser keeps until the code is entered: the value
// that is needed with the code, and the address to show.
func signInUnderWay(browser, email string) string {
	return browser + "." + base64.RawURLEncoding.EncodeToString([]byte(email))
}

// underWay returns the sign-in that waits in this browser.
func (v *request) underWay() (browser, email string) {
	browser, encoded, _ := strings.Cut(v.jar.get(v.r, signInCookie), ".")
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return "", ""
	}
	return browser, string(text)
}

func (v *request) codePage(email, wrong string) codePage {
	return codePage{Email: email, Minutes: signInMinutes, DevMail: v.DevMail, Code: field{
		Name: "code", Label: "Code", Required: true, Mode: "numeric", Complete: "one-time-code", Pattern: "[0-9 ]{6,8}",
		Most: 8, Autofocus: true, Rule: "Six digits.", Error: wrong,
	}}
}

// askCode asks for the code in the mail.
func (v *request) askCode() error {
	_, email := v.underWay()
	if email == "" {
		return v.redirect(pathSignIn)
	}
	return v.show(http.StatusOK, v.codePage(email, ""))
}

// finishByCode signs in with the code in the mail.
func (v *request) finishByCode() error {
	browser, email := v.underWay()
	if browser == "" {
		return v.redirect(pathSignIn)
	}
	entered, err := ask(v, v.Calls.FinishByCode, service.SignInCodeInput{
		BrowserToken: browser, Code: v.r.PostForm.Get("code"),
	})
	if wrong := mistakesOf(err, "code"); wrong != nil {
		return v.show(http.StatusUnprocessableEntity, v.codePage(email, wrong["code"]+wrong[""]))
	}
	if err != nil {
		return err
	}
	return v.entered(entered)
}

// entered sets the browser's session, replacing any other, and redirects.
func (v *request) entered(e service.Entered) error {
	v.jar.set(v.w, sessionCookie, e.SessionToken, sessionLifetime)
	v.jar.drop(v.w, signInCookie)
	v.jar.drop(v.w, visitorCookie)
	return v.redirect(localPath(e.ReturnTo, pathOverview))
}

// hideReferrer keeps a URL that holds a token out of the Referer header.
func (v *request) hideReferrer() { v.w.Header().Set("Referrer-Policy", referrerNever) }

// showLink shows a button. Mail scanners follow links but do not press buttons.
func (v *request) showLink() error {
	v.hideReferrer()
	token := v.r.URL.Query().Get("token")
	shown, err := ask(v, v.Calls.ShowLink, service.SignInLinkInput{Token: token})
	if err != nil {
		return v.overLink(err)
	}
	return v.show(http.StatusOK, linkPage{
		Heading: "Sign in", Text: "As " + shown.Email + ", in this browser.", Action: pathSignInLink, Token: token,
		Button: "Sign in",
	})
}

// finishByLink signs in with the link in the mail, which works once.
func (v *request) finishByLink() error {
	v.hideReferrer()
	entered, err := ask(v, v.Calls.FinishByLink, service.SignInLinkInput{Token: v.r.PostForm.Get("token")})
	if err != nil {
		return v.overLink(err)
	}
	return v.entered(entered)
}

// overLink shows the page for a link that does not work any more, with a way to get a new one.
func (v *request) overLink(err error) error {
	wrong := mistakesOf(err, "token")
	if wrong == nil {
		return err
	}
	return v.show(http.StatusUnprocessableEntity, errorPage{
		Heading: "This link does not work", Notice: notice{Tone: warn, Text: wrong["token"] + wrong[""]}, Public: true,
		Back: link{"Sign in", pathSignIn},
	})
}

// showInvitation shows who invites whom to which account, with a button that accepts.
func (v *request) showInvitation() error {
	v.hideReferrer()
	token := v.r.URL.Query().Get("token")
	shown, err := ask(v, v.Calls.ShowInvitation, service.InvitationLinkInput{Token: token})
	if err != nil {
		return v.overLink(err)
	}
	return v.show(http.StatusOK, linkPage{
		Heading: "Join " + accountTitle(shown.AccountName, "an account"), Action: pathAccept, Token: token,
		Button: "Join as " + shown.Email,
		Text: shown.InvitedBy + " invites you to work with this account as " + roleWords[shown.Role] +
			". Joining signs you in here as " + shown.Email + ".",
	})
}

// acceptInvitation makes the invited person a member. It signs in a new user; an existing one signs
// in first and comes back.
func (v *request) acceptInvitation() error {
	v.hideReferrer()
	token := v.r.PostForm.Get("token")
	entered, err := ask(v, v.Calls.AcceptInvitation, service.InvitationLinkInput{Token: token})
	if refusedFor(err, fault.KeyInvalid) {
		if _, signedOut := ask(v, v.Calls.ShowSession, service.Nothing{}); signedOut == nil {
			return v.show(http.StatusConflict, errorPage{
				Heading: "This invitation is for another address",
				Public:  true, Back: link{"Overview", pathOverview}, Notice: notice{
					Tone: warn, Text: "You are signed in with another address than the invited one. Sign out, open " +
						"the link again, and sign in with the invited address.",
				},
			})
		}
		return v.redirect(pathSignIn + "?next=" + url.QueryEscape(pathAccept+"?token="+url.QueryEscape(token)))
	}
	if err != nil {
		return v.overLink(err)
	}
	return v.entered(entered)
}

// signOut ends the session, if there is one, and drops the key that asks support.
func (v *request) signOut() error {
	if _, err := ask(v, v.Calls.SignOut, service.Nothing{}); err != nil && !refusedFor(err, fault.KeyInvalid) {
		return err
	}
	v.jar.drop(v.w, sessionCookie)
	v.dropKey()
	return v.redirect("/")
}

// switchAccount switches the session to another account.
func (v *request) switchAccount() error {
	if _, err := ask(v, v.Calls.SwitchAccount, service.SwitchAccountInput{
		AccountID: v.r.PostForm.Get("account"),
	}); err != nil {
		return err
	}
	return v.redirect(pathOverview)
}
