package console

import (
	"net/http"
	"time"

	"github.com/chainaccess/gateway/service"
)

const (
	pathToolbox = "/toolbox"
	// toolField is the field that names the tool.
	toolField = "tool"
	// partHeader asks for a part of a page, and marks an answer as a part.
	partHeader  = "X-Part"
	partOutcome = "outcome"
)

// toolbox shows the tools, and the result of a submitted form below it. Tools only read, so forms
// without long texts use GET and can be shared as links.
func (v *request) toolbox() error {
	if err := v.ensureCSRFCookie(); err != nil {
		return err
	}
	form := v.r.URL.Query()
	if v.r.Method == http.MethodPost {
		form = v.r.PostForm
	}
	name := form.Get(toolField)
	if name == "" {
		return v.showTools(http.StatusOK, nil)
	}
	v.w.Header().Set("X-Robots-Tag", "noindex")
	t := v.toolNamed(name)
	if t == nil {
		return v.showTools(http.StatusNotFound, nil, notice{
			Tone: warn, Title: "There is no such tool", Text: "These are the available tools.",
		})
	}
	values, status := t.sent(form), http.StatusOK
	view := t.view(v.PublicURL, v.csrfToken(), values)
	if v.r.Method == http.MethodPost || t.method == "get" {
		status = v.use(t, values, &view)
	}
	if v.r.Header.Get(partHeader) == partOutcome && view.Outcome != nil {
		v.w.Header().Set(partHeader, partOutcome)
		return v.templates.renderPart(v.w, v.r, status, "toolbox", partOutcome, view.Outcome)
	}
	return v.showTools(status, &view)
}

// showTools shows all tools, one of them with its result.
func (v *request) showTools(status int, used *toolView, notices ...notice) error {
	p := toolboxPage{Visitors: number(service.VisitorLimit.Limit) + " uses a minute"}
	for _, g := range v.tools {
		group := toolGroupView{ID: g.ID, Title: g.Title}
		for _, t := range g.tools {
			if used != nil && t.meta.Name == used.Name {
				group.Tools = append(group.Tools, *used)
				continue
			}
			group.Tools = append(group.Tools, t.view(v.PublicURL, v.csrfToken(), t.examples()))
		}
		p.Groups = append(p.Groups, group)
	}
	return v.show(status, p, notices...)
}

func (p *Pages) toolNamed(name string) *tool {
	for _, g := range p.tools {
		for _, t := range g.tools {
			if t.meta.Name == name {
				return t
			}
		}
	}
	return nil
}

// use runs a tool and shows its result below its form. It returns the status of the page.
func (v *request) use(t *tool, values map[string]string, view *toolView) int {
	caller := v.caller()
	caller.Session, caller.Visitor = "", true
	began := v.Now()
	answer, refused := t.op.Serve(v.r.Context(), caller, t.args(values))
	took := v.Now().Sub(began)
	out := &outcome{Title: t.meta.Title}
	view.Outcome = out
	if refused != nil {
		v.retryAfter(refused)
		card := refusalCard(refused, v.request)
		out.Refused = &card
		out.Errors = view.blame(mistakesOf(refused, t.names()...))
		return refused.HTTP()
	}
	s, err := showAnswer(answer.JSON, t.op.Output())
	if err == nil {
		out.Answer = &s
	}
	out.Raw, out.Whole = rawJSON(answer.JSON)
	out.Facts = facts(took, answer.Hit, view.Cost)
	return http.StatusOK
}

// blame shows errors at their fields.
func (t *toolView) blame(wrong mistakes) []fieldError {
	var told []fieldError
	for i := range t.Inputs {
		in := &t.Inputs[i]
		if in.Error = wrong[in.Name]; in.Error != "" {
			told = append(told, fieldError{ID: in.ID(), Text: in.Error})
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
	return number(int64(d/time.Millisecond)) + " ms"
}

// liveTool returns the form of a tool for another page, or nil when there is no such tool.
func (v *request) liveTool(name string) *toolView {
	t := v.toolNamed(name)
	if t == nil || !t.live() {
		return nil
	}
	view := t.view(v.PublicURL, v.csrfToken(), t.examples())
	return &view
}
