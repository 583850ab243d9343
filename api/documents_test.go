package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/api/internal/openapi"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/workflows"
)

// read gets a page without a key, and checks what holds for every page.
func read(g *apitest.Gateway, path string, headers ...string) apitest.Answer {
	g.T.Helper()
	a := g.Ask(http.MethodGet, path, "", "", headers...)
	if a.Status != http.StatusOK || a.Body == "" {
		g.T.Fatalf("GET %s is HTTP %d with %d bytes", path, a.Status, len(a.Body))
	}
	return a
}

func TestDocs_AreReadWithoutAKeyAndMayBeCached(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	for path, media := range map[string]string{
		"/openapi.json": "application/json", "/docs": "text/html", "/docs/agents": "text/html",
		"/docs/quickstart": "text/html", "/docs/errors": "text/html", "/docs/errors/-32017": "text/html",
		"/docs/pay-per-call": "text/html", "/terms": "text/html", "/skill.md": "text/markdown",
		"/llms.txt": "text/plain", "/server.json": "application/json", "/sitemap.xml": "application/xml",
		"/robots.txt": "text/plain",
	} {
		t.Run(path, func(t *testing.T) {
			a := read(g, path)
			tag := a.Header.Get("ETag")
			in := expect.In(t, "%s", path)
			expect.Equal(in, a.Header.Get("Content-Type"), media+"; charset=utf-8")
			expect.NotEqual(in, tag, "")
			expect.HasPrefix(in, a.Header.Get("Cache-Control"), "public, max-age=")
			head := g.Ask(http.MethodHead, path, "", "")
			in = expect.In(t, "HEAD %s", path)
			expect.Equal(in, head.Status, http.StatusOK)
			expect.Equal(in, head.Body, "")
			expect.Equal(in, head.Header.Get("ETag"), tag)
			expect.Equal(in, head.Header.Get("Content-Type"), a.Header.Get("Content-Type"))
			if same := g.Ask(http.MethodGet, path, "", "", "If-None-Match",
				`"other", `+tag); same.Status != http.StatusNotModified || same.Body != "" {
				t.Errorf("%s with its own tag is HTTP %d with %d bytes", path, same.Status, len(same.Body))
			}
			if other := g.Ask(http.MethodGet, path, "", "", "If-None-Match", `"other"`); other.Status != http.StatusOK {
				t.Errorf("%s with another tag is HTTP %d", path, other.Status)
			}
			plain := read(g, path, "Accept-Encoding", "identity")
			if plain.Header.Get("Content-Encoding") != "" || plain.Body != a.Body {
				t.Errorf("%s as it is differs from what gzip brought", path)
			}
		})
	}
	for _, path := range []string{"/docs/methods", "/healthz", "/readyz"} {
		if a := g.Ask(http.MethodHead, path, "", ""); a.Status != http.StatusOK || a.Body != "" {
			t.Errorf("HEAD %s is HTTP %d", path, a.Status)
		}
	}
}

func TestDocs_PagesLoadNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	paths := []string{"/docs", "/docs/agents", "/docs/quickstart", "/docs/pay-per-call", "/docs/errors", "/terms"}
	for _, code := range codes() {
		paths = append(paths, fmt.Sprint("/docs/errors/", code))
	}
	for _, path := range paths {
		a := read(g, path)
		policy := a.Header.Get("Content-Security-Policy")
		in := expect.In(t, "%s has the policy", path)
		expect.Contains(in, policy, "default-src 'none'")
		expect.Contains(in, policy, "frame-ancestors 'none'")
		expect.NotContains(in, policy, "unsafe")
		if a.Header.Get("X-Content-Type-Options") != "nosniff" || a.Header.Get("Referrer-Policy") == "" {
			t.Errorf("%s comes with %v", path, a.Header)
		}
		if inline := regexp.MustCompile(`<script>|<style|\sstyle=|\son[a-z]+=|javascript:`).FindString(
			a.Body); inline != "" {
			t.Errorf("%s holds %q, which its policy forbids", path, inline)
		}
		for _, m := range regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(a.Body, -1) {
			// the console's home page is not served here
			if strings.HasPrefix(m[1], "mailto:") || strings.HasPrefix(m[1], "#") || m[1] == "/" {
				continue
			}
			if !strings.HasPrefix(m[1], "/") || strings.HasPrefix(m[1], "//") {
				t.Errorf("%s names %s", path, m[1])
				continue
			}
			if !strings.HasPrefix(m[1], "/docs/assets/") {
				read(g, m[1])
				continue
			}
			// Assets belong to the pages and not to the interface, so the document does not list
			// them.
			asset := httptest.NewRecorder()
			g.Handler.ServeHTTP(asset, httptest.NewRequestWithContext(t.Context(), http.MethodGet, m[1], http.NoBody))
			in := expect.In(t, "%s", m[1])
			expect.Equal(in, asset.Code, http.StatusOK)
			expect.NotEqual(in, asset.Body.Len(), 0)
			expect.Equal(in, asset.Header().Get("Cache-Control"), "public, max-age=31536000, immutable")
		}
	}
	g.Ask(http.MethodGet, "/docs/assets/docs.000000000000.js", "", "").Refused(http.StatusNotFound, -32600)
}

// served returns the document as clients receive it.
func served(g *apitest.Gateway) (document struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
	} `json:"paths"`
	Servers []struct{ URL string } `json:"servers"`
	Info    struct{ Version string }
},
) {
	g.T.Helper()
	g.Must(json.Unmarshal([]byte(read(g, "/openapi.json").Body), &document))
	return document
}

func TestOpenAPI_EveryRouteOfTheDocumentIsServed(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	document := served(g)
	expect.Equal(t, document.Info.Version, openapi.Version)
	require.Len(t, document.Servers, 1)
	expect.Equal(t, document.Servers[0].URL, "https://gateway.example")
	routes := 0
	for path, methods := range document.Paths {
		for method, op := range methods {
			routes++
			address := strings.NewReplacer("{chain}", "eth_mainnet", "{code}", "-32017").Replace(path)
			a := g.Ask(strings.ToUpper(method), address, "", "")
			if a.Status == http.StatusNotFound && strings.Contains(a.Body, fault.UnknownRoute.Entry().Meaning) ||
				a.Status == http.StatusMethodNotAllowed {
				t.Errorf("%s %s (%s) is HTTP %d", method, path, op.OperationID, a.Status)
			}
		}
	}
	if routes < 10 {
		t.Errorf("only %d routes are described", routes)
	}
}

func TestOpenAPI_DescribesAdoptionOnlyWhereThereIsAConsole(t *testing.T) {
	t.Parallel()
	alone, with := apitest.Setup(t), apitest.Setup(t, func(o *apitest.Options) { o.Pages = somePages{} })
	if _, ok := served(alone).Paths["/agents/adopt"]; ok {
		t.Error("it is described where nothing serves it")
	}
	if op := served(with).Paths["/agents/adopt"]["post"]; op.OperationID != "adopt_key" {
		t.Errorf("it is described as %q", op.OperationID)
	}
}

func TestDocs_HaveTheChosenThemeAndItsSwitch(t *testing.T) {
	t.Parallel()
	alone, with := apitest.Setup(t), apitest.Setup(t, func(o *apitest.Options) { o.Pages = somePages{} })
	for _, path := range []string{"/docs", "/docs/errors/-32005", "/terms"} {
		dark := read(with, path, "Cookie", "theme=dark")
		for _, want := range []string{
			` data-theme="dark"`, `action="/docs/theme"`, `name="back" value="` + path + `"`,
			`value="dark" aria-pressed="true"`, `value="auto" aria-pressed="false"`,
		} {
			if !strings.Contains(dark.Body, want) {
				t.Errorf("%s in dark lacks %s", path, want)
			}
		}
		if policy := dark.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "form-action 'self'") {
			t.Errorf("%s has the policy %q, under which the switch does nothing", path, policy)
		}
		if body := read(with, path).Body; strings.Contains(body, "data-theme=") ||
			!strings.Contains(body, `value="auto" aria-pressed="true"`) {
			t.Errorf("%s has a theme that nobody chose", path)
		}
		if strings.Contains(read(alone, path).Body, "/docs/theme") {
			t.Errorf("%s has a switch where nothing keeps what is chosen", path)
		}
	}
}

func TestOpenAPI_ViewerIsLoadedOnRequest(t *testing.T) {
	t.Parallel()
	page := read(apitest.Setup(t), "/docs").Body
	if loaded := regexp.MustCompile(`(?:src|href)="[^"]*swagger`).FindString(page); loaded != "" {
		t.Errorf("the page loads %s by itself", loaded)
	}
	if !regexp.MustCompile(
		`data-program="/docs/assets/swagger-ui-bundle\.[0-9a-f]+\.js" ` +
			`data-sheet="/docs/assets/swagger-ui\.[0-9a-f]+\.css"`).MatchString(page) {
		t.Error("the page does not say where the viewer is")
	}
}

// Without scripts, /docs lists all operations.
func TestDocs_ListEveryOperationWithoutScripts(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	page := strings.ReplaceAll(read(g, "/docs").Body, "<wbr>", "") // where a line may break
	for path, methods := range served(g).Paths {
		for method := range methods {
			if row := "<code>" + strings.ToUpper(method) + " " + path + "</code>"; !strings.Contains(page, row) {
				t.Errorf("/docs lacks %s", row)
			}
		}
	}
	at := -1
	for _, section := range []string{
		"Relay", "Keys", "Toolbox", "Data", "Pay per call", "Statements", "Agents", "Status", "Documents",
	} {
		next := strings.Index(page, `<th colspan="2" scope="rowgroup">`+section+`</th>`)
		if next <= at {
			t.Errorf("/docs lacks the section %s in its place", section)
		}
		at = next
	}
	if !strings.Contains(page, `href="/openapi.json"`) {
		t.Error("/docs does not lead to the document")
	}
}

// The figures in the guide for agents must be those of the packages that own them.
func TestAgentGuide_StatesTheFiguresInForce(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	guide := read(g, "/skill.md").Body
	want := []string{
		"https://gateway.example/keys", "Authorization: Bearer", "X-Route-Tier", "X-Request-Id", "-32017", "claim_code",
		"next_door", "X-PAYMENT", "https://gateway.example/x402/redeem", plan.Must(plan.Door1).DailyQuota().Grouped() +
			" a UTC day",
		plan.Must(plan.WalletBound).MonthlyQuota().Grouped() + " a calendar month",
		fmt.Sprintf("gets %d keys a UTC day", keys.KeysPerDay), fmt.Sprintf("1 to %d requests", relay.MaxBatch),
		fmt.Sprintf("takes up to %d blocks a call, `eth_feeHistory` up to %d", chain.MaxLogBlocks, chain.MaxFeeBlocks),
		fmt.Sprintf("more than %d blocks below the head", chain.StateDepth),
		fmt.Sprintf("%d blocks below the head", chain.FinalDepth), "version " + keys.TermsVersion,
		"contact@example.org", "5 requests a second",
	}
	for _, tier := range plan.Tiers() {
		want = append(want, fmt.Sprintf("`%s` %s", tier, plan.Units(tier.Multiplier())))
	}
	for _, c := range chain.BuiltIn().All() {
		want = append(want, fmt.Sprintf("| `%s` | %s |", c.ID, c.Title))
		for _, m := range c.Methods() {
			if m.Cache != chain.Never || m.Write {
				want = append(want, "`"+m.Name+"`")
			}
		}
	}
	for _, c := range g.Operations.All() {
		if m := c.Meta(); m.Metered() {
			want = append(want, fmt.Sprintf("| `%s %s` | %s | %s |", m.Route.Method, m.Route.Path, m.Title, m.Units))
		}
	}
	for _, e := range fault.Table() {
		want = append(want, fmt.Sprintf("| %d | %d | %s |", e.Code, e.HTTP, e.Title))
	}
	for _, text := range want {
		if !strings.Contains(guide, text) {
			t.Errorf("the guide lacks %q", text)
		}
	}
	if left := regexp.MustCompile(`<no value>|\{\{|%!`).FindString(guide); left != "" {
		t.Errorf("the guide holds %q", left)
	}
}

// The guide's table of costs must match the catalog.
func TestAgentGuide_NamesEveryHeavyMethod(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-zA-Z_*0-9]+)` \\| (\\d+) \\|$").FindAllStringSubmatch(
		read(g, "/skill.md").Body, -1) {
		rows[m[1]] = m[2]
	}
	heavy := 0
	for _, c := range chain.BuiltIn().All() {
		for _, m := range c.Methods() {
			space, _, _ := strings.Cut(m.Name, "_")
			units, own := rows[m.Name], rows[space+"_*"]
			told := max(units, own)
			if m.Class == chain.Heavy {
				heavy++
				if told != fmt.Sprint(m.Weight) {
					t.Errorf("%s weighs %d; the guide says %q", m.Name, m.Weight, told)
				}
			} else if told != "" {
				t.Errorf("%s weighs %d; the guide says %q", m.Name, m.Weight, told)
			}
		}
	}
	if heavy == 0 || len(rows) == 0 {
		t.Error("nothing was compared")
	}
}

func TestTerms_CarryTheirVersionAndWhatIsStored(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	page := read(g, "/terms").Body
	for _, text := range []string{
		"Version " + keys.TermsVersion, "contact@example.org", plan.Must(plan.Door1).DailyQuota().Grouped(),
		"without warranty", fmt.Sprintf("Kept for %d days", workflows.PartitionInput().KeepCallDays),
		fmt.Sprintf("valid for %d months", plan.PackMonths),
	} {
		if !strings.Contains(page, text) {
			t.Errorf("the terms lack %q", text)
		}
	}
}

// llmstxt.org: a title, a summary as a quotation, sections of links. Every link must work.
func TestLLMsTxt_FollowsItsConvention(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	text := read(g, "/llms.txt").Body
	if !regexp.MustCompile(`\A# [^\n]+\n\n> [^\n]+\n\n`).MatchString(text) {
		t.Errorf("it begins with %.120q", text)
	}
	links := regexp.MustCompile(`(?m)^- \[[^\]]+\]\(https://gateway\.example(/[^)]*)\): .+$`).FindAllStringSubmatch(
		text, -1)
	if len(links) != 11 || strings.Count(text, "](") != len(links) {
		t.Errorf("it has %d links of %d", len(links), strings.Count(text, "]("))
	}
	for _, l := range links {
		read(g, l[1])
	}
}

// The tests of this package check every answer against the document. This test shows that
// undeclared answers are detected.
func TestOpenAPI_UndeclaredAnswersAreNoticed(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	stub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.RawQuery != "bare" {
			w.Header().Set("X-Request-Id", "0199d5b2-6f00-7c3a-9d4e-2b1f0a9c8e77")
		}
		switch r.URL.RawQuery {
		case "teapot":
			w.WriteHeader(http.StatusTeapot)
		case "limited":
			w.WriteHeader(http.StatusTooManyRequests)
		case "code":
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w,
				`{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"m",`+
					`"data":{"request_id":"0199d5b2-6f00-7c3a-9d4e-2b1f0a9c8e77","support":"/support/new"}}}`)
			return
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":null}`)
	}))
	t.Cleanup(stub.Close)
	complaints := 0
	client := &http.Client{
		Transport: g.InterfaceDocument().Transport(stub.Client().Transport, func(error) { complaints++ }),
	}
	for query, want := range map[string]int{"": 0, "bare": 1, "teapot": 1, "limited": 1, "code": 1} {
		t.Run(query, func(t *testing.T) {
			complaints = 0
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, stub.URL+"/rpc/eth_mainnet?"+query,
				http.NoBody)
			g.Must(err)
			resp, err := client.Do(req)
			g.Must(err)
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if complaints != want {
				t.Errorf("?%s gives %d complaints, want %d", query, complaints, want)
			}
		})
	}
}
