package archtest

import (
	"bytes"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/chainaccess/gateway"

// Groups of packages that the rules refer to.
var (
	words = []string{
		"internal/fault", "relay/chain", "toolbox/provider", "metering/plan", "identity/account",
		"identity/wallet", "payments/x402", "billing/subscription", "toolbox/abi", "messaging/ticket", "relay/jsonrpc",
		"internal/redisconn", "metering/netlimit", "relay/price", "internal/config", "internal/telemetry",
		"internal/faultpoint", "internal/parallel",
	}
	outside = []string{
		"store", "metering/meter", "relay/upstream", "relay/cache", "billing", "messaging/notify",
		"identity/geo", "payments/facilitator",
	}
	flows = []string{
		"metering/limits", "metering/audit", "metering/flush", "messaging/outbox", "identity/people",
		"metering/admission", "relay", "toolbox/node", "toolbox", "toolbox/ens", "toolbox/contracts",
		"payments/settlement", "payments/stock", "billing/statement", "messaging/alerts", "messaging/support",
		"activities", "workflows",
	}
	// abilities are the operations, by noun; service is the registry of all.
	abilities = []string{
		"service/operation", "service/accounts", "service/agents", "service/keys", "service/payments",
		"service/statements", "service/tools", "service/billing", "service/usage", "service/status", "service/tickets",
		"service/advice", "service",
	}
	doors = []string{"api", "api/mcp", "api/console/site", "api/console", "worker"}
	// What the sections of the console share, and the sections, which never import each other.
	pages = join(abilities, []string{
		"api/console/paths", "api/console/view", "api/console/tickets", "api/console/site",
	})
	sections = []string{
		"api/console/home", "api/console/toolbox", "api/console/public", "api/console/signin", "api/console/usage",
		"api/console/keys", "api/console/support", "api/console/staff", "api/console/billing", "api/console/settings",
	}
	serving = join(words, outside, flows, abilities, doors, []string{
		"internal/assets", "migrations", "cmd/internal/connect", "cmd/internal/listen",
		"cmd/internal/sideport", "cmd/internal/operator", "cmd/internal/wire",
	})
)

// rule is one line of the table: a package, including the packages below it that have no line of
// their own, and what it may import.
type rule struct {
	name  string
	allow []string
}

// layers is the package table of ARCHITECTURE.md, lowest layer first. The test fails for a package
// that is missing here.
var layers = []rule{
	// Imported by everything.
	{"internal/faultpoint", nil},
	{"internal/parallel", nil},
	{"internal/assets", nil},
	{"migrations", nil},
	// Domain words.
	{"internal/fault", nil},
	{"relay/chain", []string{"internal/fault"}},
	{"toolbox/provider", []string{"relay/chain"}},
	{"metering/plan", []string{"internal/fault"}},
	{"identity/account", []string{"internal/fault", "metering/plan"}},
	{"identity/wallet", []string{"internal/fault"}},
	{"payments/x402", []string{"internal/fault", "metering/plan", "identity/wallet"}},
	{"billing/subscription", []string{"internal/fault", "metering/plan"}},
	{"toolbox/abi", nil},
	{"messaging/ticket", []string{"internal/fault", "relay/chain", "metering/plan"}},
	{"relay/jsonrpc", []string{"internal/fault"}},
	{"internal/redisconn", nil},
	{"metering/netlimit", nil},
	{"relay/price", nil},
	{"internal/config", []string{
		"identity/wallet", "internal/redisconn", "metering/netlimit", "metering/plan", "relay/chain", "relay/price",
	}},
	{"internal/telemetry", []string{
		"internal/fault", "relay/chain", "metering/plan", "metering/netlimit", "relay/price",
	}},
	// Adapters to outside systems; these never import each other.
	{"store", join(words, []string{"migrations"})},
	{"metering/meter", words},
	{"relay/upstream", words},
	{"relay/cache", words},
	{"billing", words},
	{"messaging/notify", words},
	{"identity/geo", []string{"metering/plan"}},
	{"payments/facilitator", words},
	{"internal/egress", nil},
	// Behaviour.
	{"metering/limits", join(words, outside)},
	{"metering/audit", join(words, []string{"store", "metering/limits"})},
	{"metering/flush", join(words, []string{"metering/meter", "store"})},
	{"messaging/outbox", join(words, []string{"store", "messaging/notify"})},
	{"identity/people", join(words, []string{"store", "metering/meter", "messaging/notify", "messaging/outbox"})},
	{"metering/admission", join(words, []string{"metering/meter", "metering/limits"})},
	{"relay", join(words, outside, []string{"metering/limits", "metering/admission"})},
	{"toolbox/node", join(words, []string{"relay/upstream", "relay/cache"})},
	{"toolbox", join(words, []string{"relay/upstream", "relay/cache", "internal/egress", "toolbox/node"})},
	{"toolbox/ens", join(words, []string{"internal/egress", "toolbox/node"})},
	{"toolbox/contracts", join(words, []string{"relay/cache", "toolbox/node"})},
	{"payments/settlement", join(words, []string{"relay/upstream"})},
	{"payments/stock", join(words, []string{"store", "metering/meter", "payments/facilitator"})},
	{"billing/statement", join(words, []string{"store"})},
	{"messaging/alerts", join(words, []string{"store", "relay/upstream", "messaging/notify", "messaging/outbox"})},
	{"messaging/support", join(words, []string{"store", "messaging/notify", "messaging/outbox"})},
	// Durable work.
	{"activities", join(words, outside, []string{
		"metering/limits", "messaging/outbox", "payments/settlement", "billing/statement",
	})},
	{"workflows", join(words, []string{"activities"})},
	// The operations, and the transports that serve them. The relay's route and the keys' route are
	// not operations yet, so api still imports what they need.
	{"service/operation", join(words, outside, []string{
		"metering/limits", "metering/admission", "relay", "identity/people", "billing/statement",
	})},
	{"service/accounts", join(words, []string{"store", "identity/people", "service/operation"})},
	{"service/agents", join(words, []string{
		"store", "metering/limits", "toolbox/node", "activities", "workflows", "service/operation",
	})},
	{"service/keys", join(words, []string{
		"store", "metering/limits", "workflows", "service/operation", "service/agents",
	})},
	{"service/payments", join(words, []string{
		"store", "relay/upstream", "relay/cache", "metering/limits", "payments/settlement", "activities", "workflows",
		"service/operation",
	})},
	{"service/statements", join(words, []string{"store", "billing/statement", "service/operation"})},
	{"service/tools", join(words, []string{
		"toolbox", "toolbox/node", "toolbox/ens", "toolbox/contracts", "service/operation",
	})},
	{"service/billing", join(words, []string{
		"store", "billing", "metering/limits", "activities", "workflows", "service/operation",
	})},
	{"service/usage", join(words, []string{
		"store", "metering/limits", "billing/statement", "service/operation", "service/billing",
	})},
	{"service/status", join(words, []string{"store", "relay/upstream", "service/operation"})},
	{"service/tickets", join(words, []string{
		"store", "relay/upstream", "messaging/outbox", "messaging/support", "activities", "workflows",
		"service/operation", "service/usage",
	})},
	{"service/advice", join(words, []string{
		"store", "billing", "relay/upstream", "metering/limits", "billing/statement", "service/operation",
		"service/keys", "service/billing", "service/status", "service/usage",
	})},
	{"service", join(words, outside, flows, abilities)},
	{"api", join(words, outside, abilities, []string{
		"metering/limits", "relay", "payments/stock", "internal/assets",
	})},
	{"api/http1", nil},
	{"api/mcp", join(words, abilities, []string{"metering/limits", "relay/upstream", "relay", "internal/assets"})},
	{"api/console/paths", nil},
	{"api/console/view", join(words, abilities, []string{"internal/assets", "api/console/paths"})},
	{"api/console/tickets", join(words, abilities, []string{"api/console/paths", "api/console/view"})},
	{"api/console/site", join(words, abilities, []string{
		"billing/statement", "internal/assets", "api/console/paths", "api/console/view",
	})},
	{"api/console/internal/consoletest", join(words, pages, []string{"billing/statement"})},
	{"api/console/home", join(words, pages)},
	{"api/console/toolbox", join(words, pages)},
	{"api/console/public", join(words, pages)},
	{"api/console/signin", join(words, pages)},
	{"api/console/usage", join(words, pages)},
	{"api/console/keys", join(words, pages)},
	{"api/console/support", join(words, pages)},
	{"api/console/staff", join(words, pages)},
	{"api/console/billing", join(words, pages, []string{"billing/statement"})},
	{"api/console/settings", join(words, pages)},
	{"api/console", join(sections, []string{"api/console/site"})},
	{"worker", join(words, []string{"store", "workflows", "activities", "metering/flush"})},
	// Stand-ins and servers for development.
	{"internal/sandbox", words},
	{"internal/devstack", []string{"internal/config"}},
	// The programs.
	{"cmd/internal/connect", join(words, outside, []string{"messaging/outbox", "workflows"})},
	{"cmd/internal/listen", []string{"internal/config", "internal/telemetry", "metering/netlimit", "api/http1"}},
	{"cmd/internal/sideport", []string{"internal/telemetry", "relay/upstream"}},
	{"cmd/internal/operator", join(words, outside, flows, []string{"migrations", "cmd/internal/connect"})},
	{"cmd/internal/wire", join(words, outside, flows, abilities, doors, []string{
		"api/http1", "internal/egress", "cmd/internal/connect", "cmd/internal/listen",
		"cmd/internal/sideport",
	})},
	{"cmd/gateway", serving},
	{"cmd/gateway-dev", join(serving, []string{"internal/sandbox", "internal/devstack"})},
	// Benchmarks and tests.
	{"internal/bench", join(serving, []string{"internal/sandbox", "internal/devstack"})},
	{"test/chaos", nil},
	{"internal/testkit", []string{"internal/devstack", "migrations"}},
	{"api/internal/apitest", join(words, outside, flows, abilities, doors, []string{
		"api/http1", "internal/egress", "internal/testkit",
	})},
	{"relay/upstream/internal/upstreamtest", join(words, []string{"relay/upstream", "internal/testkit"})},
	{"service/internal/servicetest", join(words, outside, flows, abilities, []string{
		"internal/sandbox", "internal/testkit",
	})},
	{"store/internal/storetest", []string{"identity/account", "metering/plan", "store", "internal/testkit"}},
	{"internal/archtest", nil},
	{"deploy", nil},
}

// unreachable lists packages that must not be linked into another one, even indirectly.
var unreachable = []struct {
	from, to, why string
}{
	{"cmd/gateway", module + "/internal/sandbox", "production links no stand-ins"},
	{"cmd/gateway", module + "/internal/devstack", "production starts no servers"},
	{"cmd/gateway", "github.com/ethereum/go-ethereum/node", "production runs no chain"},
	{"metering/admission", "go.temporal.io", "the hot path does not wait for durable work"},
	{"payments/settlement", "go.temporal.io", "what a chain says does not depend on durable work"},
	{"toolbox", "go.temporal.io", "answers do not wait for durable work"},
	{"relay", "go.temporal.io", "the hot path does not wait for durable work"},
	{"metering/meter", "go.temporal.io", "the hot path does not wait for durable work"},
	{"relay/upstream", "go.temporal.io", "the hot path does not wait for durable work"},
	{"metering/limits", "go.temporal.io", "the hot path does not wait for durable work"},
	{"metering/flush", "go.temporal.io", "the record does not need Temporal"},
	{"messaging/outbox", "go.temporal.io", "a sign-in works while Temporal is away"},
	{"messaging/alerts", "go.temporal.io", "incidents are told while Temporal is away"},
	{"messaging/support", "go.temporal.io", "tickets are filed and answered while Temporal is away"},
	{"identity/people", "go.temporal.io", "a sign-in works while Temporal is away"},
}

// vague lists package names that say nothing about what a package owns.
var vague = []string{
	"util", "utils", "common", "model", "models", "helper", "helpers", "types", "base", "misc", "shared", "lib",
}

func join(lists ...[]string) []string { return slices.Concat(lists...) }

// listed is one package of the module as go list reports it. Names of packages in the module are
// relative to it.
type listed struct {
	name    string
	imports []string // of the package itself, without its tests
	deps    []string
}

// packages lists the module. A package that does not build is listed with what go list could read.
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

// root returns the module's directory.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// within reports whether name is the package parent or lies below it.
func within(name, parent string) bool {
	return name == parent || strings.HasPrefix(name, parent+"/")
}

// ruleOf returns the line of the table for a package: the one with the longest matching path.
func ruleOf(name string) (rule, bool) {
	var best rule
	for _, r := range layers {
		if within(name, r.name) && len(r.name) > len(best.name) {
			best = r
		}
	}
	return best, best.name != ""
}

// errgroup does not recover panics, so one ends the process. mayEnd lists the packages for which
// that is acceptable: they serve no clients, or run on a developer's machine.
const errgroup = "golang.org/x/sync/errgroup"

var mayEnd = []string{
	"internal/parallel", "metering/flush", "metering/audit", "internal/bench", "internal/sandbox", "internal/devstack",
}

// violations lists the imports of a package that break the rules.
func violations(p listed) []string {
	r, known := ruleOf(p.name)
	if !known {
		return []string{
			fmt.Sprintf("%s is not in the table of layers: give it a place there and in ARCHITECTURE.md", p.name),
		}
	}
	var wrong []string
	for _, imported := range p.imports {
		name, ours := strings.CutPrefix(imported, module+"/")
		if owner, _ := ruleOf(name); !ours || owner.name == r.name || slices.Contains(r.allow, owner.name) {
			continue
		}
		wrong = append(wrong, fmt.Sprintf("%s imports %s, which its layer does not allow", p.name, name))
	}
	isSetup := strings.HasSuffix(p.name, "test") // of tests, which start servers
	for _, u := range unreachable {
		reaches := slices.ContainsFunc(p.deps, func(d string) bool { return within(d, u.to) })
		if reaches && within(p.name, u.from) && !isSetup {
			wrong = append(wrong, fmt.Sprintf("%s reaches %s: %s", p.name, u.to, u.why))
		}
	}
	if slices.Contains(p.imports, errgroup) && !slices.ContainsFunc(mayEnd, func(name string) bool {
		return within(p.name, name)
	}) {
		wrong = append(wrong, p.name+" imports "+errgroup+", in which a panic ends the process: use internal/parallel")
	}
	if slices.Contains(vague, path.Base(p.name)) {
		wrong = append(wrong, fmt.Sprintf("%s: the name does not say what the package owns", p.name))
	}
	return wrong
}

func TestLayers_PackagesImportOnlyWhatTheirLayerAllows(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, wrong := range violations(p) {
			t.Error(wrong)
		}
	}
}

func TestLayers_RulesFindViolations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pkg  listed
		want string
	}{
		{listed{name: "store", imports: []string{module + "/metering/meter"}}, "store imports metering/meter"},
		{listed{name: "store/db", imports: []string{module + "/relay"}}, "store/db imports relay"},
		{
			listed{name: "internal/config", imports: []string{module + "/internal/fault"}},
			"internal/config imports internal/fault",
		},
		{listed{name: "api", imports: []string{module + "/internal/testkit"}}, "api imports internal/testkit"},
		{
			listed{name: "service/keys", imports: []string{module + "/service/billing"}},
			"service/keys imports service/billing",
		},
		{
			listed{name: "cmd/gateway", deps: []string{"github.com/ethereum/go-ethereum/node"}},
			"reaches github.com/ethereum/go-ethereum/node",
		},
		{
			listed{name: "cmd/gateway", imports: []string{module + "/internal/sandbox"}},
			"cmd/gateway imports internal/sandbox",
		},
		{listed{name: "relay", deps: []string{"go.temporal.io/sdk/client"}}, "reaches go.temporal.io"},
		{listed{name: "toolbox", imports: []string{"golang.org/x/sync/errgroup"}}, "a panic ends the process"},
		{
			listed{name: "api/console/keys", imports: []string{module + "/api/console/usage"}},
			"api/console/keys imports api/console/usage",
		},
		{listed{name: "store/common"}, "the name does not say"},
		{listed{name: "novelty"}, "not in the table"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if got := strings.Join(violations(c.pkg), "; "); !strings.Contains(got, c.want) {
				t.Errorf("%+v: got %q, want %q", c.pkg, got, c.want)
			}
		})
	}
	clean := listed{name: "store/db", imports: []string{module + "/internal/fault", "context", module + "/store"}}
	if got := violations(clean); got != nil {
		t.Errorf("%+v: got %q, want nothing", clean, got)
	}
}

// A package may import only packages above it in the table, so there are no cycles between layers.
func TestLayers_ImportOnlyLinesAbove(t *testing.T) {
	t.Parallel()
	place := map[string]int{}
	for i, r := range layers {
		place[r.name] = i
	}
	for i, r := range layers {
		for _, name := range r.allow {
			at, known := place[name]
			if !known {
				t.Errorf("%s may import %s, which has no line of its own", r.name, name)
			}
			if at > i {
				t.Errorf("%s may import %s, which stands below it", r.name, name)
			}
		}
	}
}
