package usage

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/service/usage"
)

func TestWording_NextStepsNameNoMembersOfTheEnvelope(t *testing.T) {
	t.Parallel()
	named := 0
	for _, e := range fault.Table() {
		for _, text := range append([]string{e.Meaning}, e.Steps...) {
			named += strings.Count(text, "data.")
			if told := view.ForPeople(text); strings.Contains(told, "data.") {
				t.Errorf("%s: a page says %q", e.Name, told)
			}
		}
		reason, _ := fault.Named(e.Name)
		card := view.RefusalCard(fault.New(reason, ""), "")
		refused := refusedNotices([]usage.Refused{
			{
				FailedReason: usage.FailedReason{Reason: e.Name, Code: e.Code, Title: e.Title, Requests: 3},
				Meaning:      e.Meaning, Steps: e.Steps,
			},
		})[0]
		row := failureRows([]usage.FailedReason{{Reason: e.Name, Code: e.Code}})[0]
		for _, text := range append([]string{
			card.Text, refused.Text, row.Step,
		}, append(card.Steps, refused.Steps...)...) {
			if strings.Contains(text, "data.") {
				t.Errorf("%s: a card says %q", e.Name, text)
			}
		}
	}
	if named == 0 {
		t.Error("no reason names a member of an envelope, so this test shows nothing")
	}
	if got, want := view.ForPeople("File a ticket at the path in data.support to learn why."),
		"File a ticket with its request id to learn why."; got != want {
		t.Errorf("it reads %q, want %q", got, want)
	}
}

func TestWording_SuspendedAccountIsToldWhatToDo(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Session.Status, h.Session.SuspendedFor = "suspended", "An invoice was not paid."
	got := consoletest.SignedIn(t, h, Register).Get("/overview")
	expect.Equal(t, got.Status, http.StatusOK)
	expect.Contains(t, got.Body, `href="/support/new">File a ticket to learn why`)
	expect.NotContains(t, got.Body, "data.support")
}
