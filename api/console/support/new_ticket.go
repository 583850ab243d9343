package support

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/tickets"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	ticketing "github.com/chainaccess/gateway/service/tickets"
)

// startTicket shows the form for a ticket. The URL may name the call that it is about. A call of
// somebody else is not found and left out.
func startTicket(v *site.Request) error {
	return askForTicket(v, http.StatusOK, ticketTyped{request: v.R.URL.Query().Get(requestField)}, nil)
}

// ticketTyped is what a user typed into the form of a ticket.
type ticketTyped struct{ request, subject, message, category string }

// askForTicket shows the form with what was typed, its errors, and the evidence that will be
// attached.
func askForTicket(v *site.Request, code int, typed ticketTyped, wrong site.Mistakes, notices ...view.Notice) error {
	preview, err := site.Ask(v, v.Calls.PreviewTicket, ticketing.PreviewTicketInput{RequestID: typed.request})
	switch {
	case typed.request == "":
	case site.RefusedFor(err, fault.NotYours):
		return askForTicket(v, http.StatusNotFound, typed.without(), wrong,
			append(notices, noSuchCall(v, typed.request, err))...)
	case site.MistakesOf(err, requestField) != nil:
		return askForTicket(v, http.StatusUnprocessableEntity, typed.without(), wrong,
			append(notices, view.Notice{
				Tone: view.Bad, Title: "This is not a request id",
				Text: fault.From(err).Message,
			})...)
	}
	if err != nil {
		return err
	}
	return showNewTicket(v, code, &preview, typed, wrong, notices...)
}

func showNewTicket(v *site.Request, code int, preview *ticketing.TicketPreview, typed ticketTyped, wrong site.Mistakes,
	notices ...view.Notice,
) error {
	p := newTicketPageOf(v, preview, typed, wrong)
	var err error
	if p.Form, err = v.FormID(wrong); err != nil {
		return err
	}
	return v.Show(code, p, append(notices, wrong.Notices()...)...)
}

func (t ticketTyped) without() ticketTyped {
	t.request = ""
	return t
}

// noSuchCall returns the notice that a call was not found, because it is unknown or somebody
// else's. Its link, to ask with the key of the call, keeps the request id.
func noSuchCall(v *site.Request, request string, cause error) view.Notice {
	n := view.Notice{Tone: view.Warn, Title: "The call was not found", Text: fault.From(cause).Message}
	if !v.AsksWithKey() {
		n.Links = append(n.Links, view.Link{
			Text: "Ask with the key that made the call", To: paths.Ask + "?" + url.Values{
				requestField: {request}, withKey: {keyField},
			}.Encode(),
		})
	}
	return n
}

func newTicketPageOf(v *site.Request, preview *ticketing.TicketPreview, typed ticketTyped,
	wrong site.Mistakes,
) newTicketPage {
	p := newTicketPage{
		Action: askAt(v), Evidence: tickets.EvidenceOf(v.Reader, &preview.Evidence),
		Paths:   tickets.PathsOf(preview.SuggestedPaths),
		Tickets: ticketsAt(v), With: v.AskingWith(), Crumb: ticketsCrumb(v),
		Subject: view.Field{
			Name: "subject", Label: "Subject", Required: true, Most: ticket.MaxSubject, Value: typed.subject,
			Error: wrong["subject"], Rule: "In one line.",
		},
		Message: view.Area{
			Name: view.MessageField, Label: "What happened, and what you expected", Value: typed.message,
			Error: wrong[view.MessageField], Rule: tickets.MessageRule, Required: true, Autofocus: true,
			Most: ticket.MaxMessage,
			Rows: 6,
		},
		Category: categorySelection(preview.Category, typed.category, wrong["category"]),
	}
	if call := preview.Evidence.Call; call != nil {
		p.Request = call.RequestID
		if typed.subject == "" {
			p.Subject.Value = subjectOf(v.Reader, call)
		}
		return p
	}
	p.RequestID = &view.Field{
		Name: requestField, Label: "Request id", Value: typed.request, Error: wrong[requestField], Most: 36,
		Rule: "The request id of the call: error.data.request_id, or the header X-Request-Id of its answer. The " +
			"call is then attached.",
	}
	return p
}

// subjectOf suggests a subject for a ticket about a call.
func subjectOf(r view.Reader, c *ticket.ReportedCall) string {
	text := c.Method
	if text == "" {
		text = "A call"
	}
	if c.Chain != "" {
		text += " on " + r.ChainTitle(string(c.Chain))
	}
	text += ": " + view.OutcomeWords(c.Outcome)
	if c.Code != 0 {
		text += " (" + view.CodeOf(c.Code) + ")"
	}
	return view.Truncate(text, ticket.MaxSubject-len("…"))
}

// categorySelection offers the categories of a ticket. By default, the evidence decides.
func categorySelection(follows ticket.Category, chosen, wrong string) view.Selection {
	s := view.Selection{
		Name: "category", Label: "About", Error: wrong, Options: []view.Option{
			{Value: "", Text: "Automatic: " + string(follows), Chosen: chosen == ""},
		},
	}
	for _, c := range ticket.Categories() {
		s.Options = append(s.Options, view.Option{
			Value: string(c), Text: view.SentenceCase(string(c)),
			Chosen: chosen == string(c),
		})
	}
	return s
}

// fileTicket files the ticket and redirects to it.
func fileTicket(v *site.Request) error {
	form := v.R.PostForm
	typed := ticketTyped{
		request: strings.TrimSpace(form.Get(requestField)), subject: strings.TrimSpace(form.Get("subject")),
		message: site.UnixLines(form.Get(view.MessageField)), category: form.Get("category"),
	}
	filed, err := site.Ask(v, v.Calls.CreateTicket, ticketing.CreateTicketInput{
		Subject: typed.subject, Message: typed.message, RequestID: typed.request, Category: typed.category,
		Form: form.Get(site.FormField),
	})
	if wrong := site.MistakesOf(err, "subject", view.MessageField, requestField, "category",
		site.FormField); wrong != nil {
		if wrong[requestField] != "" { // shown at its field, not looked up
			return refuseTicket(v, typed, wrong)
		}
		return askForTicket(v, http.StatusUnprocessableEntity, typed, wrong)
	}
	if site.RefusedFor(err, fault.NotYours) {
		return askForTicket(v, http.StatusNotFound, typed.without(), nil, noSuchCall(v, typed.request, err))
	}
	if site.RefusedFor(err, fault.RateWindow) {
		return askForTicket(v, fault.RateWindow.Entry().HTTP, typed, site.Mistakes{"": fault.From(err).Message})
	}
	if err != nil {
		return err
	}
	if filed.Joined {
		v.Flash(view.Good, "Added to this ticket",
			"The same symptom has an open ticket already, so your message was added to it.")
	} else {
		v.Flash(view.Good, "Ticket filed", "A person will read it and answer here.")
	}
	return v.Redirect(ticketsAt(v) + "/" + filed.Reference)
}

// refuseTicket shows the form again when the request id is malformed, with the error at its field.
func refuseTicket(v *site.Request, typed ticketTyped, wrong site.Mistakes) error {
	preview, err := site.Ask(v, v.Calls.PreviewTicket, ticketing.PreviewTicketInput{})
	if err != nil {
		return err
	}
	return showNewTicket(v, http.StatusUnprocessableEntity, &preview, typed, wrong)
}
