package signin

import (
	"net/http"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/service/tickets"
)

// pathEntries is the path of links in mails that confirm what an e-mail address was entered for
// (support.EntryPath).
const pathEntries = "/entries"

// entryPage shows what an address was entered for, with a button for each action. Mail scanners do
// not press buttons.
type entryPage struct {
	Heading, Text string
	Token         string      // of the link
	Confirm       string      // label of the button that confirms; empty for none
	News          *view.Check // next to that button
	Leave         string      // label of the button that deletes the address; empty for none
	LeaveMeans    string
	Done          *view.Notice // the result of an action
}

func (p entryPage) Head() view.Head {
	return view.Head{Template: "entry", Title: p.Heading, Bare: true, Scripts: []string{view.ScriptForms}}
}

// showEntry shows what the link is for.
func showEntry(v *site.Request) error {
	hideEntry(v)
	token := v.R.URL.Query().Get("token")
	shown, err := site.Ask(v, v.Calls.ShowEntry, tickets.EntryInput{Token: token})
	if err != nil {
		return overEntry(v, err)
	}
	return v.Show(http.StatusOK, newEntryPage(&shown, token, nil))
}

// changeEntry performs the action of a button. It is idempotent.
func changeEntry(v *site.Request) error {
	hideEntry(v)
	form := v.R.PostForm
	token := form.Get("token")
	var shown tickets.ShownEntry
	var err error
	var done string
	switch form.Get("do") {
	case "confirm":
		shown, err = site.Ask(v, v.Calls.ConfirmEntry, tickets.ConfirmEntryInput{
			Token: token, ProductUpdates: form.Get("product_updates") != "",
		})
		done = "Confirmed. " + newsWords(shown.ProductUpdates)
	case "leave":
		shown, err = site.Ask(v, v.Calls.LeaveEntry, tickets.EntryInput{Token: token})
		done = "Done. The address was deleted."
	default:
		return &site.PageError{
			Status: http.StatusBadRequest, Heading: "The form could not be read",
			Text: "Open the link of the mail again, and press one of its buttons.",
		}
	}
	if err != nil {
		return overEntry(v, err)
	}
	return v.Show(http.StatusOK, newEntryPage(&shown, token, &view.Notice{Tone: view.Good, Text: done}))
}

// hideEntry keeps the page, whose URL holds a token, from search engines and out of the Referer
// header.
func hideEntry(v *site.Request) {
	v.HideReferrer()
	v.W.Header().Set("X-Robots-Tag", "noindex")
}

// overEntry shows the page for a link that is invalid or has expired.
func overEntry(v *site.Request, err error) error {
	wrong := site.MistakesOf(err, "token")
	if wrong == nil {
		return err
	}
	return v.Show(http.StatusUnprocessableEntity, view.ErrorPage{
		Heading: "This link does not work", Notice: view.Notice{Tone: view.Warn, Text: wrong["token"] + wrong[""]},
		Public: true,
		Back:   view.Link{Text: "To the home page", To: "/"},
	})
}

func newsWords(wanted bool) string {
	if wanted {
		return "You get a mail when access opens, and product news."
	}
	return "You get a mail when access opens, and nothing else."
}

func newEntryPage(e *tickets.ShownEntry, token string, done *view.Notice) entryPage {
	p := entryPage{Token: token, Done: done}
	news := &view.Check{
		ID: "product_updates", Name: "product_updates", Value: "yes", Label: "Also send product news",
		Checked: e.ProductUpdates, Rule: "Without it, you only get a mail when access opens.",
	}
	switch e.Status {
	case "waiting":
		p.Heading, p.Confirm, p.News = "Confirm your place on the waitlist", "Confirm", news
		p.Text = "Someone put " + e.Email + " on our waitlist on " + e.EnteredAt.UTC().Format(view.DayLayout) + "."
		p.Leave, p.LeaveMeans = "Take the address off", "Deletes the address. Nobody else can put it back."
	case "confirmed", "invited":
		p.Heading, p.Confirm, p.News = "You are on the waitlist", "Save", news
		p.Text = e.Email + " is confirmed."
		p.Leave, p.LeaveMeans = "Take the address off", "Deletes the address. Nobody else can put it back."
	case "left":
		p.Heading, p.Confirm, p.News = "You are not on the waitlist", "Put it back on", news
		p.Text = e.Email + " was removed from the waitlist and deleted. You can put it back while this link works."
	case "asked":
		p.Heading, p.Leave = "Withdraw your request", "Withdraw"
		p.Text = view.Number(int64(e.Wishes)) + " " + view.Plural(int64(e.Wishes), "request") +
			" for an enterprise agreement came with " + e.Email + "."
		p.LeaveMeans = "Deletes the address and the request, so nobody answers it. There is nothing to confirm: to " +
			"get an answer, do nothing."
	default:
		p.Heading = "There is no open request"
		p.Text = "There is no request for an enterprise agreement from " + e.Email + "."
	}
	return p
}
