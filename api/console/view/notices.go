package view

import (
	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/internal/fault"
)

// RefusalCard shows what the error envelope contains: the message, the code, what to do, and where
// to ask.
func RefusalCard(f *fault.Error, request string) Notice {
	entry := f.Reason.Entry()
	n := Notice{
		Tone: Bad, Title: entry.Title, Text: ForPeople(f.Message), Code: CodeOf(entry.Code),
		Steps: StepsForPeople(entry.Steps), Request: request,
	}
	n.Links = append(n.Links, Link{"What " + n.Code + " means", paths.Errors + n.Code})
	if entry.Doorway != "" {
		n.Links = append(n.Links, Link{entry.Doorway, entry.Doorway})
	}
	if request != "" {
		n.Links = append(n.Links, Link{"Ask for help with this request", paths.AskAbout + request})
	}
	return n
}
