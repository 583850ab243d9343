package api_test

import (
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
)

// codes returns the codes of the table of refusals without duplicates.
func codes() []int {
	var all []int
	for _, e := range fault.Table() {
		if !slices.Contains(all, e.Code) {
			all = append(all, e.Code)
		}
	}
	return all
}

// The page of a code must show everything that the table of refusals has about it.
func TestDocs_EveryCodeHasAPageWithItsReasons(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	index := read(g, "/docs/errors").Body
	for _, e := range fault.Table() {
		path := fmt.Sprint("/docs/errors/", e.Code)
		if !strings.Contains(index, `href="`+path+`"`) || !strings.Contains(index, html.EscapeString(e.Title)) {
			t.Errorf("the index lacks %d, %s", e.Code, e.Title)
		}
		page := html.UnescapeString(read(g, path).Body)
		for _, want := range append([]string{e.Title, e.Meaning, fmt.Sprint(e.HTTP), "Retry?", "Charged"},
			e.Steps...) {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %q", path, want)
			}
		}
	}
	for _, path := range []string{"/docs/errors/-1", "/docs/errors/x", "/docs/errors/32017"} {
		g.Ask(http.MethodGet, path, "", "").Refused(http.StatusNotFound, -32600)
	}
}

func TestDocs_QuickStartHasEveryClientAndEveryChain(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	page := html.UnescapeString(read(g, "/docs/quickstart").Body)
	for _, want := range []string{
		"curl -s -X POST https://gateway.example/keys", "from 'viem'", "from 'ethers'", "from web3 import Web3",
		"from '@solana/kit'", "https://gateway.example/mcp", "https://gateway.example/rpc/eth_mainnet",
		"https://gateway.example/rpc/solana_mainnet", "https://gateway.example/rpc/polygon_pos",
		plan.Must(plan.Door1).DailyQuota().Grouped(),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	pay := html.UnescapeString(read(g, "/docs/pay-per-call").Body)
	for _, tier := range plan.PerCallTiers() {
		for _, want := range []string{
			string(tier.Tier), tier.NetAmountRequired().USDC(), tier.MaxAmountRequired().USDC(),
		} {
			if !strings.Contains(pay, want) {
				t.Errorf("paying per call lacks %q", want)
			}
		}
	}
}

// The theme chosen in the console applies to documents, and each theme is cached separately.
func TestDocs_FollowTheChosenTheme(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	for cookie, want := range map[string]string{
		"__Host-theme=dark": `<html lang="en" data-theme="dark">`, "theme=light": `<html lang="en" data-theme="light">`,
		"theme=auto": `<html lang="en">`, `theme="><script>`: `<html lang="en">`, "other=dark": `<html lang="en">`,
	} {
		t.Run(cookie, func(t *testing.T) {
			for _, path := range []string{"/docs/quickstart", "/docs/errors/-32005", "/terms"} {
				a := read(g, path, "Cookie", cookie)
				if !strings.Contains(a.Body, want) || !strings.Contains(a.Header.Get("Vary"), "Cookie") {
					t.Errorf("%s with %s begins %.60q, and varies by %q", path, cookie, a.Body, a.Header.Get("Vary"))
				}
			}
		})
	}
	if read(g, "/docs/errors", "Cookie", "theme=dark").Header.Get("ETag") == read(g,
		"/docs/errors").Header.Get("ETag") {
		t.Error("both themes have one tag")
	}
}
