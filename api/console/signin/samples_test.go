package signin

import (
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/service/tickets"
)

// samples are the pages of signing in; name is a text that somebody chose.
func samples(name string) map[string]view.Page {
	return map[string]view.Page{
		"sign-in": signInPage{
			Email: view.Field{
				Name: "email", Label: "E-mail address", Type: "email", Required: true, Complete: "email",
				Autofocus: true, Value: name,
			},
		},
		"sign-in-refused": signInPage{
			Then: "Then you come back to adopt the key.",
			Email: view.Field{
				Name: "email", Label: "E-mail address", Type: "email", Required: true, Complete: "email",
				Value: "mira@", Error: "This is no e-mail address. It takes the form name@host.example.",
			},
		},
		"code": codePage{Email: name, Minutes: 15, DevMail: "/dev/mail", Code: view.Field{
			Name: "code", Label: "Code", Required: true, Mode: "numeric", Complete: "one-time-code",
			Pattern: "[0-9]{6}", Most: 6, Rule: "Six digits.",
		}},
		"entry": newEntryPage(&consoletest.WaitingEntry, name, nil),
		"entry-confirmed": newEntryPage(&tickets.ShownEntry{About: "waitlist", Status: "confirmed", Email: name}, name,
			&view.Notice{Tone: view.Good, Text: name}),
		"entry-left": newEntryPage(&tickets.ShownEntry{About: "waitlist", Status: "left", Email: name}, name, nil),
		"entry-wish": newEntryPage(&tickets.ShownEntry{About: "wishlist", Status: "asked", Wishes: 2, Email: name},
			name, nil),
		"entry-withdrawn": newEntryPage(&tickets.ShownEntry{About: "wishlist", Status: "withdrawn", Email: name},
			name, nil),
	}
}

func TestPages_KeepToTheRules(t *testing.T) {
	t.Parallel()
	consoletest.CheckSection(t, templates, samples)
}
