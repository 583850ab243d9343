package tickets

import (
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/service/tickets"
)

// FeedbackKinds are the kinds of feedback, in the order of the form.
var FeedbackKinds = [][2]string{
	{"feature", "Feature request"},
	{"chain", "Chain to add"},
	{"praise", "Praise"},
	{"complaint", "Complaint"},
	{"other", "Other"},
}

// FeedbackStatuses are the statuses of feedback, in the order of the page's filters.
var FeedbackStatuses = [][2]string{
	{"new", "New"}, {"reviewed", "Reviewed"}, {"planned", "Planned"}, {"shipped", "Shipped"}, {"declined", "Declined"},
}

var feedbackTones = map[string]view.Tone{"planned": view.Warn, "shipped": view.Good}

// FeedbackOf formats feedback.
func FeedbackOf(r view.Reader, f *tickets.FeedbackView) Feedback {
	shown := Feedback{
		Title: f.Title, Kind: view.WordsOf(FeedbackKinds, f.Kind), Body: f.Body, Status: view.Status{
			Tone: feedbackTones[f.Status], Text: view.WordsOf(FeedbackStatuses, f.Status),
		}, When: r.Moment(f.CreatedAt),
	}
	if f.Chain != "" {
		shown.Chain = r.ChainTitle(string(f.Chain))
	}
	if f.Reply != nil {
		shown.Reply = *f.Reply
	}
	return shown
}

// Feedback is feedback with its answer.
type Feedback struct {
	Title, Kind, Body, Chain, Reply string
	Status                          view.Status
	When                            view.Moment
}
