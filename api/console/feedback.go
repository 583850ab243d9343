package console

import (
	"net/http"
	"strings"

	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service"
)

// feedbackKinds are the kinds of feedback, in the order of the form.
var feedbackKinds = [][2]string{
	{"feature", "Feature request"},
	{"chain", "Chain to add"},
	{"praise", "Praise"},
	{"complaint", "Complaint"},
	{"other", "Other"},
}

// feedbackStatuses are the statuses of feedback, in the order of the page's filters.
var feedbackStatuses = [][2]string{
	{"new", "New"}, {"reviewed", "Reviewed"}, {"planned", "Planned"}, {"shipped", "Shipped"}, {"declined", "Declined"},
}

var feedbackTones = map[string]tone{"planned": warn, "shipped": good}

const feedbackPerPage = 50

// feedbackTyped is what a user typed as feedback.
type feedbackTyped struct{ kind, title, body, chain string }

// feedback shows the form and the user's earlier feedback, newest first.
func (v *request) feedback() error { return v.showFeedback(http.StatusOK, feedbackTyped{}, nil) }

func (v *request) showFeedback(code int, typed feedbackTyped, wrong mistakes) error {
	query := v.r.URL.Query()
	chosen, cursor := query.Get(statusField), query.Get(cursorField)
	p := feedbackPage{
		Kind:  choose("kind", "Kind", feedbackKinds, typed.kind, wrong["kind"]),
		Chain: choose("chain", "Chain", servedChains(), typed.chain, wrong["chain"]),
		Title: field{
			Name: "title", Label: "Title", Required: true, Most: ticket.MaxSubject, Value: typed.title,
			Error: wrong["title"], Rule: "In one line.",
		},
		Body: area{
			Name: "body", Label: "More about it", Value: typed.body, Error: wrong["body"], Most: ticket.MaxMessage,
			Rows: 4, Rule: "Plain text, up to 5,000 characters. No files.",
		},
		Filters: filtersOf(pathFeedback, append([][2]string{{"", "All"}}, feedbackStatuses...), chosen),
	}
	given, err := ask(v, v.Calls.ListFeedback, service.ListFeedbackInput{
		Status: chosen, Cursor: cursor, Limit: feedbackPerPage,
	})
	if refused := mistakesOf(err, statusField, cursorField); refused != nil {
		p.Empty = &empty{
			Title: "The list cannot be shown", Text: refused[statusField] + refused[cursorField] + refused[""],
			Action: &link{"To all feedback", pathFeedback},
		}
		return v.show(http.StatusUnprocessableEntity, p)
	}
	if err != nil {
		return err
	}
	if p.Form, err = v.formID(wrong); err != nil {
		return err
	}
	for i := range given.Feedback {
		p.Given = append(p.Given, v.feedbackView(&given.Feedback[i]))
	}
	if given.NextCursor != "" {
		p.Older = pageAt(pathFeedback, chosen, given.NextCursor)
	}
	if cursor != "" {
		p.Newest = pageAt(pathFeedback, chosen, "")
	}
	if len(p.Given) == 0 {
		p.Empty = &empty{Title: "No feedback yet", Text: "What you send appears here with its status."}
		if chosen != "" {
			p.Empty = &empty{Title: "No feedback with this status", Text: "Choose another status above."}
		}
	}
	return v.show(code, p, wrong.notices()...)
}

// choose returns a selection of values with their words.
func choose(name, label string, choices [][2]string, chosen, wrong string) selection {
	s := selection{Name: name, Label: label, Error: wrong}
	for _, c := range choices {
		s.Options = append(s.Options, option{c[0], c[1], c[0] == chosen})
	}
	return s
}

func servedChains() [][2]string {
	choices := [][2]string{{"", "None in particular"}}
	for _, c := range chain.All() {
		choices = append(choices, [2]string{string(c.ID), c.Title})
	}
	return choices
}

func (v *request) feedbackView(f *service.FeedbackView) feedbackView {
	view := feedbackView{
		Title: f.Title, Kind: wordsOf(feedbackKinds, f.Kind), Body: f.Body, Status: status{
			feedbackTones[f.Status], wordsOf(feedbackStatuses, f.Status),
		}, When: v.reader.moment(f.CreatedAt),
	}
	if f.Chain != "" {
		view.Chain = chainTitle(string(f.Chain))
	}
	if f.Reply != nil {
		view.Reply = *f.Reply
	}
	return view
}

// wordsOf returns the words of a value, or the value itself when it has none.
func wordsOf(choices [][2]string, value string) string {
	for _, c := range choices {
		if c[0] == value {
			return c[1]
		}
	}
	return value
}

// giveFeedback records feedback.
func (v *request) giveFeedback() error {
	form := v.r.PostForm
	typed := feedbackTyped{
		kind: form.Get("kind"), title: strings.TrimSpace(form.Get("title")), body: unixLines(form.Get("body")),
		chain: form.Get("chain"),
	}
	_, err := ask(v, v.Calls.SubmitFeedback, service.SubmitFeedbackInput{
		Kind: typed.kind, Title: typed.title, Body: typed.body, Chain: typed.chain, Form: form.Get(formField),
	})
	if wrong := mistakesOf(err, "kind", "title", "body", "chain", formField); wrong != nil {
		return v.showFeedback(http.StatusUnprocessableEntity, typed, wrong)
	}
	if err != nil {
		return err
	}
	v.flash(good, "Feedback sent", "The people who build the service read it. Its status appears below.")
	return v.redirect(pathFeedback)
}
