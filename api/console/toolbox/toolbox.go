// Package toolbox has the page on which visitors run the metered operations. Their forms and
// commands are generated from the operations' schemas.
package toolbox

import (
	"embed"
	"net/http"
	"time"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
)

const (
	// toolField is the field that names the tool.
	toolField = "tool"
	// partHeader asks for a part of a page, and marks an answer as a part.
	partHeader  = "X-Part"
	partOutcome = "outcome"
)

// Toolbox is the tools that visitors may use.
type Toolbox struct{ groups []toolGroup }

// New returns a toolbox of metered operations. It fails for an operation without a form, so
// that every new one is shown.
func New(known *chain.Set, ops []operation.Definition) (*Toolbox, error) {
	groups, err := newToolGroups(known, ops)
	if err != nil {
		return nil, err
	}
	return &Toolbox{groups: groups}, nil
}

//go:embed templates
var templates embed.FS

// Register registers the toolbox.
func (b *Toolbox) Register(s *site.Site) error {
	if err := s.AddTemplates(templates); err != nil {
		return err
	}
	s.HandlePublic(paths.Toolbox, b.serve)
	s.Handle("POST "+paths.Toolbox, b.serve)
	return nil
}

// serve shows the tools, and the result of a submitted form below it. Tools only read, so forms
// without long texts use GET and can be shared as links.
func (b *Toolbox) serve(v *site.Request) error {
	if err := v.EnsureCSRFCookie(); err != nil {
		return err
	}
	form := v.R.URL.Query()
	if v.R.Method == http.MethodPost {
		form = v.R.PostForm
	}
	name := form.Get(toolField)
	if name == "" {
		return b.show(v, http.StatusOK, nil)
	}
	v.W.Header().Set("X-Robots-Tag", "noindex")
	t := b.named(name)
	if t == nil {
		return b.show(v, http.StatusNotFound, nil, view.Notice{
			Tone: view.Warn, Title: "There is no such tool", Text: "These are the available tools.",
		})
	}
	values, status := t.sent(form), http.StatusOK
	used := t.view(v.PublicURL, v.CSRFToken(), values)
	if v.R.Method == http.MethodPost || t.method == "get" {
		status = use(v, t, values, &used)
	}
	if v.R.Header.Get(partHeader) == partOutcome && used.Outcome != nil {
		v.W.Header().Set(partHeader, partOutcome)
		return v.ShowPart(status, "toolbox", partOutcome, used.Outcome)
	}
	return b.show(v, status, &used)
}

// show shows all tools, one of them with its result.
func (b *Toolbox) show(v *site.Request, status int, used *view.Tool, notices ...view.Notice) error {
	p := toolboxPage{Visitors: view.Number(operation.VisitorLimit.Limit) + " uses a minute"}
	for _, g := range b.groups {
		group := toolGroupView{ID: g.ID, Title: g.Title}
		for _, t := range g.tools {
			if used != nil && t.meta.Name == used.Name {
				group.Tools = append(group.Tools, *used)
				continue
			}
			group.Tools = append(group.Tools, t.view(v.PublicURL, v.CSRFToken(), t.examples()))
		}
		p.Groups = append(p.Groups, group)
	}
	return v.Show(status, p, notices...)
}

func (b *Toolbox) named(name string) *tool {
	for _, g := range b.groups {
		for _, t := range g.tools {
			if t.meta.Name == name {
				return t
			}
		}
	}
	return nil
}

// use runs a tool and shows its result below its form. It returns the status of the page.
func use(v *site.Request, t *tool, values map[string]string, used *view.Tool) int {
	caller := v.Caller()
	caller.Session, caller.Visitor = "", true
	began := v.Now()
	answer, refused := t.op.Serve(v.R.Context(), caller, t.args(values))
	took := v.Now().Sub(began)
	out := &view.Outcome{Title: t.meta.Title}
	used.Outcome = out
	if refused != nil {
		v.RetryAfter(refused)
		card := view.RefusalCard(refused, v.ID)
		out.Refused = &card
		out.Errors = blame(used, site.MistakesOf(refused, t.names()...))
		return refused.HTTP()
	}
	s, err := showAnswer(answer.JSON, t.op.Output())
	if err == nil {
		out.Answer = &s
	}
	out.Raw, out.Whole = rawJSON(answer.JSON)
	out.Facts = facts(took, answer.Hit, used.Cost)
	return http.StatusOK
}

// blame shows errors at their fields.
func blame(t *view.Tool, wrong site.Mistakes) []view.FieldError {
	var told []view.FieldError
	for i := range t.Inputs {
		in := &t.Inputs[i]
		if in.Error = wrong[in.Name]; in.Error != "" {
			told = append(told, view.FieldError{ID: in.ID(), Text: in.Error})
		}
	}
	return told
}

// facts describes how an answer was produced and what it costs with a key.
func facts(took time.Duration, hit bool, cost string) string {
	if hit {
		return "Answered in " + milliseconds(took) + ", from the cache. With a key it costs nothing."
	}
	return "Answered in " + milliseconds(took) + ", not from the cache. With a key it costs " + cost + "."
}

func milliseconds(d time.Duration) string {
	if d < time.Millisecond {
		return "less than 1 ms"
	}
	return view.Number(int64(d/time.Millisecond)) + " ms"
}

// Form returns the form of a tool for another page, or nil when there is no such tool.
func (b *Toolbox) Form(v *site.Request, name string) *view.Tool {
	t := b.named(name)
	if t == nil || !t.live() {
		return nil
	}
	form := t.view(v.PublicURL, v.CSRFToken(), t.examples())
	return &form
}
