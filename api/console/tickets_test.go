package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/service/tickets"
)

func TestTicket_SaysWhoWroteEachMessage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		writer         *tickets.NoteWriter
		customer, desk string
	}{
		{&tickets.NoteWriter{Kind: tickets.WriterYou}, "You", "The customer"},
		{
			&tickets.NoteWriter{Kind: tickets.WriterMember, Name: "bob@buyer.example"}, "bob@buyer.example",
			"The customer, bob@buyer.example",
		},
		{
			&tickets.NoteWriter{Kind: tickets.WriterKey, Name: "cag_aHCrXoRO"}, "Key cag_aHCrXoRO…",
			"The customer, Key cag_aHCrXoRO…",
		},
		{
			&tickets.NoteWriter{Kind: tickets.WriterAgent, Name: "Support</bdi><b>"}, "Agent Support</bdi><b>",
			"The customer, Agent Support</bdi><b>",
		},
		{&tickets.NoteWriter{Kind: tickets.WriterAnother}, "Another member", "The customer"},
		{nil, "The account", "The customer"},
	} {
		t.Run(c.customer, func(t *testing.T) {
			h := consoletest.NewOperations()
			h.Session.Staff = true
			h.Desk.Ticket.Messages[0].Writer = c.writer
			b := consoletest.SignedIn(t, h, register)
			for path, want := range map[string]string{
				"/tickets/CAG-1001": c.customer, "/staff/tickets/CAG-1001": c.desk,
			} {
				shown := `<strong class="long"><bdi>` + html.EscapeString(want) + `</bdi></strong>`
				if !strings.Contains(b.Get(path).Body, shown) {
					t.Errorf("%s lacks %s", path, shown)
				}
			}
		})
	}
}

// A form that is sent again because its answer was lost keeps its id. One whose id was used with
// other content gets a new id; otherwise it could never be sent.
func TestTicket_FormReusedWithOtherTextIsShownAsNew(t *testing.T) {
	t.Parallel()
	for path, typed := range map[string]url.Values{
		"/tickets/CAG-1001":              {"do": {"reply"}, "message": {"my words"}},
		paths.StaffTickets + "/CAG-1001": {"do": {"reply"}, "message": {"my words"}, "seen": {"3"}},
		paths.Ask:                        {"subject": {"s"}, "message": {"my words"}},
		"/feedback":                      {"kind": {"other"}, "title": {"t"}, "body": {"my words"}},
	} {
		t.Run(path, func(t *testing.T) {
			h := consoletest.NewOperations()
			h.Session.Staff = true
			h.Refusal = fault.New(fault.FieldRefused,
				"form: this id was sent before and said something else, which was done.")
			typed.Set("form", consoletest.KeyTwo)
			got := consoletest.SignedIn(t, h, register).Post(path, typed)
			in := expect.In(t, "%s", path)
			expect.Equal(in, got.Status, http.StatusUnprocessableEntity)
			expect.Contains(in, got.Body, "my words</textarea>")
			expect.Contains(in, got.Body, "was already sent once")
			if strings.Contains(got.Body, consoletest.KeyTwo) || !strings.Contains(got.Body, `name="form" value="`) {
				t.Errorf("%s shows the form that was used up", path)
			}
		})
	}
}

func TestSupportKey_SignOutRemovesIt(t *testing.T) {
	t.Parallel()
	b := consoletest.SignedIn(t, consoletest.NewOperations(), register)
	b.Fill(b.Get(paths.Ask+"?with=key"), "/support/key",
		url.Values{"key": {consoletest.BearerOne}, "next": {paths.Ask}})
	if b.Cookies["__Secure-support"] == "" {
		t.Fatal("the key was not kept")
	}
	if got := b.Post("/sign-out", nil); got.Status != http.StatusSeeOther || b.Cookies["__Secure-support"] != "" {
		t.Errorf("it answers %d and leaves the key", got.Status)
	}
}
