package staff

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/tickets"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/service/operation"
	ticketing "github.com/chainaccess/gateway/service/tickets"
)

func TestDesk_IsHiddenFromPeopleWithoutTheRole(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	for _, path := range []string{paths.StaffTickets, paths.StaffTickets + "/CAG-1001", pathFeedback} {
		got := b.Get(path)
		in := expect.In(t, "%s", path)
		expect.Equal(in, got.Status, http.StatusNotFound)
		expect.NotContains(in, got.Body, "Slow")
		expect.NotContains(in, got.Body, `href="/staff`)
	}
	if got := b.Post(paths.StaffTickets+"/CAG-1001", url.Values{
		view.MessageField: {"x"}, tickets.SeenField: {"3"},
	}); got.Status != http.StatusNotFound {
		t.Errorf("an answer to it is met with %d", got.Status)
	}
	h.Session.Staff = true
	for path, want := range map[string]string{
		paths.StaffTickets: `href="/staff/tickets/CAG-1001"`, paths.StaffTickets + "/CAG-1001": `name="seen" value="3"`,
		pathFeedback: `action="/staff/feedback/` + consoletest.RequestOne,
	} {
		t.Run(path, func(t *testing.T) {
			got := b.Get(path)
			in := expect.In(t, "%s answers staff", path)
			expect.Equal(in, got.Status, http.StatusOK)
			expect.Contains(in, got.Body, want)
			expect.Contains(in, got.Body, `href="/staff/tickets" aria-current="page"`)
		})
	}
	if got := b.Get(paths.StaffTickets + "/CAG-9"); got.Status != http.StatusNotFound {
		t.Errorf("a ticket that there is not answers %d", got.Status)
	}
}

func TestDesk_ListIsFiltered(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Session.Staff = true
	b := consoletest.SignedIn(t, h, Register)
	got := b.Get(paths.StaffTickets + "?status=all&priority=high")
	for _, want := range []string{
		"1,205", "longest since", `<option value="all" selected>`, `<option value="high" selected>`,
		`href="/staff/tickets?cursor=CAG-1000&amp;priority=high&amp;status=all"`,
		`<a href="/staff/tickets?account_id=` + consoletest.KeyOne + `&amp;status=all" title="All tickets of ` +
			consoletest.KeyOne +
			`"><span class="mono">…00000001</span></a>`, "<td data-label=\"Plan\">Pro</td>",
	} {
		if !strings.Contains(got.Body, want) {
			t.Errorf("the list lacks %q: %s", want, got.Body)
		}
	}
	if got := b.Get(paths.StaffTickets + "?status=bogus"); got.Status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.Body, "status takes one of its values") {
		t.Errorf("an unknown status answers %d: %s", got.Status, got.Body)
	}
	if got := b.Get(paths.StaffTickets + "?status=closed"); !strings.Contains(got.Body, "No tickets here") {
		t.Errorf("an empty list says %s", got.Body)
	}
}

func TestDesk_ReplyCarriesWhatItsWriterSawAndIsKeptWhenRefused(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Session.Staff = true
	b := consoletest.SignedIn(t, h, Register)
	sent := url.Values{
		view.DoField: {tickets.DoResolve}, view.MessageField: {"It is mended.\r\nSorry."}, tickets.SeenField: {"2"},
		site.FormField: {consoletest.KeyTwo},
	}
	got := b.Post(paths.StaffTickets+"/CAG-1001", sent)
	want := ticketing.DeskReplyInput{
		Reference: "CAG-1001", Message: "It is mended.\nSorry.", Resolve: true, Seen: 2, Form: consoletest.KeyTwo,
	}
	in := consoletest.LastChange[ticketing.DeskReplyInput](t, h)
	expect.Equal(t, in, want)
	expect.Equal(t, got.Status, http.StatusSeeOther)
	expect.Equal(t, got.Header.Get("Location"), paths.StaffTickets+"/CAG-1001")
	h.Refusal = fault.New(fault.FieldRefused,
		"seen: somebody wrote since you opened it. Read what came, and send yours again if it still holds.").With(
		"field", "seen")
	refused := b.Post(paths.StaffTickets+"/CAG-1001", sent)
	for _, want := range []string{
		"Read what came", "It is mended.\nSorry.</textarea>", `name="seen" value="3"`,
		`name="form" value="` + consoletest.KeyTwo + `"`,
	} {
		if refused.Status != http.StatusUnprocessableEntity || !strings.Contains(refused.Body, want) {
			t.Errorf("a refused answer is met with %d and lacks %q: %s", refused.Status, want, refused.Body)
		}
	}
	h.Refusal = fault.New(fault.FieldRefused, "reply may have 5,000 characters.")
	kept := b.Post(pathFeedback+"/"+consoletest.RequestOne, url.Values{
		view.StatusField: {"declined"}, replyField: {"No, sorry."}, tickets.SeenField: {"1"},
	})
	for _, want := range []string{
		"No, sorry.</textarea>", "<details open>", `<option value="declined" selected>`, "5,000 characters",
	} {
		if kept.Status != http.StatusUnprocessableEntity || !strings.Contains(kept.Body, want) {
			t.Errorf("a refused answer to feedback is met with %d and lacks %q: %s", kept.Status, want, kept.Body)
		}
	}
	h.Refusal = nil
	if done := b.Post(pathFeedback+"/"+consoletest.RequestOne, url.Values{
		view.StatusField: {"planned"}, replyField: {"Yes."},
		tickets.SeenField: {"1"}, "list": {"all"},
	}); done.Header.Get("Location") != pathFeedback+"?list=all" {
		t.Errorf("answered feedback leads to %q", done.Header.Get("Location"))
	}
	if in := consoletest.LastChange[ticketing.AnswerFeedbackInput](t, h); in != (ticketing.AnswerFeedbackInput{
		ID: consoletest.RequestOne, Status: "planned", Reply: "Yes.", Seen: 1,
	}) {
		t.Errorf("feedback was answered with %+v", in)
	}
}

// When a colleague answers first, the feedback leaves the list of new feedback. The refused answer
// must still be shown.
func TestDesk_FeedbackReplyIsKeptWhenAColleagueWasFirst(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Session.Staff = true
	b := consoletest.SignedIn(t, h, Register)
	h.Refusal = fault.New(fault.FieldRefused,
		"Somebody wrote since you opened it. Read what came, and send yours again if it still holds.").With("field",
		"seen")
	var asked []ticketing.DeskFeedbackInput
	listed := consoletest.SampleDeskFeedback("WebSockets")
	b.Pages.Calls.DeskListFeedback = func(_ context.Context, _ *operation.Caller,
		in ticketing.DeskFeedbackInput,
	) (ticketing.DeskFeedbackList, *fault.Error) {
		asked = append(asked, in)
		if in.Status != "all" {
			return ticketing.DeskFeedbackList{}, nil
		}
		return listed, nil
	}
	sent := url.Values{
		view.StatusField: {"declined"}, replyField: {"No, <sorry>."}, tickets.SeenField: {"0"}, "list": {""},
		view.CursorField: {consoletest.KeyOne},
	}
	got := b.Post(pathFeedback+"/"+consoletest.RequestOne, sent)
	for _, want := range []string{
		"Read what came", "No, &lt;sorry&gt;.</textarea>", "<details open>", `name="seen" value="1"`,
		`name="list" value="all"`, `href="/staff/feedback?list=all" aria-current`,
	} {
		if got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, want) {
			t.Errorf("it answers %d and lacks %q: %s", got.Status, want, got.Body)
		}
	}
	if want := (ticketing.DeskFeedbackInput{Status: "all", Limit: 100, Cursor: consoletest.KeyOne}); len(asked) != 2 ||
		asked[1] != want {
		t.Errorf("asked was %+v, want %+v at last", asked, want)
	}
	listed = ticketing.DeskFeedbackList{}
	if gone := b.Post(pathFeedback+"/"+consoletest.RequestOne, sent); !strings.Contains(gone.Body,
		"Your answer was not saved") || !strings.Contains(gone.Body, `dir="auto">No, &lt;sorry&gt;.</p>`) {
		t.Errorf("an answer to what is listed nowhere is lost: %s", gone.Body)
	}
}
