package toolbox

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/service/operation"
)

func TestToolbox_ShowsEveryToolInItsGroupWithItsCost(t *testing.T) {
	t.Parallel()
	b, _ := toolVisitor(t)
	got := b.Get("/toolbox")
	if got.Status != http.StatusOK {
		t.Fatalf("the page answers %d", got.Status)
	}
	page := consoletest.Parse(t, got.Body)
	for name, words := range map[string][]string{
		"get_gas": {
			"Get gas", "1 unit", "kept for 12 s", "Tells what there is.", "Run",
			"curl 'https://gateway.example/toolbox/gas/eth_mainnet'",
		},
		"get_balances": {
			"Get balances", "paid plan", "curl 'https://gateway.example/data/eth_mainnet/balances/0xdAC17F",
		},
	} {
		shown := consoletest.Text(consoletest.ByID(t, page, name))
		for _, word := range words {
			if !strings.Contains(shown, word) {
				t.Errorf("%s does not show %q", name, word)
			}
		}
		if strings.Contains(shown, "Repeat at will") {
			t.Errorf("%s shows more than one sentence", name)
		}
	}
	if n := len(consoletest.Elements(consoletest.ByID(t, page, "get_balances"), "form")); n != 0 {
		t.Error("the data service has a form, which visitors may not use")
	}
	var titles []string
	for _, h := range consoletest.Elements(consoletest.Elements(page, "main")[0], "h2") {
		titles = append(titles, consoletest.Text(h))
	}
	if want := []string{
		"Chain state", "Contracts", "Utilities", "Data",
	}; !slices.Equal(titles[len(titles)-len(want):], want) {
		t.Errorf("the groups are %v, want %v", titles, want)
	}
}

func TestToolbox_FormsFollowTheirSchemas(t *testing.T) {
	t.Parallel()
	b, _ := toolVisitor(t)
	page := consoletest.Parse(t, b.Get("/toolbox").Body)
	for id, want := range map[string]struct {
		element    string
		attributes map[string]string
	}{
		"get_gas-chain": {"select", map[string]string{"name": "chain"}},
		"search-value": {
			"input", map[string]string{
				"type": "text", "value": "1.5", "maxlength": "80", "required": "",
				"aria-describedby": "search-value-rule",
			},
		},
		"search-limit": {"input", map[string]string{"inputmode": "decimal", "value": "5"}},
		"search-exact": {"input", map[string]string{"type": "checkbox", "value": "true"}},
		"search-safe":  {"input", map[string]string{"type": "checkbox", "checked": "", "data-always": ""}},
		"decode-address": {
			"input", map[string]string{"pattern": "^0x[0-9a-fA-F]{40}$", "required": "", "title": "The contract."},
		},
		"decode-data": {"textarea", map[string]string{"required": ""}},
	} {
		t.Run(id, func(t *testing.T) {
			n := consoletest.ByID(t, page, id)
			if n.Data != want.element {
				t.Errorf("#%s is a <%s>, want <%s>", id, n.Data, want.element)
			}
			for name, value := range want.attributes {
				if got, has := consoletest.Attribute(n, name); !has || got != value {
					t.Errorf("#%s has %s=%q (%t), want %q", id, name, got, has, value)
				}
			}
		})
	}
	for id, rule := range map[string]string{
		"search-from-rule": "eth is the largest.", "search-text-rule": "Any text.",
	} {
		if got := consoletest.Text(consoletest.ByID(t, page, id)); got != rule {
			t.Errorf("#%s says %q, want %q", id, got, rule)
		}
	}
	if _, required := consoletest.Attribute(consoletest.ByID(t, page, "search-text"), "required"); required {
		t.Error("a text that may be empty is required")
	}
	var options []string
	for _, o := range consoletest.Elements(consoletest.ByID(t, page, "get_gas-chain"), "option") {
		value, _ := consoletest.Attribute(o, "value")
		options = append(options, value+"="+consoletest.Text(o))
	}
	if want := []string{"eth_mainnet=Ethereum", "base_mainnet=Base"}; !slices.Equal(options, want) {
		t.Errorf("the chains are %v, want %v", options, want)
	}
	if first := consoletest.Elements(consoletest.ByID(t, page, "search-to"), "option")[0]; first.Attr[0].Val != "" {
		t.Error("a choice that may be left out has to be made")
	}
}

func TestToolbox_VisitorsUseToolsAsVisitors(t *testing.T) {
	t.Parallel()
	b, tools := toolVisitor(t)
	// visitors may be signed in, but the tool runs without an account
	b.Cookies["__Host-"+site.SessionCookie] = consoletest.SessionValue
	gas := tools["get_gas"]
	gas.Answer = operation.Answer{JSON: []byte(`{"chain":"base_mainnet","base_fee_per_gas":"7"}`)}
	got := b.Get("/toolbox?tool=get_gas&chain=base_mainnet")
	if got.Status != http.StatusOK || got.Header.Get("X-Robots-Tag") != "noindex" {
		t.Errorf("it answers %d, %v", got.Status, got.Header)
	}
	c := gas.Caller
	expect.True(t, c.Visitor)
	expect.Equal(t, c.Session, "")
	expect.Equal(t, c.Bearer, "")
	expect.Equal(t, c.Door, operation.DoorConsole)
	expect.Equal(t, c.Network.String(), "203.0.113.7/32")
	if !maps.Equal(gas.Args, map[string]any{"chain": "base_mainnet"}) {
		t.Errorf("it is asked for %v", gas.Args)
	}
	page := consoletest.Parse(t, got.Body)
	shown := consoletest.Text(consoletest.ByID(t, page, "get_gas"))
	for _, want := range []string{
		"Answered in less than 1 ms, not from the cache. With a key it costs 1 unit.",
		"base_fee_per_gas", "Which chain it was.", `"base_fee_per_gas": "7"`, "/toolbox/gas/base_mainnet",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("it does not show %q in %s", want, shown)
		}
	}
	if strings.Contains(consoletest.Text(consoletest.ByID(t, page, "search")), "Answered") {
		t.Error("another tool answered")
	}
	gas.Answer.Hit = true
	if body := b.Get("/toolbox?tool=get_gas&chain=base_mainnet").Body; !strings.Contains(body,
		"from the cache. With a key it costs nothing.") {
		t.Error("a hit is not told")
	}
}

func TestToolbox_ValuesArriveWithTheirTypes(t *testing.T) {
	t.Parallel()
	b, tools := toolVisitor(t)
	for query, want := range map[string]map[string]any{
		"value=2&from=eth&text=&limit=7&exact=true&labels=a,+b&to=": {
			"value": "2", "from": "eth", "text": "", "limit": 7.0, "exact": true, "safe": false, "labels": nil,
		},
		"value=2&from=eth&safe=true&limit=seven&to=wei": {
			"value": "2", "from": "eth", "text": "", "limit": "seven", "safe": true, "to": "wei",
		},
	} {
		b.Get("/toolbox?tool=search&" + query)
		got := tools["search"].Args
		if list, ok := got["labels"].([]any); ok && slices.Equal(list, []any{"a", "b"}) {
			got["labels"] = nil
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s brings %v, want %v", query, got, want)
		}
	}
	b.Get("/toolbox")
	b.Post("/toolbox", url.Values{
		"tool": {"decode"}, "chain": {"eth_mainnet"}, "address": {"0x1"}, "data": {"0x"}, "note": {"one\r\ntwo"},
	})
	if got := tools["decode"].Args; got["note"] != "one\ntwo" || got["data"] != "0x" {
		t.Errorf("lines arrive as %q", got["note"])
	}
}

func TestToolbox_LongTextsAreForPrograms(t *testing.T) {
	t.Parallel()
	b, tools := toolVisitor(t)
	b.Get("/toolbox")
	got := b.Post("/toolbox", url.Values{"tool": {"decode"}, "data": {strings.Repeat("x", maxTyped+1)}})
	expect.Equal(t, got.Status, http.StatusUnprocessableEntity)
	expect.Contains(t, got.Body, "longer than the 32768 bytes that this page takes")
	expect.Nil(t, tools["decode"].Args)
}

func TestToolbox_PostedFormsAreGuarded(t *testing.T) {
	t.Parallel()
	b, tools := toolVisitor(t)
	b.Get("/toolbox")
	form := url.Values{"tool": {"decode"}, "chain": {"eth_mainnet"}, "address": {"0x1"}, "data": {"0x"}}
	if got := b.Send(http.MethodPost, "/toolbox", form); got.Status != http.StatusForbidden ||
		tools["decode"].Uses != 0 {
		t.Errorf("without the token it answers %d", got.Status)
	}
	if got := b.Post("/toolbox", form); got.Status != http.StatusOK || tools["decode"].Uses != 1 {
		t.Errorf("with the token it answers %d", got.Status)
	}
	got := b.Get("/toolbox?" + form.Encode()) // a link fills the form in and sends nothing
	if tools["decode"].Uses != 1 || got.Status != http.StatusOK {
		t.Error("a link sends a form that is posted")
	}
	if value, _ := consoletest.Attribute(consoletest.ByID(t, consoletest.Parse(t, got.Body), "decode-address"),
		"value"); value != "0x1" {
		t.Errorf("a link fills in %q", value)
	}
}

func TestToolbox_RefusalsAreShownUnderTheFormAndAtTheirFields(t *testing.T) {
	t.Parallel()
	b, tools := toolVisitor(t)
	tools["get_gas"].Refusal = fault.New(fault.FieldRefused, "Correct and send again.").
		With("fields", []map[string]string{{"field": "chain", "problem": "expected value to be one of"}})
	got := b.Get("/toolbox?tool=get_gas&chain=solana_mainnet")
	page := consoletest.Parse(t, got.Body)
	shown := consoletest.Text(consoletest.ByID(t, page, "get_gas"))
	expect.Equal(t, got.Status, http.StatusUnprocessableEntity)
	expect.Contains(t, shown, "-32602")
	expect.Contains(t, shown, "Correct and send again.")
	field := consoletest.ByID(t, page, "get_gas-chain")
	invalid, _ := consoletest.Attribute(field, "aria-invalid")
	described, _ := consoletest.Attribute(field, "aria-describedby")
	in := expect.In(t, "the field has aria-invalid")
	expect.Equal(in, invalid, "true")
	expect.Equal(in, described, "get_gas-chain-rule get_gas-chain-error")
	expect.Equal(in, consoletest.Text(consoletest.ByID(t, page, "get_gas-chain-error")), "Choose one from the list.")

	limited := fault.New(fault.RateWindow, "")
	limited.RetryAfter = 1500 * time.Millisecond
	tools["get_gas"].Refusal = limited
	got = b.Get("/toolbox?tool=get_gas&chain=eth_mainnet")
	in = expect.In(t, "over the limit")
	expect.Equal(in, got.Status, http.StatusTooManyRequests)
	expect.Equal(in, got.Header.Get("Retry-After"), "2")
	expect.Contains(in, got.Body, "-32005")
}

func TestToolbox_ScriptsGetTheOutcomeAlone(t *testing.T) {
	t.Parallel()
	b, tools := toolVisitor(t)
	ask := func(query string) consoletest.Answer {
		return consoletest.Send(t, b.Pages, http.MethodGet, "/toolbox?"+query, nil,
			map[string]string{"X-Part": "outcome"})
	}
	got := ask("tool=get_gas&chain=eth_mainnet")
	expect.Equal(t, got.Header.Get("X-Part"), "outcome")
	expect.Equal(t, got.Status, http.StatusOK)
	expect.NotContains(t, got.Body, "<body")
	expect.HasPrefix(t, got.Body, `<p class="small muted" data-facts>Answered`)
	if got.Header.Get("Content-Security-Policy") == "" || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("it goes out with %v", got.Header)
	}
	tools["get_gas"].Refusal = fault.New(fault.FieldRefused, "chain: nothing is there.")
	got = ask("tool=get_gas&chain=eth_mainnet")
	if got.Status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.Body, `<li data-of="get_gas-chain">chain: nothing is there.</li>`) {
		t.Errorf("a refusal answers %d: %s", got.Status, got.Body)
	}
	for _, whole := range []string{"tool=none", "", "tool=decode"} {
		if got := ask(whole); got.Header.Get("X-Part") != "" || !strings.Contains(got.Body, "<body") {
			t.Errorf("%q answers a part, though nothing came of it", whole)
		}
	}
}

func TestToolbox_UnknownToolIsNotFound(t *testing.T) {
	t.Parallel()
	b, _ := toolVisitor(t)
	if got := b.Get("/toolbox?tool=" + url.QueryEscape(consoletest.Hostile)); got.Status != http.StatusNotFound ||
		!strings.Contains(got.Body, "There is no such tool") {
		t.Errorf("it answers %d", got.Status)
	}
}

func TestToolbox_ToolWithoutAFormStopsTheStart(t *testing.T) {
	t.Parallel()
	type nested struct {
		Filter struct {
			A string `json:"a"`
		} `json:"filter"`
	}
	type clash struct {
		Tool string `json:"tool"`
	}
	for what, tool := range map[string]*consoletest.Tool{
		"an object": consoletest.NewTool[nested, consoletest.ChainAnswer]("x", "X", account.Utils,
			http.MethodGet, "/toolbox/x"),
		"a taken name": consoletest.NewTool[clash, consoletest.ChainAnswer]("x", "X", account.Utils, http.MethodGet,
			"/toolbox/x"),
		"another method": consoletest.NewTool[consoletest.ChainInput, consoletest.ChainAnswer]("x", "X",
			account.Utils, http.MethodDelete, "/toolbox/x"),
		"no group": consoletest.NewTool[consoletest.ChainInput, consoletest.ChainAnswer]("x", "X", account.RPC,
			http.MethodGet, "/toolbox/x"),
		"a strange path": consoletest.NewTool[consoletest.ChainInput, consoletest.ChainAnswer]("x", "X",
			account.Utils, http.MethodGet, "/toolbox/{other}"),
	} {
		t.Run(what, func(t *testing.T) {
			if _, err := New(nil, consoletest.Definitions([]*consoletest.Tool{tool})); err == nil ||
				!strings.Contains(err.Error(), "tool x") {
				t.Error(err)
			}
		})
	}
}

func TestToolbox_EveryServiceHasAGroup(t *testing.T) {
	t.Parallel()
	for _, s := range account.Services() {
		if title := groupOf[s]; s != account.RPC && !slices.Contains(groupTitles, title) {
			t.Errorf("%s stands in %q", s, title)
		}
	}
}

// register registers the toolbox of the site's operations.
func register(s *site.Site) error {
	tools, err := New(s.Known, s.Calls.Tools)
	if err != nil {
		return err
	}
	return tools.Register(s)
}

// toolVisitor is a browser on a toolbox of the fake tools, which are returned by name.
func toolVisitor(t *testing.T) (*consoletest.Browser, map[string]*consoletest.Tool) {
	t.Helper()
	h := consoletest.NewOperations()
	h.Tools = consoletest.Tools()
	byName := map[string]*consoletest.Tool{}
	for _, one := range h.Tools {
		byName[one.About.Name] = one
	}
	return consoletest.Visitor(t, h, register), byName
}
