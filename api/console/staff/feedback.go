package staff

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/tickets"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/messaging/ticket"
	ticketing "github.com/chainaccess/gateway/service/tickets"
)

const replyField = "reply"

// listFeedback lists the feedback of all accounts, newest first, in pages, each with a form to
// answer it.
func listFeedback(v *site.Request) error { return showFeedback(v, http.StatusOK, "", "", "", nil) }

// showFeedback shows the list, with what was typed as an answer to one entry and its errors.
func showFeedback(v *site.Request, code int, id, becomes, typed string, wrong site.Mistakes) error {
	query := v.R.URL.Query()
	if id != "" { // the form carries its position
		query = v.R.PostForm
	}
	chosen, cursor := query.Get("list"), query.Get(view.CursorField)
	p := feedbackPage{Status: chosen, Cursor: cursor, Filters: feedbackFilters(chosen)}
	list, err := site.Ask(v, v.Calls.DeskListFeedback, ticketing.DeskFeedbackInput{Status: chosen, Cursor: cursor})
	if err == nil && id != "" && !listsFeedback(&list, id) {
		// The first person to answer moved it to another list.
		list, err = site.Ask(v, v.Calls.DeskListFeedback, ticketing.DeskFeedbackInput{
			Status: "all", Limit: maxFeedback, Cursor: cursor,
		})
		chosen = "all"
		p.Status, p.Filters = chosen, feedbackFilters(chosen)
		if err == nil && !listsFeedback(&list, id) {
			p.Kept = typed
		}
	}
	if refused := site.MistakesOf(err, view.StatusField, view.CursorField); refused != nil {
		p.Empty = &view.Empty{
			Title: "The list cannot be shown", Text: refused[view.StatusField] + refused[view.CursorField] +
				refused[""],
			Action: &view.Link{Text: "To new feedback", To: pathFeedback},
		}
		return v.Show(http.StatusUnprocessableEntity, p)
	}
	if err != nil {
		return err
	}
	for i := range list.Feedback {
		f := &list.Feedback[i]
		row := feedbackRowOf(v, f, f.Status, "")
		if f.ID == id {
			row = feedbackRowOf(v, f, becomes, wrong[replyField])
			row.Reply.Value, row.Open = typed, true
		}
		p.Given = append(p.Given, row)
	}
	if list.NextCursor != "" {
		p.Older = pathFeedback + "?list=" + cmp.Or(chosen, "new") + "&cursor=" + list.NextCursor
	}
	if cursor != "" {
		p.Newest = pathFeedback + "?list=" + cmp.Or(chosen, "new")
	}
	if len(p.Given) == 0 {
		p.Empty = &view.Empty{
			Title: "No feedback here", Text: "Choose another status above.",
			Action: &view.Link{Text: "To all feedback", To: pathFeedback + "?list=all"},
		}
	}
	return v.Show(code, p, wrong.Notices()...)
}

// maxFeedback is how many entries of the unfiltered list are searched for a moved one: the longest
// page.
const maxFeedback = 100

func listsFeedback(list *ticketing.DeskFeedbackList, id string) bool {
	return slices.ContainsFunc(list.Feedback, func(f ticketing.DeskFeedback) bool { return f.ID == id })
}

// feedbackFilters returns the filters of the list.
func feedbackFilters(chosen string) []view.Filter {
	var filters []view.Filter
	for i, f := range append([][2]string{{"new", "New"}},
		append(tickets.FeedbackStatuses[1:len(tickets.FeedbackStatuses):len(tickets.FeedbackStatuses)],
			[2]string{"all", "All"})...) {
		to := pathFeedback
		if i > 0 {
			to += "?list=" + f[0]
		}
		filters = append(filters, view.Filter{
			Link:    view.Link{Text: f[1], To: to},
			Current: f[0] == cmp.Or(chosen, "new"),
		})
	}
	return filters
}

func feedbackRowOf(v *site.Request, f *ticketing.DeskFeedback, becomes, wrong string) feedbackRow {
	row := feedbackRow{
		Feedback: tickets.FeedbackOf(v.Reader, &f.FeedbackView), ID: f.ID,
		Account: view.AccountTitle(f.Account, f.AccountID),
		Plan:    view.PlanTitle(f.Plan), Seen: strconv.Itoa(f.Answers),
		Becomes: view.Choose(view.StatusField, "New status",
			tickets.FeedbackStatuses, becomes, ""),
		Reply: view.Area{
			Name: replyField, Label: "Reply", Error: wrong, Most: ticket.MaxMessage, Rows: 3,
			Rule: "Plain text, up to 5,000 characters. It is mailed to the person who gave the feedback, or else to " +
				"the owners of the account. A key that has no owner gets no mail.",
		},
	}
	row.Becomes.ID, row.Reply.ID = "status-"+f.ID, "reply-"+f.ID
	if f.Reply != nil {
		row.Reply.Value = *f.Reply
	}
	return row
}

// answerFeedback changes the status of feedback. When that is refused, the form keeps what was
// typed.
func answerFeedback(v *site.Request) error {
	form, id := v.R.PostForm, v.R.PathValue("id")
	becomes, typed := form.Get(view.StatusField), site.UnixLines(form.Get(replyField))
	seen, _ := strconv.Atoi(form.Get(tickets.SeenField)) // 0 when malformed
	done, err := site.Ask(v, v.Calls.DeskAnswerFeedback, ticketing.AnswerFeedbackInput{
		ID: id, Status: becomes, Reply: typed, Seen: max(seen, 0),
	})
	if wrong := site.MistakesOf(err, view.StatusField, replyField, tickets.SeenField); wrong != nil {
		if said := wrong[view.StatusField] + wrong[tickets.SeenField]; said != "" {
			wrong[""] += said
		}
		return showFeedback(v, http.StatusUnprocessableEntity, id, becomes, typed, wrong)
	}
	if err != nil {
		return err
	}
	v.Flash(view.Good, "Answer saved", "It is "+view.WordsOf(tickets.FeedbackStatuses, done.Status)+
		". The answer is mailed to the person who gave it, or else to the owners of the account, if it has any.")
	to := pathFeedback
	if list := form.Get("list"); list != "" {
		to += "?list=" + list
	}
	return v.Redirect(paths.Local(to, pathFeedback))
}
