// Package pages owns the documents of the HTTP interface: the terms, the guides for programs, and
// the page that shows the interface. Every figure in them comes from the package that owns it
// (plan, chain, service, fault). The package serves nothing.
package pages

import (
	"bytes"
	"embed"
	"fmt"
	htmltemplate "html/template"
	"maps"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/chainaccess/gateway/api/internal/openapi"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
)

//go:embed templates
var templateFiles embed.FS

// Facts are what differs between deployments.
type Facts struct {
	PublicURL  string // without a trailing slash
	Contact    string
	MaxBody    int64 // of the relay, in bytes
	MaxMessage int64 // to the MCP server, in bytes
	// KeepCallDays is how long a call record is kept; the worker deletes older ones.
	KeepCallDays int
	Operations   []openapi.Operation // of the document
	Tools        []operation.Meta    // metered operations with a route
	AgentTools   []AgentTool         // of the MCP server; none when it does not run
	Chains       *chain.Set
	Asset        func(file string) (string, error) // address of an asset
	// Console reports whether the console has a page at a path; nil without a console.
	Console func(path string) bool
}

// Themes lists the colour themes: that of the reader's system first, then those that a reader can
// choose.
func Themes() []string { return []string{"auto", "light", "dark"} }

// Page is a page to render.
type Page struct {
	Name  string // one of the names below
	Path  string // its path
	Theme string // one of Themes
	Code  int    // for the page of a code
}

// view is the data of a template.
type view struct {
	Facts
	Page

	Error errorCode // for the page of a code
}

// Leads reports whether a path exists here: all do except pages of a console that does not run.
func (v view) Leads(path string) bool {
	return !slices.Contains(consolePaths, path) || v.Console != nil && v.Console(path)
}

// Switches reports whether the page has a theme switch, which needs the console to store the
// choice.
func (v view) Switches() bool { return v.Console != nil }

// entry is an entry of the documents' navigation.
type entry struct{ To, Text, Current string }

// entryOf returns an entry, marked as current when the shown page is its own or, for error codes,
// below it.
func entryOf(shown, to, text string) entry {
	e := entry{To: to, Text: text}
	switch {
	case shown == to:
		e.Current = "page"
	case to == ErrorsPath && strings.HasPrefix(shown, to+"/"):
		e.Current = "true"
	}
	return e
}

// consolePaths are the paths of the console that documents link to.
var consolePaths = []string{
	"/pricing", "/toolbox", "/status", "/sign-in", "/billing", "/keys", "/agents", "/settings",
	"/statements", "/support/new",
}

// Names of the pages.
const (
	Terms = "terms.html"
	Skill = "skill.md"
	Llms  = "llms.txt"
	Docs  = "docs.html"
	// Agents explains how to add the MCP server to programs that run agents.
	Agents = "agents.html"
	// Quickstart has the first call with each client, Pay the guide to paying per call.
	Quickstart = "quickstart.html"
	Pay        = "pay.html"
	// Errors lists the codes; Code is the page of one.
	Errors = "errors.html"
	Code   = "code.html"
)

// Render writes a page.
func Render(p Page, f Facts) ([]byte, error) {
	var out bytes.Buffer
	var err error
	content := view{Facts: f, Page: p}
	if p.Code != 0 {
		if content.Error, err = errorCodeOf(p.Code, f.PublicURL); err != nil {
			return nil, fmt.Errorf("page %s: %w", p.Path, err)
		}
	}
	if strings.HasSuffix(p.Name, ".html") {
		var t *htmltemplate.Template
		if t, err = htmltemplate.New(p.Name).Funcs(words(f)).ParseFS(templateFiles, "templates/frame.html",
			"templates/"+p.Name); err == nil {
			err = t.Execute(&out, content)
		}
	} else {
		var t *template.Template
		if t, err = template.New(p.Name).Funcs(words(f)).ParseFS(templateFiles, "templates/"+p.Name); err == nil {
			err = t.Execute(&out, content)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("page %s: %w", p.Path, err)
	}
	return out.Bytes(), nil
}

// words returns the functions that templates may call.
func words(f Facts) template.FuncMap {
	all := template.FuncMap{
		"service": func() string { return openapi.ServiceName },
		"version": func() string { return openapi.Version },
		"terms":   func() string { return keys.TermsVersion },
		"asset":   f.Asset,
		"themes":  Themes,
		"title":   func(word string) string { return strings.ToUpper(word[:1]) + word[1:] },
		"chains":  f.Chains.All,
		"plan":    plan.Must,
		"tiers":   tiers,
		"rate":    rate,
		"whole":   func(n int64) string { return plan.Group(fmt.Sprint(n)) },
		"serves": func(path string) bool {
			return slices.ContainsFunc(f.Operations, func(o openapi.Operation) bool { return o.Path == path })
		},
		"sections": openapi.Sections,
		// parts splits a path where a line may break.
		"parts":  func(path string) []string { return strings.SplitAfter(path, "/") },
		"tools":  func() []tool { return toolsOf(f.Tools) },
		"heavy":  heavy,
		"short":  func() []cached { return byRule(chain.Short) },
		"final":  func() []cached { return byRule(chain.Final) },
		"local":  func() []cached { return byRule(chain.Local) },
		"writes": writes,
		"wide":   func() (int, error) { return weight("eth_getLogs", `[{"fromBlock":"0x0","toBlock":"0x3e7"}]`) },
		"deep": func() (int, error) {
			return weight("eth_getBalance", `["0x0000000000000000000000000000000000000000","0x0"]`)
		},
		"refusals":   fault.Table,
		"code":       codeOf,
		"steps":      func(e fault.Entry) string { return strings.Join(e.Steps, " ") },
		"mail":       func(at string) bool { return strings.Contains(at, "@") },
		"keysPerDay": func() int { return keys.KeysPerDay },
		"limits": func() limits {
			return limits{
				Batch: relay.MaxBatch, LogBlocks: chain.MaxLogBlocks, WideLogBlocks: chain.WideLogBlocks,
				FeeBlocks: chain.MaxFeeBlocks, StateDepth: chain.StateDepth, FinalDepth: chain.FinalDepth,
				PackMonths: plan.PackMonths, KeepCallDays: f.KeepCallDays,
			}
		},
	}
	maps.Copy(all, wordsOfAgents(f.PublicURL+mcpPath))
	maps.Copy(all, template.FuncMap{
		"viewerKilobytes": viewerKilobytes,
		"quickStarts":     func() ([]started, error) { return quickStarts(f.PublicURL) },
		"payProgram":      func() (Snippet, error) { return payProgram(f.PublicURL) },
		"perCall":         plan.PerCallTiers,
		"window":          func() int64 { return int64(plan.SettlementWindow / time.Minute) },
		"perPayment":      plan.UnitsPerPayment.Grouped,
		"maxUnits":        plan.MaxUnitsPerSettlement.Grouped,
		"entry":           entryOf,
		"copied":          func(id, what, text string) Snippet { return Snippet{id, what, text} },
		"errorCodes": func() ([]errorCode, error) {
			var all []errorCode
			for _, code := range Codes() {
				e, err := errorCodeOf(code, f.PublicURL)
				if err != nil {
					return nil, err
				}
				all = append(all, e)
			}
			return all, nil
		},
	})
	return all
}

// wordsOfAgents returns the functions about the MCP server at an address.
func wordsOfAgents(address string) template.FuncMap {
	where := func(free bool) func([]AgentTool) []AgentTool {
		return func(all []AgentTool) []AgentTool {
			return slices.DeleteFunc(slices.Clone(all), func(t AgentTool) bool { return t.KeyFree != free })
		}
	}
	return template.FuncMap{
		"interfaceVersion": func() string { return service.InterfaceVersion },
		"agentPrograms":    func() []agentProgram { return agentPrograms(address) },
		"anyClient":        func() []Snippet { return anyClient(address) },
		"fromTypeScript":   func() Snippet { return fromTypeScript(address) },
		"coded":            coded,
		"keyVariable":      func() string { return keyVariable },
		"keyFree":          where(true),
		"keyed":            where(false),
		"managementLimit":  func() plan.RateWindow { return operation.ManagementLimit },
		"adviceLimit":      func() plan.RateWindow { return operation.AdviceLimit },
	}
}

// KeepCallDays is the default number of days for which call records are kept.
const KeepCallDays = 30

// limits are the limits that pages mention.
type limits struct {
	Batch, LogBlocks, WideLogBlocks, FeeBlocks, StateDepth, FinalDepth, PackMonths, KeepCallDays int
}

// coded returns a text as HTML, with everything between backticks as code.
func coded(text string) htmltemplate.HTML {
	var out strings.Builder
	for i, part := range strings.Split(text, "`") {
		part = htmltemplate.HTMLEscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		out.WriteString(part)
	}
	return htmltemplate.HTML(out.String()) //nolint:gosec // every part is escaped
}

// tier is a route tier with its multiplier.
type tier struct {
	Name       plan.Tier
	Multiplier plan.Units
}

func tiers() []tier {
	var all []tier
	for _, t := range plan.Tiers() {
		all = append(all, tier{t, plan.Units(t.Multiplier())})
	}
	return all
}

// rate describes a rate window in words.
func rate(w plan.RateWindow) string {
	per := " requests in " + fmt.Sprint(int64(w.Per/time.Second)) + " seconds"
	switch {
	case w.Per == time.Second:
		per = " requests a second"
	case w.Per == time.Minute:
		per = " requests a minute"
	case w.Per%time.Minute == 0:
		per = " requests in " + fmt.Sprint(int64(w.Per/time.Minute)) + " minutes"
	}
	return plan.Group(fmt.Sprint(w.Limit)) + per
}

// cached is a method that may be answered from the cache.
type cached struct {
	Name string
	TTL  string
}

func byRule(rule chain.CacheRule) []cached {
	var list []cached
	for _, m := range methods() {
		if m.Cache == rule {
			list = append(list, cached{m.Name, ttl(m.TTL)})
		}
	}
	return list
}

// tool is a metered operation, for guides.
type tool struct {
	Route, Title, Units, Kept, Service string
}

func toolsOf(metas []operation.Meta) []tool {
	list := make([]tool, 0, len(metas))
	for i := range metas {
		m := &metas[i]
		t := tool{
			Route: m.Route.Method + " " + m.Route.Path, Title: m.Title, Units: m.Units.String(), Kept: "never",
			Service: string(m.Service),
		}
		if m.TTL > 0 {
			t.Kept = ttl(m.TTL)
		}
		list = append(list, t)
	}
	return list
}

func ttl(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == day:
		return "24 hours"
	case d > day:
		return fmt.Sprintf("%d days", d/day)
	case d > time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d minutes", d/time.Minute)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

// methods lists the methods of all chains without duplicates.
func methods() []*chain.Method {
	var list []*chain.Method
	seen := map[string]bool{}
	for _, c := range chain.BuiltIn().All() {
		for _, m := range c.Methods() {
			if !seen[m.Name] {
				seen[m.Name] = true
				list = append(list, m)
			}
		}
	}
	return list
}

// heavyGroup holds the heavy methods of a namespace with the same weight.
type heavyGroup struct {
	Names string
	Units int
}

// heavy lists the methods of the heavy class, by namespace.
func heavy() []heavyGroup {
	var groups []heavyGroup
	at, mixed := map[string]int{}, map[string]bool{}
	for _, m := range methods() {
		if space, _, ok := strings.Cut(m.Name, "_"); ok && m.Class != chain.Heavy {
			mixed[space] = true
		}
	}
	for _, m := range methods() {
		if m.Class != chain.Heavy {
			continue
		}
		name, key := m.Name, fmt.Sprintf("%s/%d", m.Name, m.Weight)
		if space, _, ok := strings.Cut(m.Name, "_"); ok && !mixed[space] {
			name, key = space+"_*", fmt.Sprintf("%s/%d", space, m.Weight)
		}
		if _, known := at[key]; !known {
			at[key] = len(groups)
			groups = append(groups, heavyGroup{name, m.Weight})
		}
	}
	return groups
}

// weight returns the units of a call on Ethereum when the head is block 1,000,000.
func weight(method, params string) (int, error) {
	const head = 1_000_000
	c, _ := chain.BuiltIn().Lookup(string(chain.EthMainnet))
	m, ok := c.Method([]byte(method))
	if !ok {
		return 0, fmt.Errorf("%s is not in the catalog", method)
	}
	w, refusal := m.Weigh([]byte(params), chain.Heads{Latest: head})
	if refusal != nil {
		return 0, refusal
	}
	return w.Units, nil
}

// writes lists the methods that submit transactions.
func writes() []string {
	var names []string
	for _, m := range methods() {
		if m.Write {
			names = append(names, m.Name)
		}
	}
	return names
}

func codeOf(name string) (int, error) {
	r, ok := fault.Named(name)
	if !ok {
		return 0, fmt.Errorf("no reason is called %q", name)
	}
	return r.Entry().Code, nil
}
