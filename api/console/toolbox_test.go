package console

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

// byID returns an element of a page by id.
func byID(t *testing.T, root *html.Node, id string) *html.Node {
	t.Helper()
	for _, n := range elements(root) {
		if got, _ := attribute(n, "id"); got == id {
			return n
		}
	}
	t.Fatalf("the page has no #%s", id)
	return nil
}

func TestToolbox_ShowsEveryToolInItsGroupWithItsCost(t *testing.T) {
	t.Parallel()
	b, _ := toolVisitor(t)
	got := b.get("/toolbox")
	if got.status != http.StatusOK {
		t.Fatalf("the page answers %d", got.status)
	}
	page := parse(t, got.body)
	for name, words := range map[string][]string{
		"get_gas": {
			"Get gas", "1 unit", "kept for 12 s", "Tells what there is.", "Run",
			"curl 'https://gateway.example/toolbox/gas/eth_mainnet'",
		},
		"get_balances": {
			"Get balances", "paid plan", "curl 'https://gateway.example/data/eth_mainnet/balances/0xdAC17F",
		},
	} {
		shown := text(byID(t, page, name))
		for _, word := range words {
			if !strings.Contains(shown, word) {
				t.Errorf("%s does not show %q", name, word)
			}
		}
		if strings.Contains(shown, "Repeat at will") {
			t.Errorf("%s shows more than one sentence", name)
		}
	}
	if n := len(elements(byID(t, page, "get_balances"), "form")); n != 0 {
		t.Error("the data service has a form, which visitors may not use")
	}
	var titles []string
	for _, h := range elements(elements(page, "main")[0], "h2") {
		titles = append(titles, text(h))
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
	page := parse(t, b.get("/toolbox").body)
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
		n := byID(t, page, id)
		if n.Data != want.element {
			t.Errorf("#%s is a <%s>, want <%s>", id, n.Data, want.element)
		}
		for name, value := range want.attributes {
			if got, has := attribute(n, name); !has || got != value {
				t.Errorf("#%s has %s=%q (%t), want %q", id, name, got, has, value)
			}
		}
	}
	for id, rule := range map[string]string{
		"search-from-rule": "eth is the largest.", "search-text-rule": "Any text.",
	} {
		if got := text(byID(t, page, id)); got != rule {
			t.Errorf("#%s says %q, want %q", id, got, rule)
		}
	}
	if _, required := attribute(byID(t, page, "search-text"), "required"); required {
		t.Error("a text that may be empty is required")
	}
	var options []string
	for _, o := range elements(byID(t, page, "get_gas-chain"), "option") {
		value, _ := attribute(o, "value")
		options = append(options, value+"="+text(o))
	}
	if want := []string{"eth_mainnet=Ethereum", "base_mainnet=Base"}; !slices.Equal(options, want) {
		t.Errorf("the chains are %v, want %v", options, want)
	}
	if first := elements(byID(t, page, "search-to"), "option")[0]; first.Attr[0].Val != "" {
		t.Error("a choice that may be left out has to be made")
	}
}

func TestToolbox_VisitorsUseToolsAsVisitors(t *testing.T) {
	t.Parallel()
	b, tools := toolVisitor(t)
	b.cookies["__Host-"+sessionCookie] = sessionValue // visitors may be signed in, but the tool runs without an account
	gas := tools["get_gas"]
	gas.answer = service.Answer{JSON: []byte(`{"chain":"base_mainnet","base_fee_per_gas":"7"}`)}
	got := b.get("/toolbox?tool=get_gas&chain=base_mainnet")
	if got.status != http.StatusOK || got.header.Get("X-Robots-Tag") != "noindex" {
		t.Errorf("it answers %d, %v", got.status, got.header)
	}
	c := gas.caller
	if !c.Visitor || c.Session != "" || c.Bearer != "" || c.Door != service.DoorConsole ||
		c.Network.String() != "203.0.113.7/32" {
		t.Errorf("the caller is %+v", c)
	}
	if !maps.Equal(gas.args, map[string]any{"chain": "base_mainnet"}) {
		t.Errorf("it is asked for %v", gas.args)
	}
	page := parse(t, got.body)
	shown := text(byID(t, page, "get_gas"))
	for _, want := range []string{
		"Answered in less than 1 ms, not from the cache. With a key it costs 1 unit.",
		"base_fee_per_gas", "Which chain it was.", `"base_fee_per_gas": "7"`, "/toolbox/gas/base_mainnet",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("it does not show %q in %s", want, shown)
		}
	}
	if strings.Contains(text(byID(t, page, "search")), "Answered") {
		t.Error("another tool answered")
	}
	gas.answer.Hit = true
	if body := b.get("/toolbox?tool=get_gas&chain=base_mainnet").body; !strings.Contains(body,
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
		b.get("/toolbox?tool=search&" + query)
		got := tools["search"].args
		if list, ok := got["labels"].([]any); ok && slices.Equal(list, []any{"a", "b"}) {
			got["labels"] = nil
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s brings %v, want %v", query, got, want)
		}
	}
	b.get("/toolbox")
	b.post("/toolbox", url.Values{
		"tool": {"decode"}, "chain": {"eth_mainnet"}, "address": {"0x1"}, "data": {"0x"}, "note": {"one\r\ntwo"},
	})
	if got := tools["decode"].args; got["note"] != "one\ntwo" || got["data"] != "0x" {
		t.Errorf("lines arrive as %q", got["note"])
	}
}

func TestToolbox_LongTextsAreForPrograms(t *testing.T) {
	t.Parallel()
	b, tools := toolVisitor(t)
	b.get("/toolbox")
	got := b.post("/toolbox", url.Values{"tool": {"decode"}, "data": {strings.Repeat("x", maxTyped+1)}})
	if got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.body, "longer than the 32768 bytes that this page takes") || tools["decode"].args != nil {
		t.Errorf("it answers %d", got.status)
	}
}

func TestToolbox_PostedFormsAreGuarded(t *testing.T) {
	t.Parallel()
	b, tools := toolVisitor(t)
	b.get("/toolbox")
	form := url.Values{"tool": {"decode"}, "chain": {"eth_mainnet"}, "address": {"0x1"}, "data": {"0x"}}
	if got := b.send(http.MethodPost, "/toolbox", form); got.status != http.StatusForbidden ||
		tools["decode"].uses != 0 {
		t.Errorf("without the token it answers %d", got.status)
	}
	if got := b.post("/toolbox", form); got.status != http.StatusOK || tools["decode"].uses != 1 {
		t.Errorf("with the token it answers %d", got.status)
	}
	got := b.get("/toolbox?" + form.Encode()) // a link fills the form in and sends nothing
	if tools["decode"].uses != 1 || got.status != http.StatusOK {
		t.Error("a link sends a form that is posted")
	}
	if value, _ := attribute(byID(t, parse(t, got.body), "decode-address"), "value"); value != "0x1" {
		t.Errorf("a link fills in %q", value)
	}
}

func TestToolbox_RefusalsAreShownUnderTheFormAndAtTheirFields(t *testing.T) {
	t.Parallel()
	b, tools := toolVisitor(t)
	tools["get_gas"].refusal = fault.New(fault.FieldRefused, "Correct and send again.").
		With("fields", []map[string]string{{"field": "chain", "problem": "expected value to be one of"}})
	got := b.get("/toolbox?tool=get_gas&chain=solana_mainnet")
	page := parse(t, got.body)
	if shown := text(byID(t, page, "get_gas")); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(shown, "-32602") || !strings.Contains(shown, "Correct and send again.") {
		t.Errorf("it answers %d: %s", got.status, shown)
	}
	field := byID(t, page, "get_gas-chain")
	invalid, _ := attribute(field, "aria-invalid")
	described, _ := attribute(field, "aria-describedby")
	if invalid != "true" || described != "get_gas-chain-rule get_gas-chain-error" ||
		text(byID(t, page, "get_gas-chain-error")) != "Choose one from the list." {
		t.Errorf("the field has aria-invalid=%q, aria-describedby=%q", invalid, described)
	}

	limited := fault.New(fault.RateWindow, "")
	limited.RetryAfter = 1500 * time.Millisecond
	tools["get_gas"].refusal = limited
	if got := b.get("/toolbox?tool=get_gas&chain=eth_mainnet"); got.status != http.StatusTooManyRequests ||
		got.header.Get("Retry-After") != "2" || !strings.Contains(got.body, "-32005") {
		t.Errorf("over the limit it answers %d, %v", got.status, got.header)
	}
}

func TestToolbox_ScriptsGetTheOutcomeAlone(t *testing.T) {
	t.Parallel()
	b, tools := toolVisitor(t)
	ask := func(query string) answer {
		return send(t, b.pages, http.MethodGet, "/toolbox?"+query, nil, map[string]string{"X-Part": "outcome"})
	}
	got := ask("tool=get_gas&chain=eth_mainnet")
	if got.header.Get("X-Part") != "outcome" || got.status != http.StatusOK || strings.Contains(got.body, "<body") ||
		!strings.HasPrefix(got.body, `<p class="small muted" data-facts>Answered`) {
		t.Errorf("it answers %d, %v: %.80s", got.status, got.header, got.body)
	}
	if got.header.Get("Content-Security-Policy") == "" || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("it goes out with %v", got.header)
	}
	tools["get_gas"].refusal = fault.New(fault.FieldRefused, "chain: nothing is there.")
	got = ask("tool=get_gas&chain=eth_mainnet")
	if got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.body, `<li data-of="get_gas-chain">chain: nothing is there.</li>`) {
		t.Errorf("a refusal answers %d: %s", got.status, got.body)
	}
	for _, whole := range []string{"tool=none", "", "tool=decode"} {
		if got := ask(whole); got.header.Get("X-Part") != "" || !strings.Contains(got.body, "<body") {
			t.Errorf("%q answers a part, though nothing came of it", whole)
		}
	}
}

func TestToolbox_UnknownToolIsNotFound(t *testing.T) {
	t.Parallel()
	b, _ := toolVisitor(t)
	if got := b.get("/toolbox?tool=" + url.QueryEscape(hostile)); got.status != http.StatusNotFound ||
		!strings.Contains(got.body, "There is no such tool") {
		t.Errorf("it answers %d", got.status)
	}
}

func TestFirstPage_HasALiveTool(t *testing.T) {
	t.Parallel()
	b, _ := toolVisitor(t)
	page := parse(t, b.get("/").body)
	form := elements(byID(t, page, "get_gas"), "form")[0]
	if action, _ := attribute(form, "action"); action != "/toolbox#get_gas" {
		t.Errorf("its form leads to %q", action)
	}
	if strings.Contains(visitorOf(t, newHouse()).get("/").body, "data-tool") {
		t.Error("without tools there is one")
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
	for what, tool := range map[string]*fakeTool{
		"an object":      fake[nested, chainAnswer]("x", "X", account.Utils, http.MethodGet, "/toolbox/x"),
		"a taken name":   fake[clash, chainAnswer]("x", "X", account.Utils, http.MethodGet, "/toolbox/x"),
		"another method": fake[chainInput, chainAnswer]("x", "X", account.Utils, http.MethodDelete, "/toolbox/x"),
		"no group":       fake[chainInput, chainAnswer]("x", "X", account.RPC, http.MethodGet, "/toolbox/x"),
		"a strange path": fake[chainInput, chainAnswer]("x", "X", account.Utils, http.MethodGet, "/toolbox/{other}"),
	} {
		if _, err := New(Options{
			PublicURL: "https://gateway.example", Calls: Calls{Tools: definitions([]*fakeTool{tool})},
		}); err == nil || !strings.Contains(err.Error(), "tool x") {
			t.Errorf("%s: %v", what, err)
		}
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
