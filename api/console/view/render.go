package view

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
	"sync"

	"github.com/chainaccess/gateway/api/console/paths"
)

// product is the name of the service in titles.
const product = "Chain Access Gateway"

// Files that are parsed with every page.
const (
	frameFile      = "frame.html"
	componentsFile = "components.html"
	toolFile       = "tool.html"
	supportFile    = "support.html"
	chainsFile     = "chains.html"
)

var everywhere = []string{frameFile, componentsFile, toolFile, supportFile, chainsFile}

//go:embed templates/*.html
var sharedFiles embed.FS

// Templates are parsed pages by name, each with the frame and the components.
type Templates map[string]*template.Template

// baseTemplates parses the frame and the components, which name the assets.
var baseTemplates = sync.OnceValues(func() (*template.Template, error) {
	a, err := Assets()
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(everywhere))
	for i, file := range everywhere {
		paths[i] = path.Join("templates", file)
	}
	base, err := template.New("base").Option("missingkey=error").Funcs(template.FuncMap{
		"asset":   a.Path,
		"product": func() string { return product },
		"key":     func(r KeyRow) string { return "/keys/" + r.ID },
		"asking":  func(token, with string) Asking { return Asking{token, with} },
	}).ParseFS(sharedFiles, paths...)
	if err != nil {
		return nil, fmt.Errorf("parse the frame: %w", err)
	}
	return base, nil
})

// SharedPages parses the pages that several sections show.
func SharedPages() (Templates, error) { return ParsePages(sharedFiles) }

// parsedPages holds the pages of embedded files that were parsed: they never change.
var parsedPages sync.Map // of templateSet by embed.FS

// ParsePages parses the templates of the embedded files of a section, once: each file is a page of
// its name.
func ParsePages(section embed.FS) (Templates, error) {
	if known, ok := parsedPages.Load(section); ok {
		return known.(Templates), nil //nolint:errcheck,forcetypeassert // the map holds nothing else
	}
	base, err := baseTemplates()
	if err != nil {
		return nil, err
	}
	set := Templates{}
	err = fs.WalkDir(section, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || slices.Contains(everywhere, path.Base(file)) {
			return err
		}
		one, err := base.Clone()
		if err != nil {
			return fmt.Errorf("copy the frame for %s: %w", file, err)
		}
		if set[strings.TrimSuffix(path.Base(file), ".html")], err = one.ParseFS(section, file); err != nil {
			return fmt.Errorf("parse page %s: %w", file, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	parsedPages.Store(section, set)
	return set, nil
}

// Person is who is signed in, and in which account.
type Person struct {
	Email, Account, Plan string
	Period, Left         string
	Others               []OtherAccount
	Staff                bool // may answer the tickets of all accounts
}

// OtherAccount is an account that the person may switch to.
type OtherAccount struct{ ID, Name string }

// RailItem is an entry of the navigation.
type RailItem struct {
	Link

	Section, Icon string
}

var rail = []RailItem{
	{Link{"Overview", "/overview"}, SectionOverview, "M2.5 13.5h11M4 11V8m4 3V3m4 8V6"},
	{Link{"Usage", paths.Usage}, SectionUsage, "M2 12.5l3.5-4 3 2.5L14 4m0 0h-3.5M14 4v3.5"},
	{Link{"Keys", "/keys"}, SectionKeys, "M8.2 7.8 13 3m-2 2 1.8 1.8M9 10.5a3 3 0 1 1-6 0 3 3 0 0 1 6 0Z"},
	{
		Link{"Agents", "/agents"},
		SectionAgents,
		"M8 2v2.5M4.5 4.5h7A1.5 1.5 0 0 1 13 6v5a1.5 1.5 0 0 1-1.5 1.5h-7A1.5 1.5 0 0 1 3 11V6a1.5 1.5 0 0 1 " +
			"1.5-1.5ZM6 7.5v1m4-1v1M5.5 14.5h5",
	},
	{Link{"Billing", "/billing"}, SectionBilling, "M2 4.5h12v8H2zM2 7h12M4.5 10.5h3"},
	{
		Link{"Statements", "/statements"},
		SectionStatements,
		"M4 1.5h8v13l-2-1.2-2 1.2-2-1.2-2 1.2v-13ZM6 5h4m-4 3h4m-4 3h2",
	},
	{Link{"Tickets", paths.Tickets}, SectionTickets, "M2.5 3.5h11v8H8l-3 2.5v-2.5H2.5v-8ZM5 6.5h6m-6 2.5h4"},
	{
		Link{"Settings", "/settings"},
		SectionSettings,
		"M2.5 4.5h6m3 0h2m-11 7h2m3 0h6M11.5 4.5a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0Zm-4 7a1.5 1.5 0 1 1-3 0 1.5 1.5 " +
			"0 0 1 3 0Z",
	},
}

// deskItem is the navigation entry that only staff have.
var deskItem = RailItem{
	Link{"Desk", paths.StaffTickets},
	SectionDesk,
	"M2 9.5V8a6 6 0 0 1 12 0v1.5M2 9.5h2v3H2zm10 0h2v3h-2zm1 3c0 1.2-1.5 2-3.5 2",
}

// Frame is the layout around every page.
type Frame struct {
	Head

	Theme   Theme
	Token   string // the CSRF token of every form
	Path    string // of this page, to return to
	Person  *Person
	Notices []Notice
	Page    Page
}

// Rail returns the entries of the navigation; staff have one more.
func (f Frame) Rail() []RailItem {
	if f.Person != nil && f.Person.Staff {
		return append(slices.Clone(rail), deskItem)
	}
	return rail
}

// Themes returns the options of the theme switch.
func (Frame) Themes() []Theme { return Themes }

// Render writes a page. It renders the whole page first, so that a failure does not send half of
// one.
func (t Templates) Render(w http.ResponseWriter, r *http.Request, status int, f Frame, p Page) error {
	f.Head, f.Page = p.Head(), p
	return t.RenderPart(w, r, status, f.Template, "document", f)
}

// RenderPart writes one template of a page.
func (t Templates) RenderPart(w http.ResponseWriter, r *http.Request, status int, page, part string,
	content any,
) error {
	set, ok := t[page]
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

// Sayer is a long page that shows messages at one of its parts.
type Sayer interface {
	// Say shows a message at a part, and reports whether the page has that part.
	Say(part string, n Notice) bool
}
