package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/chainaccess/gateway/internal/assets"
)

//go:embed templates
var templateFiles embed.FS

// product is the name of the service in titles.
const product = "Chain Access Gateway"

// templates are the pages' templates, each parsed with the frame and the components.
type templates struct {
	pages map[string]*template.Template
}

// Files that are parsed with every page.
const (
	frameFile      = "frame.html"
	componentsFile = "components.html"
	toolFile       = "tool.html"
	supportFile    = "support.html"
	chainsFile     = "chains.html"
)

var everywhere = []string{frameFile, componentsFile, toolFile, supportFile, chainsFile}

func templatePaths(files []string) []string {
	paths := make([]string, len(files))
	for i, file := range files {
		paths[i] = path.Join("templates", file)
	}
	return paths
}

// loadTemplates parses the embedded templates.
func loadTemplates(a *assets.Set) (*templates, error) {
	base, err := template.New("base").Option("missingkey=error").Funcs(template.FuncMap{
		"asset":   a.Path,
		"product": func() string { return product },
		"key":     func(r keyRow) string { return "/keys/" + r.ID },
		"asking":  func(token, with string) asking { return asking{token, with} },
	}).ParseFS(templateFiles, templatePaths(everywhere)...)
	if err != nil {
		return nil, fmt.Errorf("parse the frame: %w", err)
	}
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("list templates: %w", err)
	}
	all := &templates{pages: map[string]*template.Template{}}
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if slices.Contains(everywhere, path.Base(file)) {
			continue
		}
		set, err := base.Clone()
		if err != nil {
			return nil, fmt.Errorf("copy the frame for %s: %w", name, err)
		}
		if all.pages[name], err = set.ParseFS(templateFiles, file); err != nil {
			return nil, fmt.Errorf("parse page %s: %w", name, err)
		}
	}
	return all, nil
}

// person is who is signed in, and in which account.
type person struct {
	Email, Account, Plan string
	Period, Left         string
	Others               []otherAccount
	Staff                bool // may answer the tickets of all accounts
}

// otherAccount is an account that the person may switch to.
type otherAccount struct{ ID, Name string }

// railItem is an entry of the navigation.
type railItem struct {
	link

	Section, Icon string
}

var rail = []railItem{
	{link{"Overview", "/overview"}, sectionOverview, "M2.5 13.5h11M4 11V8m4 3V3m4 8V6"},
	{link{"Usage", pathUsage}, sectionUsage, "M2 12.5l3.5-4 3 2.5L14 4m0 0h-3.5M14 4v3.5"},
	{link{"Keys", "/keys"}, sectionKeys, "M8.2 7.8 13 3m-2 2 1.8 1.8M9 10.5a3 3 0 1 1-6 0 3 3 0 0 1 6 0Z"},
	{
		link{"Agents", "/agents"},
		sectionAgents,
		"M8 2v2.5M4.5 4.5h7A1.5 1.5 0 0 1 13 6v5a1.5 1.5 0 0 1-1.5 1.5h-7A1.5 1.5 0 0 1 3 11V6a1.5 1.5 0 0 1 " +
			"1.5-1.5ZM6 7.5v1m4-1v1M5.5 14.5h5",
	},
	{link{"Billing", "/billing"}, sectionBilling, "M2 4.5h12v8H2zM2 7h12M4.5 10.5h3"},
	{
		link{"Statements", "/statements"},
		sectionStatements,
		"M4 1.5h8v13l-2-1.2-2 1.2-2-1.2-2 1.2v-13ZM6 5h4m-4 3h4m-4 3h2",
	},
	{link{"Tickets", pathTickets}, sectionTickets, "M2.5 3.5h11v8H8l-3 2.5v-2.5H2.5v-8ZM5 6.5h6m-6 2.5h4"},
	{
		link{"Settings", "/settings"},
		sectionSettings,
		"M2.5 4.5h6m3 0h2m-11 7h2m3 0h6M11.5 4.5a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0Zm-4 7a1.5 1.5 0 1 1-3 0 1.5 1.5 " +
			"0 0 1 3 0Z",
	},
}

// frame is the layout around every page.
type frame struct {
	head

	Theme   theme
	Token   string // the CSRF token of every form
	Path    string // of this page, to return to
	Person  *person
	Notices []notice
	Page    page
}

// Rail returns the entries of the navigation; staff have one more.
func (f frame) Rail() []railItem {
	if f.Person != nil && f.Person.Staff {
		return append(slices.Clone(rail), deskItem)
	}
	return rail
}

// Themes returns the options of the theme switch.
func (frame) Themes() []theme { return themes }

// render writes a page. It renders the whole page first, so that a failure does not send half of
// one.
func (t *templates) render(w http.ResponseWriter, r *http.Request, status int, f frame, p page) error {
	f.head, f.Page = p.head(), p
	return t.renderPart(w, r, status, f.Template, "document", f)
}

// renderPart writes one template of a page.
func (t *templates) renderPart(w http.ResponseWriter, r *http.Request, status int, page, part string,
	content any,
) error {
	set, ok := t.pages[page]
	if !ok {
		return fmt.Errorf("render: there is no page %q", page)
	}
	var body bytes.Buffer
	if err := set.ExecuteTemplate(&body, part, content); err != nil {
		return fmt.Errorf("render page %s: %w", page, err)
	}
	sendPage(w, r, status, body.Bytes())
	return nil
}
