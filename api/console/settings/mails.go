package settings

import (
	"net/http"
	"slices"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/service/accounts"
)

// pathUnsubscribe is the path of unsubscribe links in mails (outbox.UnsubscribePath).
const pathUnsubscribe = "/unsubscribe"

// topicWords describe the mails of a topic.
var topicWords = map[account.Topic]string{
	account.TopicUsage: "usage", account.TopicIncidents: "incidents", account.TopicPacks: "expiring packs",
}

// showUnsubscribe shows the button that stops mails. Mail scanners follow links but do not press
// buttons.
func showUnsubscribe(v *site.Request) error {
	v.HideReferrer()
	token := v.R.URL.Query().Get("token")
	shown, err := site.Ask(v, v.Calls.ShowUnsubscribe, accounts.UnsubscribeInput{Token: token})
	if err != nil {
		return overStop(v, err)
	}
	return v.Show(http.StatusOK, view.LinkPage{
		Heading: "Stop mails about " + topicWords[shown.Topic], Action: pathUnsubscribe, Token: token,
		Button: "Stop these mails", Text: "For " + shown.Email +
			", in every account. Mails about signing in, payments and keys are still sent.",
	})
}

// overStop shows the page for an invalid link.
func overStop(v *site.Request, err error) error {
	wrong := site.MistakesOf(err, "token")
	if wrong == nil {
		return err
	}
	return v.Show(http.StatusUnprocessableEntity, view.ErrorPage{
		Heading: "This link does not work", Notice: view.Notice{Tone: view.Warn, Text: wrong["token"] + wrong[""]},
		Public: true,
		Back:   view.Link{Text: "Choose your mails in the settings", To: paths.Settings + "#mails"},
	})
}

// unsubscribe is POST /unsubscribe. The token in the URL is all that it needs. There is no CSRF
// token, because mail programs post without cookies and without loading a page first (RFC 8058,
// section 3.2). A forger would need the link.
func unsubscribe(v *site.Request) error {
	v.HideReferrer()
	token := v.R.URL.Query().Get("token") // a mail program's body is constant
	if token == "" {
		v.R.Body = http.MaxBytesReader(v.W, v.R.Body, site.MaxFormBytes)
		if err := v.R.ParseForm(); err != nil {
			return &site.PageError{
				Status: http.StatusBadRequest, Heading: "The form could not be read",
				Text: "Open the link of the mail again.", Cause: err,
			}
		}
		token = v.R.PostForm.Get("token")
	}
	stopped, err := site.Ask(v, v.Calls.Unsubscribe, accounts.UnsubscribeInput{Token: token})
	if err != nil {
		return overStop(v, err)
	}
	return v.Show(http.StatusOK, view.ErrorPage{
		Heading: "These mails are stopped", Public: true, Back: view.Link{
			Text: "Choose your mails in the settings", To: paths.Settings + "#mails",
		},
		Notice: view.Notice{
			Tone: view.Good, Text: stopped.Email + " gets no more mails about " + topicWords[stopped.Topic] + ".",
		},
	})
}

// mailChecks are the mails that a user can receive.
func mailChecks(wanted []account.Topic) []view.Check {
	box := func(topic account.Topic, label, rule string) view.Check {
		return view.Check{
			ID: "topic-" + string(topic), Name: "topics", Value: string(topic), Label: label, Rule: rule,
			Checked: slices.Contains(wanted, topic),
		}
	}
	return []view.Check{
		box(account.TopicUsage, "Usage", "As chosen for the account above."),
		box(account.TopicIncidents, "Incidents", "As chosen for the account above."),
		box(account.TopicPacks, "Expiring packs", "30 and 7 days before."),
	}
}

// saveMails saves which mails the user receives.
func saveMails(v *site.Request) error {
	wanted := make([]account.Topic, 0, len(account.Topics()))
	for _, name := range v.R.PostForm["topics"] {
		wanted = append(wanted, account.Topic(name))
	}
	if _, err := site.Ask(v, v.Calls.ChooseMailTopics, accounts.ChooseMailTopicsInput{Topics: wanted}); err != nil {
		return err
	}
	return saved(v, "Your mails", "mails")
}
