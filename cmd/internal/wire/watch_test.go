package wire_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
)

// scrape reads /metrics of both roles, whose addresses are in the log. It returns the text and the
// families by name.
func (b *bench) scrape(t *testing.T) (text string, families map[string]*dto.MetricFamily) {
	t.Helper()
	families = map[string]*dto.MetricFamily{}
	for _, address := range b.log.values("metrics", "address") {
		scraped := bench{url: "http://" + address}
		status, answer := scraped.ask(t, http.MethodGet, "/metrics", "", "")
		if status != http.StatusOK {
			t.Fatalf("/metrics: %d %s", status, answer)
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		of, err := parser.TextToMetricFamilies(strings.NewReader(answer))
		if err != nil {
			t.Fatal(err)
		}
		text += answer
		for name, f := range of {
			if families[name] != nil {
				f.Metric = append(f.Metric, families[name].GetMetric()...)
			}
			families[name] = f
		}
	}
	return text, families
}

// expressions returns the expressions of the dashboard and of the alert rules, by location.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	read := func(name string) []byte {
		//nolint:gosec // a file of this repository
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	found := map[string]string{}
	var dashboard struct {
		Panels []struct {
			Title   string
			Type    string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Query string }
		}
	}
	if err := json.Unmarshal(read("grafana/dashboards/gateway.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		if len(p.Targets) == 0 && p.Type != "row" {
			t.Errorf("panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			found["panel "+p.Title+" "+target.Expr] = target.Expr
		}
	}
	for _, v := range dashboard.Templating.List {
		found["variable "+v.Name] = v.Query
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(read("alerts.yml"), &rules); err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			found["alert "+r.Alert] = r.Expr
		}
	}
	return found
}

var (
	metricName = regexp.MustCompile(`\b(?:gateway|go|process)_[a-z0-9_]+`)
	selector   = regexp.MustCompile(`\b((?:gateway|go|process)_[a-z0-9_]+)\{([^}]*)\}`)
	matcher    = regexp.MustCompile(`([a-z]+)\s*(?:=|!=|=~|!~)\s*"`)
	grouping   = regexp.MustCompile(`\bby \(([^)]*)\)`)
	ofScrape   = []string{"job", "instance", "role", "le"} // labels that the scrape or the metric type adds
)

// checkExpressions verifies that the dashboard and the alerts use only metrics and labels that are
// served.
func checkExpressions(t *testing.T, families map[string]*dto.MetricFamily) {
	t.Helper()
	labels := func(name string) (all map[string]bool) {
		base := name
		if families[base] == nil {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				if f := families[strings.TrimSuffix(name, suffix)]; f.GetType() == dto.MetricType_HISTOGRAM {
					base = strings.TrimSuffix(name, suffix)
				}
			}
		}
		if families[base] == nil {
			return nil
		}
		all = map[string]bool{}
		for _, l := range ofScrape {
			all[l] = true
		}
		for _, m := range families[base].GetMetric() {
			for _, l := range m.GetLabel() {
				all[l.GetName()] = true
			}
		}
		return all
	}
	used := 0
	for where, expr := range expressions(t) {
		known := map[string]bool{}
		for _, name := range metricName.FindAllString(expr, -1) {
			used++
			has := labels(name)
			if has == nil {
				t.Errorf("%s: no role serves %s", where, name)
			}
			maps.Copy(known, has)
		}
		for _, s := range selector.FindAllStringSubmatch(expr, -1) {
			for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
				if !labels(s[1])[m[1]] {
					t.Errorf("%s: %s has no label %s", where, s[1], m[1])
				}
			}
		}
		for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
			for label := range strings.SplitSeq(g[1], ",") {
				if label = strings.TrimSpace(label); !known[label] {
					t.Errorf("%s: nothing in it has the label %s", where, label)
				}
			}
		}
	}
	if used < 40 {
		t.Errorf("only %d uses of a metric were found", used)
	}
}

// checkShown verifies that every metric of ours is on a panel or in an alert.
func checkShown(t *testing.T, families map[string]*dto.MetricFamily) {
	t.Helper()
	shown := map[string]bool{}
	for where, expr := range expressions(t) {
		if strings.HasPrefix(where, "variable ") {
			continue
		}
		for _, name := range metricName.FindAllString(expr, -1) {
			shown[name] = true
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				shown[strings.TrimSuffix(name, suffix)] = true
			}
		}
	}
	for name := range families {
		if strings.HasPrefix(name, "gateway_") && !shown[name] {
			t.Errorf("no panel and no alert shows %s", name)
		}
	}
}

var alertRow = regexp.MustCompile("(?m)^\\| (`[A-Z][A-Za-z]+`(?:, `[A-Z][A-Za-z]+`)*) \\| [^|]{20,} \\| [^|]{15,} \\|$")

// TestAlerts_EachSaysWhatToDo holds that the alert rules and the runbooks cover each other.
func TestAlerts_EachSaysWhatToDo(t *testing.T) {
	t.Parallel()
	told := map[string]bool{}
	for _, row := range alertRow.FindAllStringSubmatch(handbookPage(t, "runbooks.md"), -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			told[strings.Trim(name, "`")] = true
		}
	}
	rules := 0
	for where := range expressions(t) {
		if name, is := strings.CutPrefix(where, "alert "); is {
			rules++
			if !told[name] {
				t.Errorf("docs/operations/runbooks.md does not say what to do for the alert %s", name)
			}
			delete(told, name)
		}
	}
	if rules < 30 || len(told) > 0 {
		t.Errorf("of %d rules; docs/operations/runbooks.md tells of alerts that are none: %v", rules, told)
	}
}

// checkHandbook verifies that watch.md has a row for every metric, and that no page names another.
func checkHandbook(t *testing.T, families map[string]*dto.MetricFamily) {
	t.Helper()
	told := map[string]bool{}
	for _, page := range []string{"README.md", "deploy.md", "watch.md", "runbooks.md", "support.md", "upgrade.md"} {
		for _, name := range metricName.FindAllString(handbookPage(t, page), -1) {
			told[name] = told[name] || page == "watch.md"
			if families[name] == nil && strings.HasPrefix(name, "gateway_") {
				t.Errorf("docs/operations/%s tells of %s, which no role serves", page, name)
			}
		}
	}
	for name := range families {
		if strings.HasPrefix(name, "gateway_") && !told[name] {
			t.Errorf("docs/operations/watch.md does not say what %s is", name)
		}
	}
}

// handbookPage reads a page of docs/operations.
func handbookPage(t *testing.T, name string) string {
	t.Helper()
	//nolint:gosec // a file of this repository
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "operations", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// figure returns the sum of the series whose labels include these pairs; ok reports whether there
// is one.
func figure(families map[string]*dto.MetricFamily, name string, pairs ...string) (sum float64, ok bool) {
	for _, m := range families[name].GetMetric() {
		has := 0
		for _, l := range m.GetLabel() {
			if slices.Contains(pairs, l.GetName()+"="+l.GetValue()) {
				has++
			}
		}
		if has == len(pairs) {
			sum, ok = sum+m.GetCounter().GetValue()+m.GetGauge().GetValue()+
				float64(m.GetHistogram().GetSampleCount()), true
		}
	}
	return sum, ok
}

// holdConnection keeps a connection to the API open until the test ends. The default transport does
// not work: the end of any test server closes its idle connections.
func holdConnection(t *testing.T, url string) {
	t.Helper()
	own := &http.Transport{}
	t.Cleanup(own.CloseIdleConnections)
	held := bench{url: url, client: &http.Client{Transport: own}}
	if status, answer := held.ask(t, http.MethodGet, "/healthz", "", ""); status != http.StatusOK {
		t.Fatalf("/healthz: %d %s", status, answer)
	}
}

func TestRoles_BothAreWatchedByMetricsAndTraces(t *testing.T) {
	t.Parallel()
	receiver := testkit.Traces(t)
	b := setup(t, func(cfg *config.Config) {
		cfg.OTLPTracesEndpoint, cfg.OTLPHeaders, cfg.ServiceName = receiver.URL, "authorization="+canary, "the-gateway"
		cfg.TracesSampler, cfg.TracesSamplerArg = "parentbased_traceidratio", 1
	})
	key := b.newKey(t)
	for range 3 {
		b.call(t, key, "eth_getCode", `["0x0000000000000000000000000000000000000001","latest"]`, http.StatusOK,
			`"result":"0x6001"`)
	}
	b.call(t, key, "eth_accounts", "[]", http.StatusNotFound, `"code":-32601`)

	holdConnection(t, b.url)
	testkit.Eventually(t, time.Minute, func() bool { // the worker first reads it when it starts
		_, families := b.scrape(t)
		return families["gateway_backlog_read_timestamp_seconds"] != nil
	}, "what waits in the record is served")
	text, families := b.scrape(t)
	for _, want := range []struct {
		value float64
		name  string
		pairs []string
	}{
		{3, "gateway_requests_total", []string{"chain=base_mainnet", "class=standard", "outcome=ok"}},
		{1, "gateway_requests_total", []string{"chain=base_mainnet", "outcome=refused"}},
		{3, "gateway_charged_units_total", []string{"chain=base_mainnet"}},
		{1, "gateway_refusals_total", []string{"reason=method_not_served", "code=-32601"}},
		{3, "gateway_upstream_attempts_total", []string{"chain=base_mainnet", "outcome=answer"}},
		{2, "gateway_upstream_usable", []string{"chain=base_mainnet"}},
		{100, "gateway_chain_head_block", []string{"chain=base_mainnet"}},
		{3, "gateway_call_duration_seconds", []string{"chain=base_mainnet", "part=upstream"}},
		{0, "gateway_http_requests_in_flight", nil},
		{0, "gateway_meter_errors_total", nil},
	} {
		t.Run(want.name, func(t *testing.T) {
			if got, ok := figure(families, want.name, want.pairs...); !ok || got != want.value {
				t.Errorf("%s %v is %v (%v), want %v", want.name, want.pairs, got, ok, want.value)
			}
		})
	}
	for _, name := range []string{
		"gateway_meter_round_trip_duration_seconds", "gateway_http_connections_open",
		"gateway_call_records_buffer_limit",
	} {
		if got, _ := figure(families, name); got < 1 {
			t.Errorf("%s is %v", name, got)
		}
	}
	checkExpressions(t, families)
	checkShown(t, families)
	checkHandbook(t, families)

	for name, r := range map[string]*role{"serve": b.serve, "work": b.work} {
		if err := r.end(t); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	roles := map[string]int{}
	for _, s := range receiver.Spans() {
		roles[s.Resource["gateway.role"]]++
		if s.Resource["service.name"] != "the-gateway" {
			t.Errorf("%s is of the service %q", s.Name, s.Resource["service.name"])
		}
	}
	// Four calls and their admissions, three attempts, the creation of the key, and the request of
	// /openapi.json.
	if roles["api"] != 13 || roles["worker"] == 0 {
		t.Errorf("got %v spans, want 13 of the API and some of the worker", roles)
	}
	if headers := receiver.Headers(); len(headers) == 0 || headers[0].Get("Authorization") != canary {
		t.Error("the receiver's credential did not come along")
	}
	for what, all := range map[string]string{"a scrape": text, "a trace": receiver.Text(), "the log": b.log.String()} {
		t.Run(what, func(t *testing.T) {
			for _, secret := range []string{
				canary, key, b.cfg.KeyPepper, strings.TrimPrefix(b.upstreams[0].URL, "http://"),
			} {
				if strings.Contains(all, secret) {
					t.Errorf("%s shows %q", what, secret)
				}
			}
		})
	}
}
