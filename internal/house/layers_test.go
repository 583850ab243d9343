package house

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/chainaccess/gateway"

var update = flag.Bool("update", false, "write the layers into .golangci.yml")

// Groups of packages that rules speak of.
var (
	words   = []string{"fault", "chain", "provider", "plan", "account", "wallet", "x402", "subscription", "abi", "ticket", "jsonrpc", "redisconn", "config", "telemetry", "internal/faultpoint", "internal/together"}
	outside = []string{"store", "meter", "upstream", "cache", "billing", "notify", "geo", "facilitator"}
	flows   = []string{"fences", "audit", "flush", "outbox", "people", "admission", "relay", "toolbox", "settlement", "cashier", "statement", "alerts", "support", "activities", "workflows"}
	doors   = []string{"api", "mcp", "dashboard", "worker"}
	serving = join(words, outside, flows, doors, []string{"capability", "internal/assets", "migrations", "cmd/internal/wire"})
)

// rule is one line of the table: a package, with everything below it, and what it may import beside itself.
type rule struct {
	name  string
	allow []string
}

// layers is the package table of ARCHITECTURE.md. A package that it does not know fails the test, so a new package is given
// its place here first.
var layers = []rule{
	// Words.
	{"fault", nil},
	{"chain", []string{"fault"}},
	{"provider", []string{"chain"}},
	{"plan", []string{"fault"}},
	{"account", []string{"fault", "plan"}},
	{"wallet", []string{"fault"}},
	{"x402", []string{"fault", "plan", "wallet"}},
	{"subscription", []string{"fault", "plan"}},
	{"abi", nil},
	{"ticket", []string{"fault", "chain", "plan"}},
	{"jsonrpc", []string{"fault"}},
	{"redisconn", nil},
	{"config", []string{"wallet", "redisconn"}},
	{"telemetry", []string{"fault", "chain", "plan"}},
	// The outside; these never import each other.
	{"store", join(words, []string{"migrations"})},
	{"meter", words},
	{"upstream", words},
	{"cache", words},
	{"billing", words},
	{"notify", words},
	{"geo", []string{"plan"}},
	{"facilitator", words},
	{"internal/egress", nil},
	// Behaviour.
	{"fences", join(words, outside)},
	{"audit", join(words, []string{"store", "fences"})},
	{"flush", join(words, []string{"meter", "store"})},
	{"outbox", join(words, []string{"store", "notify"})},
	{"people", join(words, []string{"store", "meter", "notify", "outbox"})},
	{"admission", join(words, []string{"meter", "fences"})},
	{"relay", join(words, outside, []string{"fences", "admission"})},
	{"toolbox", join(words, []string{"upstream", "cache", "abi", "internal/egress"})},
	{"toolbox/ens", join(words, []string{"internal/egress", "toolbox/node"})},
	{"toolbox/contracts", join(words, []string{"cache", "toolbox/node"})},
	{"settlement", join(words, []string{"upstream"})},
	{"cashier", join(words, []string{"store", "meter", "facilitator"})},
	{"statement", join(words, []string{"store"})},
	{"alerts", join(words, []string{"store", "upstream", "notify", "outbox"})},
	{"support", join(words, []string{"store", "notify", "outbox"})},
	// Durable work.
	{"activities", join(words, outside, []string{"fences", "outbox", "settlement", "statement"})},
	{"workflows", join(words, []string{"activities"})},
	// What the service can do, and its doors. The relay's own route and the keys' route are no capabilities yet, so api
	// still reaches what they need.
	{"capability", join(words, outside, flows)},
	{"api", join(words, outside, []string{"fences", "relay", "capability", "cashier", "internal/assets"})},
	{"api/http1", nil},
	{"mcp", join(words, []string{"fences", "upstream", "relay", "capability", "internal/assets"})},
	{"dashboard", join(words, []string{"statement", "capability", "internal/assets"})},
	{"worker", join(words, []string{"store", "workflows", "activities", "flush"})},
	// The programs.
	{"cmd/internal/wire", join(words, outside, flows, doors, []string{"api/http1", "capability", "internal/egress", "migrations"})},
	{"cmd/gateway", serving},
	{"cmd/gateway-dev", join(serving, []string{"sandbox", "internal/devstack"})},
	// Aside.
	{"migrations", nil},
	{"sandbox", words},
	{"bench", join(serving, []string{"sandbox", "internal/devstack"})},
	{"faults", nil},
	{"internal/devstack", []string{"config"}},
	{"internal/testkit", []string{"internal/devstack", "migrations"}},
	{"internal/faultpoint", nil},
	{"internal/together", nil},
	{"internal/assets", nil},
	{"internal/house", nil},
	{"deploy", nil},
}

// unreachable lists what must not be linked into a package, however indirectly.
var unreachable = []struct {
	from, to, why string
}{
	{"cmd/gateway", module + "/sandbox", "production links no stand-ins"},
	{"cmd/gateway", module + "/internal/devstack", "production starts no servers"},
	{"cmd/gateway", "github.com/ethereum/go-ethereum/node", "production runs no chain"},
	{"admission", "go.temporal.io", "the hot path does not wait for durable work"},
	{"settlement", "go.temporal.io", "what a chain says does not depend on durable work"},
	{"toolbox", "go.temporal.io", "answers do not wait for durable work"},
	{"relay", "go.temporal.io", "the hot path does not wait for durable work"},
	{"meter", "go.temporal.io", "the hot path does not wait for durable work"},
	{"upstream", "go.temporal.io", "the hot path does not wait for durable work"},
	{"fences", "go.temporal.io", "the hot path does not wait for durable work"},
	{"flush", "go.temporal.io", "the record does not need Temporal"},
	{"outbox", "go.temporal.io", "a sign-in works while Temporal is away"},
	{"alerts", "go.temporal.io", "incidents are told while Temporal is away"},
	{"support", "go.temporal.io", "tickets are filed and answered while Temporal is away"},
	{"people", "go.temporal.io", "a sign-in works while Temporal is away"},
}

// vague are names that say nothing of what a package owns.
var vague = []string{"util", "utils", "common", "model", "models", "helper", "helpers", "types", "base", "misc", "shared", "lib"}

func join(lists ...[]string) []string { return slices.Concat(lists...) }

// listed is one package of the module as the go command sees it; names within the module are relative to it.
type listed struct {
	name    string
	imports []string // of the package itself, its tests left out
	deps    []string
}

// packages lists the module. Packages that do not build yet are listed as far as they go.
func packages(t *testing.T) []listed {
	t.Helper()
	const format = "{{.ImportPath}}\t{{join .Imports \",\"}}\t{{join .Deps \",\"}}"
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-f", format, "./...")
	cmd.Dir = root(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list the packages: %v: %s", err, stderr.String())
	}
	var all []listed
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(fields) != 3 {
			t.Fatalf("go list wrote %q, want three columns", line)
		}
		all = append(all, listed{
			name:    strings.TrimPrefix(strings.TrimPrefix(fields[0], module), "/"),
			imports: strings.Split(fields[1], ","),
			deps:    strings.Split(fields[2], ","),
		})
	}
	if len(all) == 0 {
		t.Fatal("go list found no packages")
	}
	return all
}

// root is the directory of the module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// within holds when name is the package or lies below it.
func within(name, parent string) bool {
	return name == parent || strings.HasPrefix(name, parent+"/")
}

// ruleOf finds the line of the table for a package: the longest that it lies within.
func ruleOf(name string) (rule, bool) {
	var best rule
	for _, r := range layers {
		if within(name, r.name) && len(r.name) > len(best.name) {
			best = r
		}
	}
	return best, best.name != ""
}

// errgroup leaves a panic alone in its goroutine. mayEnd are the packages whose process may end so: they answer nobody, or do so on one machine.
const errgroup = "golang.org/x/sync/errgroup"

var mayEnd = []string{"internal/together", "flush", "audit", "bench", "sandbox", "internal/devstack"}

// violations says what is wrong with a package's imports.
func violations(p listed) []string {
	r, known := ruleOf(p.name)
	if !known {
		return []string{fmt.Sprintf("%s is not in the table of layers: give it a place there and in ARCHITECTURE.md", p.name)}
	}
	var wrong []string
	for _, imported := range p.imports {
		name, ours := strings.CutPrefix(imported, module+"/")
		if !ours || within(name, r.name) || slices.ContainsFunc(r.allow, func(a string) bool { return within(name, a) }) {
			continue
		}
		wrong = append(wrong, fmt.Sprintf("%s imports %s, which its layer does not allow", p.name, name))
	}
	for _, u := range unreachable {
		if within(p.name, u.from) && slices.ContainsFunc(p.deps, func(d string) bool { return within(d, u.to) }) {
			wrong = append(wrong, fmt.Sprintf("%s reaches %s: %s", p.name, u.to, u.why))
		}
	}
	if slices.Contains(p.imports, errgroup) && !slices.ContainsFunc(mayEnd, func(name string) bool { return within(p.name, name) }) {
		wrong = append(wrong, p.name+" imports "+errgroup+", in which a panic ends the process: use internal/together")
	}
	if slices.Contains(vague, path.Base(p.name)) {
		wrong = append(wrong, fmt.Sprintf("%s: the name does not say what the package owns", p.name))
	}
	return wrong
}

func TestPackagesImportOnlyWhatTheirLayerAllows(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, wrong := range violations(p) {
			t.Error(wrong)
		}
	}
}

func TestLayerRulesFindViolations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pkg  listed
		want string
	}{
		{listed{name: "store", imports: []string{module + "/meter"}}, "store imports meter"},
		{listed{name: "store/db", imports: []string{module + "/relay"}}, "store/db imports relay"},
		{listed{name: "config", imports: []string{module + "/fault"}}, "config imports fault"},
		{listed{name: "api", imports: []string{module + "/internal/testkit"}}, "api imports internal/testkit"},
		{listed{name: "cmd/gateway", deps: []string{"github.com/ethereum/go-ethereum/node"}}, "reaches github.com/ethereum/go-ethereum/node"},
		{listed{name: "cmd/gateway", imports: []string{module + "/sandbox"}}, "cmd/gateway imports sandbox"},
		{listed{name: "relay", deps: []string{"go.temporal.io/sdk/client"}}, "reaches go.temporal.io"},
		{listed{name: "toolbox", imports: []string{"golang.org/x/sync/errgroup"}}, "a panic ends the process"},
		{listed{name: "store/common"}, "the name does not say"},
		{listed{name: "novelty"}, "not in the table"},
	} {
		if got := strings.Join(violations(c.pkg), "; "); !strings.Contains(got, c.want) {
			t.Errorf("%+v: got %q, want %q", c.pkg, got, c.want)
		}
	}
	clean := listed{name: "store/db", imports: []string{module + "/fault", "context", module + "/store"}}
	if got := violations(clean); got != nil {
		t.Errorf("%+v: got %q, want nothing", clean, got)
	}
}

const (
	layersBegin = "      # Layers: begin. Written by `go test ./internal/house -update` from the table in layers_test.go.\n"
	layersEnd   = "      # Layers: end.\n"
)

// TestLinterHoldsTheSameTable keeps the editor's and the test's idea of the layers together.
func TestLinterHoldsTheSameTable(t *testing.T) {
	t.Parallel()
	file := filepath.Join(root(t), ".golangci.yml")
	text, err := os.ReadFile(file) //nolint:gosec // a file of this repository
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), layersBegin)
	_, after, foundEnd := strings.Cut(rest, layersEnd)
	if !found || !foundEnd {
		t.Fatalf("%s lacks the lines between which the layers stand", file)
	}
	want := before + layersBegin + depguardRules() + layersEnd + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatal("the layers in .golangci.yml are not those of the table: run go test ./internal/house -update")
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil { //nolint:gosec // a file of this repository
		t.Fatal(err)
	}
}

// depguardRules writes the table in the linter's words: everything of ours is denied, and what is longer than that and
// listed is allowed.
func depguardRules() string {
	var b strings.Builder
	b.WriteString("      rules:\n")
	for _, r := range layers {
		allow := []string{module + "/" + r.name}
		for _, name := range r.allow {
			allow = append(allow, module+"/"+name)
		}
		fmt.Fprintf(&b, "        %s:\n", strings.ReplaceAll(r.name, "/", "-"))
		fmt.Fprintf(&b, "          list-mode: lax\n")
		fmt.Fprintf(&b, "          files: [\"${config-path}/%s/**.go\", \"!$test\"]\n", r.name)
		fmt.Fprintf(&b, "          deny: [{pkg: %q, desc: \"the layers of ARCHITECTURE.md do not allow it\"}]\n", module)
		b.WriteString("          allow:\n")
		for _, name := range allow {
			fmt.Fprintf(&b, "            - %s\n", name)
		}
	}
	return b.String()
}
