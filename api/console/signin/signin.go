package signin

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/accounts"
	"github.com/chainaccess/gateway/service/operation"
)

// Lifetimes of cookies. The database decides when a session or a sign-in expires, which may be
// earlier.
const (
	signInLifetime  = 15 * time.Minute
	sessionLifetime = 90 * 24 * time.Hour
)

// signInCookie is the cookie of a sign-in that waits for its code.
const signInCookie = "signin"

const signInMinutes = int(signInLifetime / time.Minute)

func emailField(value, wrong string) view.Field {
	return view.Field{
		Name: "email", Label: "E-mail address", Type: "email", Required: true, Complete: "email", Autofocus: true,
		Most: 254, Value: value, Error: wrong,
	}
}

// showSignIn asks for an e-mail address. The form carries the path to return to.
func showSignIn(v *site.Request) error {
	next := paths.Local(v.R.URL.Query().Get("next"), "")
	if v.Cookie(site.SessionCookie) != "" {
		if _, err := site.Ask(v, v.Calls.ShowSession, operation.Nothing{}); err == nil {
			return v.Redirect(paths.Local(next, paths.Overview))
		}
	}
	return v.Show(http.StatusOK, signInPage{Email: emailField("", ""), Next: next, Then: thenWords(next)})
}

// thenWords describes where a sign-in leads when it is not the overview.
func thenWords(next string) string {
	if strings.HasPrefix(next, paths.Agents) {
		return "You then return here to adopt the agent's key."
	}
	return ""
}

// startSignIn sends the mail. The answer is the same for known and unknown addresses.
func startSignIn(v *site.Request) error {
	email, next := v.R.PostForm.Get("email"), paths.Local(v.R.PostForm.Get("next"), "")
	started, err := site.Ask(v, v.Calls.StartSignIn, accounts.StartSignInInput{Email: email, ReturnTo: next})
	if wrong := site.MistakesOf(err, "email"); wrong != nil {
		if text, ok := wrong[""]; ok {
			wrong["email"] = text
		}
		return v.Show(http.StatusUnprocessableEntity, signInPage{
			Email: emailField(email, wrong["email"]), Next: next, Then: thenWords(next),
		})
	}
	if err != nil {
		return err
	}
	v.SetCookie(signInCookie, signInUnderWay(started.BrowserToken, email), signInLifetime)
	return v.Redirect("/sign-in/code")
}

// signInUnderWay returns the cookie that the browser keeps until the code is entered: the value
// that is needed with the code, and the address to show.
func signInUnderWay(browser, email string) string {
	return browser + "." + base64.RawURLEncoding.EncodeToString([]byte(email))
}

// underWay returns the sign-in that waits in this browser.
func underWay(v *site.Request) (browser, email string) {
	browser, encoded, _ := strings.Cut(v.Cookie(signInCookie), ".")
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return "", ""
	}
	return browser, string(text)
}

func codePageOf(v *site.Request, email, wrong string) codePage {
	return codePage{Email: email, Minutes: signInMinutes, DevMail: v.DevMail, Code: view.Field{
		Name: "code", Label: "Code", Required: true, Mode: "numeric", Complete: "one-time-code", Pattern: "[0-9 ]{6,8}",
		Most: 8, Autofocus: true, Rule: "Six digits.", Error: wrong,
	}}
}

// askCode asks for the code in the mail.
func askCode(v *site.Request) error {
	_, email := underWay(v)
	if email == "" {
		return v.Redirect(paths.SignIn)
	}
	return v.Show(http.StatusOK, codePageOf(v, email, ""))
}

// finishByCode signs in with the code in the mail.
func finishByCode(v *site.Request) error {
	browser, email := underWay(v)
	if browser == "" {
		return v.Redirect(paths.SignIn)
	}
	entered, err := site.Ask(v, v.Calls.FinishByCode, accounts.SignInCodeInput{
		BrowserToken: browser, Code: v.R.PostForm.Get("code"),
	})
	if wrong := site.MistakesOf(err, "code"); wrong != nil {
		return v.Show(http.StatusUnprocessableEntity, codePageOf(v, email, wrong["code"]+wrong[""]))
	}
	if err != nil {
		return err
	}
	return enter(v, entered)
}

// enter sets the browser's session, replacing any other, and redirects.
func enter(v *site.Request, e accounts.Entered) error {
	v.SetCookie(site.SessionCookie, e.SessionToken, sessionLifetime)
	v.DropCookie(signInCookie)
	v.DropCookie(site.VisitorCookie)
	return v.Redirect(paths.Local(e.ReturnTo, paths.Overview))
}

// showLink shows a button. Mail scanners follow links but do not press buttons.
func showLink(v *site.Request) error {
	v.HideReferrer()
	token := v.R.URL.Query().Get("token")
	shown, err := site.Ask(v, v.Calls.ShowLink, accounts.SignInLinkInput{Token: token})
	if err != nil {
		return overLink(v, err)
	}
	return v.Show(http.StatusOK, view.LinkPage{
		Heading: "Sign in", Text: "As " + shown.Email + ", in this browser.", Action: paths.SignInLink, Token: token,
		Button: "Sign in",
	})
}

// finishByLink signs in with the link in the mail, which works once.
func finishByLink(v *site.Request) error {
	v.HideReferrer()
	entered, err := site.Ask(v, v.Calls.FinishByLink, accounts.SignInLinkInput{Token: v.R.PostForm.Get("token")})
	if err != nil {
		return overLink(v, err)
	}
	return enter(v, entered)
}

// overLink shows the page for a link that does not work any more, with a way to get a new one.
func overLink(v *site.Request, err error) error {
	wrong := site.MistakesOf(err, "token")
	if wrong == nil {
		return err
	}
	return v.Show(http.StatusUnprocessableEntity, view.ErrorPage{
		Heading: "This link does not work", Notice: view.Notice{Tone: view.Warn, Text: wrong["token"] + wrong[""]},
		Public: true,
		Back:   view.Link{Text: "Sign in", To: paths.SignIn},
	})
}

// showInvitation shows who invites whom to which account, with a button that accepts.
func showInvitation(v *site.Request) error {
	v.HideReferrer()
	token := v.R.URL.Query().Get("token")
	shown, err := site.Ask(v, v.Calls.ShowInvitation, accounts.InvitationLinkInput{Token: token})
	if err != nil {
		return overLink(v, err)
	}
	return v.Show(http.StatusOK, view.LinkPage{
		Heading: "Join " + view.AccountTitle(shown.AccountName, "an account"), Action: paths.Accept, Token: token,
		Button: "Join as " + shown.Email,
		Text: shown.InvitedBy + " invites you to work with this account as " + view.RoleWords[shown.Role] +
			". Joining signs you in here as " + shown.Email + ".",
	})
}

// acceptInvitation makes the invited person a member. It signs in a new user; an existing one signs
// in first and comes back.
func acceptInvitation(v *site.Request) error {
	v.HideReferrer()
	token := v.R.PostForm.Get("token")
	entered, err := site.Ask(v, v.Calls.AcceptInvitation, accounts.InvitationLinkInput{Token: token})
	if site.RefusedFor(err, fault.KeyInvalid) {
		if _, signedOut := site.Ask(v, v.Calls.ShowSession, operation.Nothing{}); signedOut == nil {
			return v.Show(http.StatusConflict, view.ErrorPage{
				Heading: "This invitation is for another address",
				Public:  true, Back: view.Link{Text: "Overview", To: paths.Overview}, Notice: view.Notice{
					Tone: view.Warn,
					Text: "You are signed in with another address than the invited one. Sign out, open the link " +
						"again, and sign in with the invited address.",
				},
			})
		}
		return v.Redirect(paths.SignIn + "?next=" + url.QueryEscape(paths.Accept+"?token="+url.QueryEscape(token)))
	}
	if err != nil {
		return overLink(v, err)
	}
	return enter(v, entered)
}

// signOut ends the session, if there is one, and drops the key that asks support.
func signOut(v *site.Request) error {
	if _, err := site.Ask(v, v.Calls.SignOut, operation.Nothing{}); err != nil &&
		!site.RefusedFor(err, fault.KeyInvalid) {
		return err
	}
	v.DropCookie(site.SessionCookie)
	v.DropKey()
	return v.Redirect("/")
}

// switchAccount switches the session to another account.
func switchAccount(v *site.Request) error {
	if _, err := site.Ask(v, v.Calls.SwitchAccount, accounts.SwitchAccountInput{
		AccountID: v.R.PostForm.Get("account"),
	}); err != nil {
		return err
	}
	return v.Redirect(paths.Overview)
}
