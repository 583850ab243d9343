package console

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/service"
)

const replyField = "reply"

// staffFeedback lists the feedback of all accounts, newest first, in pages, each with a form to
// answer it.
func (v *request) staffFeedback() error { return v.showDeskFeedback(http.StatusOK, "", "", "", nil) }

// showDeskFeedback shows the list, with what was typed as an answer to one entry and its errors.
func (v *request) showDeskFeedback(code int, id, becomes, typed string, wrong mistakes) error {
	query := v.r.URL.Query()
	if id != "" { // the form carries its position
		query = v.r.PostForm
	}
	chosen, cursor := query.Get("list"), query.Get(cursorField)
	p := staffFeedbackPage{Status: chosen, Cursor: cursor, Filters: deskFeedbackFilters(chosen)}
	list, err := ask(v, v.Calls.DeskListFeedback, service.DeskFeedbackInput{Status: chosen, Cursor: cursor})
	if err == nil && id != "" && !listsFeedback(&list, id) {
		// The first person to answer moved it to another list.
		list, err = ask(v, v.Calls.DeskListFeedback, service.DeskFeedbackInput{
			Status: "all", Limit: maxFeedback, Cursor: cursor,
		})
		chosen = "all"
		p.Status, p.Filters = chosen, deskFeedbackFilters(chosen)
		if err == nil && !listsFeedback(&list, id) {
			p.Kept = typed
		}
	}
	if refused := mistakesOf(err, statusField, cursorField); refused != nil {
		p.Empty = &empty{
			Title: "The list cannot be shown", Text: refused[statusField] + refused[cursorField] + refused[""],
			Action: &link{"To new feedback", pathStaffFeedback},
		}
		return v.show(http.StatusUnprocessableEntity, p)
	}
	if err != nil {
		return err
	}
	for i := range list.Feedback {
		f := &list.Feedback[i]
		row := v.deskFeedback(f, f.Status, "")
		if f.ID == id {
			row = v.deskFeedback(f, becomes, wrong[replyField])
			row.Reply.Value, row.Open = typed, true
		}
		p.Given = append(p.Given, row)
	}
	if list.NextCursor != "" {
		p.Older = pathStaffFeedback + "?list=" + cmp.Or(chosen, "new") + "&cursor=" + list.NextCursor
	}
	if cursor != "" {
		p.Newest = pathStaffFeedback + "?list=" + cmp.Or(chosen, "new")
	}
	if len(p.Given) == 0 {
		p.Empty = &empty{
			Title: "No feedback here", Text: "Choose another status above.",
			Action: &link{"To all feedback", pathStaffFeedback + "?list=all"},
		}
	}
	return v.show(code, p, wrong.notices()...)
}

// maxFeedback is how many entries of the unfiltered list are searched for a moved one: the longest
// page.
const maxFeedback = 100

func listsFeedback(list *service.DeskFeedbackList, id string) bool {
	return slices.ContainsFunc(list.Feedback, func(f service.DeskFeedback) bool { return f.ID == id })
}

// deskFeedbackFilters returns the filters of the list.
func deskFeedbackFilters(chosen string) []filter {
	var filters []filter
	for i, f := range append([][2]string{{"new", "New"}},
		append(feedbackStatuses[1:len(feedbackStatuses):len(feedbackStatuses)], [2]string{"all", "All"})...) {
		to := pathStaffFeedback
		if i > 0 {
			to += "?list=" + f[0]
		}
		filters = append(filters, filter{link{f[1], to}, f[0] == cmp.Or(chosen, "new")})
	}
	return filters
}

func (v *request) deskFeedback(f *service.DeskFeedback, becomes, wrong string) deskFeedbackRow {
	row := deskFeedbackRow{
		feedbackView: v.feedbackView(&f.FeedbackView), ID: f.ID, Account: accountTitle(f.Account, f.AccountID),
		Plan: planTitle(f.Plan), Seen: strconv.Itoa(f.Answers), Becomes: choose(statusField, "New status",
			feedbackStatuses, becomes, ""),
		Reply: area{
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
func (v *request) answerFeedback() error {
	form, id := v.r.PostForm, v.r.PathValue("id")
	becomes, typed := form.Get(statusField), unixLines(form.Get(replyField))
	seen, _ := strconv.Atoi(form.Get(seenField)) // 0 when malformed
	done, err := ask(v, v.Calls.DeskAnswerFeedback, service.AnswerFeedbackInput{
		ID: id, Status: becomes, Reply: typed, Seen: max(seen, 0),
	})
	if wrong := mistakesOf(err, statusField, replyField, seenField); wrong != nil {
		if said := wrong[statusField] + wrong[seenField]; said != "" {
			wrong[""] += said
		}
		return v.showDeskFeedback(http.StatusUnprocessableEntity, id, becomes, typed, wrong)
	}
	if err != nil {
		return err
	}
	v.flash(good, "Answer saved", "It is "+wordsOf(feedbackStatuses, done.Status)+
		". The answer is mailed to the person who gave it, or else to the owners of the account, if it has any.")
	to := pathStaffFeedback
	if list := form.Get("list"); list != "" {
		to += "?list=" + list
	}
	return v.redirect(localPath(to, pathStaffFeedback))
}
