package console

import (
	"net/http"
	"slices"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/service"
)

// pathUnsubscribe is the path of unsubscribe links in mails (outbox.UnsubscribePath).
const pathUnsubscribe = "/unsubscribe"

// topicWords describe the mails of a topic.
var topicWords = map[account.Topic]string{
	account.TopicUsage: "usage", account.TopicIncidents: "incidents", account.TopicPacks: "expiring packs",
}

// showUnsubscribe shows the button that stops mails. Mail scanners follow links but do not press
// buttons.
func (v *request) showUnsubscribe() error {
	v.hideReferrer()
	token := v.r.URL.Query().Get("token")
	shown, err := ask(v, v.Calls.ShowUnsubscribe, service.UnsubscribeInput{Token: token})
	if err != nil {
		return v.overStop(err)
	}
	return v.show(http.StatusOK, linkPage{
		Heading: "Stop mails about " + topicWords[shown.Topic], Action: pathUnsubscribe, Token: token,
		Button: "Stop these mails", Text: "For " + shown.Email +
			", in every account. Mails about signing in, payments and keys are still sent.",
	})
}

// overStop shows the page for an invalid link.
func (v *request) overStop(err error) error {
	wrong := mistakesOf(err, "token")
	if wrong == nil {
		return err
	}
	return v.show(http.StatusUnprocessableEntity, errorPage{
		Heading: "This link does not work", Notice: notice{Tone: warn, Text: wrong["token"] + wrong[""]}, Public: true,
		Back: link{"Choose your mails in the settings", pathSettings + "#mails"},
	})
}

// stopMails is POST /unsubscribe. The token in the URL is all that it needs. There is no CSRF
// token, because mail programs post without cookies and without loading a page first (RFC 8058,
// section 3.2). A forger would need the link.
func (p *Pages) stopMails(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", pageCaching)
	v := p.newRequest(w, r)
	if err := v.unsubscribe(); err != nil { //nolint:contextcheck // v has the request and its context
		v.fail(err)
	}
}

func (v *request) unsubscribe() error {
	v.hideReferrer()
	token := v.r.URL.Query().Get("token") // a mail program's body is constant
	if token == "" {
		v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxFormBytes)
		if err := v.r.ParseForm(); err != nil {
			return &refusal{
				status: http.StatusBadRequest, heading: "The form could not be read",
				text: "Open the link of the mail again.", cause: err,
			}
		}
		token = v.r.PostForm.Get("token")
	}
	stopped, err := ask(v, v.Calls.Unsubscribe, service.UnsubscribeInput{Token: token})
	if err != nil {
		return v.overStop(err)
	}
	return v.show(http.StatusOK, errorPage{
		Heading: "These mails are stopped", Public: true, Back: link{
			"Choose your mails in the settings", pathSettings + "#mails",
		},
		Notice: notice{
			Tone: good, Text: stopped.Email + " gets no more mails about " + topicWords[stopped.Topic] + ".",
		},
	})
}

// mailChecks are the mails that a user can receive.
func mailChecks(wanted []account.Topic) []check {
	box := func(topic account.Topic, label, rule string) check {
		return check{
			ID: "topic-" + string(topic), Name: "topics", Value: string(topic), Label: label, Rule: rule,
			Checked: slices.Contains(wanted, topic),
		}
	}
	return []check{
		box(account.TopicUsage, "Usage", "As chosen for the account above."),
		box(account.TopicIncidents, "Incidents", "As chosen for the account above."),
		box(account.TopicPacks, "Expiring packs", "30 and 7 days before."),
	}
}

// saveMails saves which mails the user receives.
func (v *request) saveMails() error {
	wanted := make([]account.Topic, 0, len(account.Topics()))
	for _, name := range v.r.PostForm["topics"] {
		wanted = append(wanted, account.Topic(name))
	}
	if _, err := ask(v, v.Calls.ChooseMailTopics, service.ChooseMailTopicsInput{Topics: wanted}); err != nil {
		return err
	}
	return v.saved("Your mails", "mails")
}
