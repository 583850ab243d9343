package view_test

import (
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
)

// samples are the pages of several sections; name is a text that somebody chose.
func samples(name string) map[string]view.Page {
	rows := consoletest.SampleKeys(name)
	return map[string]view.Page{
		"link": view.LinkPage{
			Heading: "Sign in", Text: "As mira@studio-north.example.", Action: "/sign-in/link",
			Token: name, Button: "Sign in",
		},
		"confirm": view.ConfirmPage{
			Heading: "Revoke this key?", Subject: name, Section: view.SectionKeys,
			CrumbsTo: []view.Link{{Text: "Keys", To: "/keys"}},
			Stops: []string{
				"Every call with this key, from this moment, on every chain.",
				"Programs that use it get 401 and code -32001.",
			},
			Stays:  []string{"Its usage stays on your statements."},
			Action: "/keys/" + rows[0].ID + "/revoke", Hidden: []view.Hidden{{Name: "x", Value: name}},
			Button: "Revoke key",
			Keep:   view.Link{Text: "Keep it", To: "/keys/" + rows[0].ID},
		},
		"error": view.ErrorPage{
			Heading: "Not found", Notice: view.RefusalCard(fault.New(fault.NotYours, "%s", name),
				"019a9f2e-1111-7000-8000-0000000000ff"), Back: view.Link{Text: "Back", To: "/keys"},
		},
		"error-public": view.ErrorPage{
			Heading: "There is no such page", Public: true, Back: view.Link{Text: "To the home page", To: "/"},
			Notice: view.Notice{Tone: view.Warn, Text: "Check the address, or start at the home page."},
		},
	}
}

func TestPages_KeepToTheRules(t *testing.T) {
	t.Parallel()
	pages, err := view.SharedPages()
	if err != nil {
		t.Fatal(err)
	}
	consoletest.CheckPages(t, pages, samples)
}
