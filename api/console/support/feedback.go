package support

import (
	"net/http"
	"strings"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/tickets"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/relay/chain"
	ticketing "github.com/chainaccess/gateway/service/tickets"
)

const feedbackPerPage = 50

// feedbackTyped is what a user typed as feedback.
type feedbackTyped struct{ kind, title, body, chain string }

// listFeedback shows the form and the user's earlier feedback, newest first.
func listFeedback(v *site.Request) error { return showFeedback(v, http.StatusOK, feedbackTyped{}, nil) }

func showFeedback(v *site.Request, code int, typed feedbackTyped, wrong site.Mistakes) error {
	query := v.R.URL.Query()
	chosen, cursor := query.Get(view.StatusField), query.Get(view.CursorField)
	p := feedbackPage{
		Kind:  view.Choose("kind", "Kind", tickets.FeedbackKinds, typed.kind, wrong["kind"]),
		Chain: view.Choose("chain", "Chain", servedChains(v.Known), typed.chain, wrong["chain"]),
		Title: view.Field{
			Name: "title", Label: "Title", Required: true, Most: ticket.MaxSubject, Value: typed.title,
			Error: wrong["title"], Rule: "In one line.",
		},
		Body: view.Area{
			Name: "body", Label: "More about it", Value: typed.body, Error: wrong["body"], Most: ticket.MaxMessage,
			Rows: 4, Rule: "Plain text, up to 5,000 characters. No files.",
		},
		Filters: view.FiltersOf(pathFeedback, append([][2]string{{"", "All"}}, tickets.FeedbackStatuses...), chosen),
	}
	given, err := site.Ask(v, v.Calls.ListFeedback, ticketing.ListFeedbackInput{
		Status: chosen, Cursor: cursor, Limit: feedbackPerPage,
	})
	if refused := site.MistakesOf(err, view.StatusField, view.CursorField); refused != nil {
		p.Empty = &view.Empty{
			Title: "The list cannot be shown", Text: refused[view.StatusField] + refused[view.CursorField] +
				refused[""],
			Action: &view.Link{Text: "To all feedback", To: pathFeedback},
		}
		return v.Show(http.StatusUnprocessableEntity, p)
	}
	if err != nil {
		return err
	}
	if p.Form, err = v.FormID(wrong); err != nil {
		return err
	}
	for i := range given.Feedback {
		p.Given = append(p.Given, tickets.FeedbackOf(v.Reader, &given.Feedback[i]))
	}
	if given.NextCursor != "" {
		p.Older = view.PageAt(pathFeedback, chosen, given.NextCursor)
	}
	if cursor != "" {
		p.Newest = view.PageAt(pathFeedback, chosen, "")
	}
	if len(p.Given) == 0 {
		p.Empty = &view.Empty{Title: "No feedback yet", Text: "What you send appears here with its status."}
		if chosen != "" {
			p.Empty = &view.Empty{Title: "No feedback with this status", Text: "Choose another status above."}
		}
	}
	return v.Show(code, p, wrong.Notices()...)
}

func servedChains(known *chain.Set) [][2]string {
	choices := [][2]string{{"", "None in particular"}}
	for _, c := range known.All() {
		choices = append(choices, [2]string{string(c.ID), c.Title})
	}
	return choices
}

// giveFeedback records feedback.
func giveFeedback(v *site.Request) error {
	form := v.R.PostForm
	typed := feedbackTyped{
		kind: form.Get("kind"), title: strings.TrimSpace(form.Get("title")), body: site.UnixLines(form.Get("body")),
		chain: form.Get("chain"),
	}
	_, err := site.Ask(v, v.Calls.SubmitFeedback, ticketing.SubmitFeedbackInput{
		Kind: typed.kind, Title: typed.title, Body: typed.body, Chain: typed.chain, Form: form.Get(site.FormField),
	})
	if wrong := site.MistakesOf(err, "kind", "title", "body", "chain", site.FormField); wrong != nil {
		return showFeedback(v, http.StatusUnprocessableEntity, typed, wrong)
	}
	if err != nil {
		return err
	}
	v.Flash(view.Good, "Feedback sent", "The people who build the service read it. Its status appears below.")
	return v.Redirect(pathFeedback)
}
