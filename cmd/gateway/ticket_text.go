package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/ticket"
)

// writeTicket writes a complete ticket as text.
func writeTicket(out io.Writer, v *operator.DeskTicketHistory) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line(table, "TICKET", v.Reference+", "+words(string(v.Status)))
	line(table, "SUBJECT", notify.Spoken(v.Subject))
	line(table, "PRIORITY", fmt.Sprintf("%s, %s", v.Priority, v.Category))
	line(table, "ACCOUNT", strings.TrimSpace(v.AccountID+" "+notify.Spoken(v.Account)))
	line(table, "PLAN", v.Plan)
	line(table, "FILED BY", v.FiledBy+", through "+v.Channel+" at "+moment(v.CreatedAt))
	writeEvidence(table, &v.Evidence)
	for i := range v.Paths {
		line(table, "TRY", v.Paths[i].Title+": "+strings.Join(v.Paths[i].Steps, " "))
	}
	line(table, "")
	line(table, "AT", "WHO", "FROM", "WHAT HAPPENED")
	for i := range v.History {
		h := &v.History[i]
		line(table, moment(h.At), h.Actor, h.Origin, deskWords(h))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for i, m := range v.Messages {
		_, err := fmt.Fprintf(out, "\n%d. %s at %s:\n%s\n", i+1, m.Author, moment(m.At),
			notify.Prose(m.Message).Quoted())
		if err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "\ngateway ops tickets reply %s --seen %d answers.\n", v.Reference, len(v.Messages))
	return err
}

// writeEvidence writes what was known when the ticket was filed.
func writeEvidence(table io.Writer, e *ticket.Evidence) {
	if c := e.Call; c != nil {
		line(table, "CALL", fmt.Sprintf("%s of %s, %s (%d) after %d ms and %d upstreams, at %s", c.Method,
			orDash(string(c.Chain)), words(c.Outcome), c.Code, c.Millis, c.Attempts, moment(c.At)))
		line(table, "REQUEST", c.RequestID)
	}
	for i := range e.Refusals {
		r := &e.Refusals[i]
		line(table, "REFUSED", fmt.Sprintf("%d times %s (%d) %s %s", r.Count, words(r.Reason), r.Code,
			orDash(string(r.Chain)), r.Method))
	}
	if k := e.Fences.Key; k != nil {
		line(table, "KEY", fmt.Sprintf("%s, %s, %s", k.Prefix, k.Door, k.Status))
	}
	if c := e.Chain; c != nil {
		line(table, "CHAIN", fmt.Sprintf("%s was %s, with %d of %d upstreams", c.Chain, c.State, c.Usable, c.Upstreams))
	}
}

// deskWords returns a line of a ticket's history in words.
func deskWords(h *operator.DeskHistoryLine) string {
	done := map[string]string{
		"file": "filed it", "join": "reported the same problem again", "reply": "wrote", "resolve": "resolved it",
		"reopen": "reopened it", "close": "closed it",
	}[h.Action]
	if done == "" {
		done = words(h.Action)
	}
	if h.After != "" && h.After != h.Before {
		done += "; since then it is " + words(h.After)
	}
	return done
}
