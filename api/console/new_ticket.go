package console

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/service"
)

// newTicket shows the form for a ticket. The URL may name the call that it is about. A call of
// somebody else is not found and left out.
func (v *request) newTicket() error {
	return v.askForTicket(http.StatusOK, ticketTyped{request: v.r.URL.Query().Get(requestField)}, nil)
}

// ticketTyped is what a user typed into the form of a ticket.
type ticketTyped struct{ request, subject, message, category string }

// askForTicket shows the form with what was typed, its errors, and the evidence that will be
// attached.
func (v *request) askForTicket(code int, typed ticketTyped, wrong mistakes, notices ...notice) error {
	preview, err := ask(v, v.Calls.PreviewTicket, service.PreviewTicketInput{RequestID: typed.request})
	switch {
	case typed.request == "":
	case refusedFor(err, fault.NotYours):
		return v.askForTicket(http.StatusNotFound, typed.without(), wrong,
			append(notices, v.noSuchCall(typed.request, err))...)
	case mistakesOf(err, requestField) != nil:
		return v.askForTicket(http.StatusUnprocessableEntity, typed.without(), wrong,
			append(notices, notice{Tone: bad, Title: "This is not a request id", Text: fault.From(err).Message})...)
	}
	if err != nil {
		return err
	}
	return v.showNewTicket(code, &preview, typed, wrong, notices...)
}

func (v *request) showNewTicket(code int, preview *service.TicketPreview, typed ticketTyped, wrong mistakes,
	notices ...notice,
) error {
	p := v.newTicketPage(preview, typed, wrong)
	var err error
	if p.Form, err = v.formID(wrong); err != nil {
		return err
	}
	return v.show(code, p, append(notices, wrong.notices()...)...)
}

func (t ticketTyped) without() ticketTyped {
	t.request = ""
	return t
}

// noSuchCall returns the notice that a call was not found, because it is unknown or somebody
// else's. Its link, to ask with the key of the call, keeps the request id.
func (v *request) noSuchCall(request string, cause error) notice {
	n := notice{Tone: warn, Title: "The call was not found", Text: fault.From(cause).Message}
	if v.holder.IsZero() {
		n.Links = append(n.Links, link{
			"Ask with the key that made the call", pathAsk + "?" + url.Values{
				requestField: {request}, withKey: {keyField},
			}.Encode(),
		})
	}
	return n
}

func (v *request) newTicketPage(preview *service.TicketPreview, typed ticketTyped, wrong mistakes) newTicketPage {
	p := newTicketPage{
		Action: v.askAt(), Evidence: v.evidenceView(&preview.Evidence), Paths: pathsOf(preview.SuggestedPaths),
		Tickets: v.ticketsAt(), With: v.askingWith(), Crumb: v.ticketsCrumb(),
		Subject: field{
			Name: "subject", Label: "Subject", Required: true, Most: ticket.MaxSubject, Value: typed.subject,
			Error: wrong["subject"], Rule: "In one line.",
		},
		Message: area{
			Name: messageField, Label: "What happened, and what you expected", Value: typed.message,
			Error: wrong[messageField], Rule: messageRule, Required: true, Autofocus: true, Most: ticket.MaxMessage,
			Rows: 6,
		},
		Category: categorySelection(preview.Category, typed.category, wrong["category"]),
	}
	if call := preview.Evidence.Call; call != nil {
		p.Request = call.RequestID
		if typed.subject == "" {
			p.Subject.Value = subjectOf(call)
		}
		return p
	}
	p.RequestID = &field{
		Name: requestField, Label: "Request id", Value: typed.request, Error: wrong[requestField], Most: 36,
		Rule: "The request id of the call: error.data.request_id, or the header X-Request-Id of its answer. The " +
			"call is then attached.",
	}
	return p
}

// subjectOf suggests a subject for a ticket about a call.
func subjectOf(c *ticket.ReportedCall) string {
	text := c.Method
	if text == "" {
		text = "A call"
	}
	if c.Chain != "" {
		text += " on " + chainTitle(string(c.Chain))
	}
	text += ": " + outcomeWords(c.Outcome)
	if c.Code != 0 {
		text += " (" + codeOf(c.Code) + ")"
	}
	return cut(text, ticket.MaxSubject-len("…"))
}

// categorySelection offers the categories of a ticket. By default, the evidence decides.
func categorySelection(follows ticket.Category, chosen, wrong string) selection {
	s := selection{
		Name: "category", Label: "About", Error: wrong, Options: []option{
			{"", "Automatic: " + string(follows), chosen == ""},
		},
	}
	for _, c := range ticket.Categories() {
		s.Options = append(s.Options, option{string(c), sentenceCase(string(c)), chosen == string(c)})
	}
	return s
}

// fileTicket files the ticket and redirects to it.
func (v *request) fileTicket() error {
	form := v.r.PostForm
	typed := ticketTyped{
		request: strings.TrimSpace(form.Get(requestField)), subject: strings.TrimSpace(form.Get("subject")),
		message: unixLines(form.Get(messageField)), category: form.Get("category"),
	}
	filed, err := ask(v, v.Calls.CreateTicket, service.CreateTicketInput{
		Subject: typed.subject, Message: typed.message, RequestID: typed.request, Category: typed.category,
		Form: form.Get(formField),
	})
	if wrong := mistakesOf(err, "subject", messageField, requestField, "category", formField); wrong != nil {
		if wrong[requestField] != "" { // shown at its field, not looked up
			return v.refuseTicket(typed, wrong)
		}
		return v.askForTicket(http.StatusUnprocessableEntity, typed, wrong)
	}
	if refusedFor(err, fault.NotYours) {
		return v.askForTicket(http.StatusNotFound, typed.without(), nil, v.noSuchCall(typed.request, err))
	}
	if refusedFor(err, fault.RateWindow) {
		return v.askForTicket(fault.RateWindow.Entry().HTTP, typed, mistakes{"": fault.From(err).Message})
	}
	if err != nil {
		return err
	}
	if filed.Joined {
		v.flash(good, "Added to this ticket",
			"The same symptom has an open ticket already, so your message was added to it.")
	} else {
		v.flash(good, "Ticket filed", "A person will read it and answer here.")
	}
	return v.redirect(v.ticketsAt() + "/" + filed.Reference)
}

// refuseTicket shows the form again when the request id is malformed, with the error at its field.
func (v *request) refuseTicket(typed ticketTyped, wrong mistakes) error {
	preview, err := ask(v, v.Calls.PreviewTicket, service.PreviewTicketInput{})
	if err != nil {
		return err
	}
	return v.showNewTicket(http.StatusUnprocessableEntity, &preview, typed, wrong)
}
