package toolbox

import (
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
)

// samples are the pages of the toolbox; name is a text that somebody chose.
func samples(name string) map[string]view.Page {
	return map[string]view.Page{
		"toolbox": sampleToolbox(name),
	}
}

// sampleToolbox is a page on which every tool was run.
func sampleToolbox(name string) toolboxPage {
	p := toolboxPage{Visitors: "30 uses a minute"}
	groups, err := newToolGroups(nil, consoletest.Definitions(consoletest.Tools()))
	if err != nil {
		panic(err)
	}
	text := jsonText(name)
	answer, err := showAnswer(
		[]byte(`{"name":`+text+`,"none":null,"list":[`+text+`],"table":[{`+text+`:`+text+`}],"rows":{`+text+`:{"x":`+
			text+`}},"deep":[[{"x":`+text+`}]]}`),
		groups[0].tools[0].op.Output())
	if err != nil {
		panic(err)
	}
	for i, g := range groups {
		group := toolGroupView{ID: g.ID, Title: g.Title}
		for _, t := range g.tools {
			values := t.examples()
			fill(t, values, name)
			one := t.view("https://gateway.example", "token", values)
			one.Outcome = &view.Outcome{Title: one.Title, Facts: "Answered in 3 ms.", Answer: &answer, Raw: name}
			if i%2 == 1 {
				card := view.RefusalCard(fault.New(fault.FieldRefused, "%s", name),
					"019a9f2e-1111-7000-8000-0000000000ff")
				one.Outcome = &view.Outcome{
					Title: one.Title, Refused: &card, Errors: blame((&one), site.Mistakes{t.names()[0]: name}),
				}
			}
			group.Tools = append(group.Tools, one)
		}
		p.Groups = append(p.Groups, group)
	}
	return p
}

func TestPages_KeepToTheRules(t *testing.T) {
	t.Parallel()
	consoletest.CheckSection(t, templates, samples)
}
