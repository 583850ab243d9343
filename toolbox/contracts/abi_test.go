package contracts_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/contracts"
	"github.com/chainaccess/gateway/toolbox/node"
)

const (
	token  = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
	logic  = "0x2ce6311ddae708829bc0784c967b7d77d19fd779"
	beacon = "0x1111111111111111111111111111111111111111"
	clone  = "0x2222222222222222222222222222222222222222"

	tokenABI = `[{"type":"function","name":"transfer","inputs":[{"name":"to","type":"address"},{"name":"value",` +
		`"type":"uint256"}]}]`
	adminABI = `[{"type":"function","name":"upgradeTo","inputs":[{"name":"newImplementation","type":"address"}]},` +
		`{"type":"fallback","stateMutability":"payable"}]`
)

func minimal(target string) string {
	return "0x363d3d373d3d3d363d73" + strings.TrimPrefix(target, "0x") + "5af43d82803e903d91602b57fd5bf3"
}

func TestContract_VerifiedComesWithItsABI(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.verified(token, "Token", tokenABI, notAProxy)
	a, kept := h.abi(t)
	require.True(t, a.Verified)
	expect.Equal(t, *a.Name, "Token")
	expect.Equal(t, *a.Match, "exact_match")
	expect.Equal(t, a.Source, "sourcify")
	expect.Equal(t, a.Address.Checksummed(), checksummed(token))
	expect.Equal(t, a.Chain, chain.EthMainnet)
	expect.Len(t, a.ABI, 1)
	expect.Equal(t, *a.ABIAddress, a.Address)
	expect.Nil(t, a.Proxy)
	expect.Nil(t, a.Implementation)
	expect.Equal(t, a.Note, "")
	if kept != 24*time.Hour {
		t.Errorf("it is kept for %s", kept)
	}
	again, _ := h.abi(t)
	in := expect.In(t, "asked again")
	expect.Equal(in, h.sourcify.requests(), 1)
	require.Len(in, again.ABI, 1)
	expect.Equal(in, string(again.ABI[0]), string(a.ABI[0]))
}

func TestProxy_ComesWithTheABIOfItsImplementation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, kind string
		script     func(h *bundle)
	}{
		{"EIP-1967", "EIP-1967", func(h *bundle) { h.chain.slot(implementationSlot, logic) }},
		{"beacon", "EIP-1967 beacon", func(h *bundle) {
			h.chain.slot(beaconSlot, beacon)
			h.chain.returns(beacon, "0x5c60da1b", logic)
		}},
		{"minimal", "EIP-1167", func(h *bundle) { h.chain.code(token, minimal(logic)) }},
		{"clone with arguments of its own", "EIP-1167", func(h *bundle) {
			h.chain.code(token, minimal(logic)+"0102030405")
		}},
		{"account with a contract's code", "EIP-7702", func(h *bundle) {
			h.chain.code(token, "0xef0100"+strings.TrimPrefix(logic, "0x"))
			h.chain.slot(implementationSlot, beacon) // left over from an earlier delegation
		}},
		{"clone of an upgradeable proxy", "EIP-1967", func(h *bundle) {
			h.chain.code(token, minimal(beacon))
			h.chain.slot(implementationSlot, logic)
		}},
		{"minimal proxy of a minimal proxy", "EIP-1167", func(h *bundle) {
			h.chain.code(token, minimal(clone))
			h.chain.code(clone, minimal(logic))
			h.unverified(clone)
		}},
		{"of a kind that only Sourcify tells", "GnosisSafeProxy", func(h *bundle) {
			h.verified(token, "Proxy", adminABI,
				fmt.Sprintf(
					`{"isProxy":true,"proxyType":"GnosisSafeProxy","implementations":[{"address":%q,"name":"Safe"}]}`,
					logic))
		}},
		{"both say it, and the chain is newer", "EIP-1967", func(h *bundle) {
			h.verified(token, "Proxy", adminABI,
				fmt.Sprintf(`{"isProxy":true,"proxyType":"EIP1967Proxy","implementations":[{"address":%q}]}`, beacon))
			h.chain.slot(implementationSlot, logic)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := setup(t)
			h.verified(token, "Proxy", adminABI, notAProxy)
			h.verified(logic, "Logic", tokenABI, notAProxy)
			c.script(h)
			a, kept := h.abi(t)
			require.True(t, a.Verified)
			expect.Equal(t, *a.Name, "Logic")
			expect.Equal(t, *a.Proxy, c.kind)
			expect.Equal(t, a.Implementation.Checksummed(), checksummed(logic))
			expect.Equal(t, *a.ABIAddress, *a.Implementation)
			expect.Contains(t, string(a.ABI[0]), "transfer")
			expect.Equal(t, a.Note, "The ABI is the implementation's.")
			expect.Equal(t, kept, 24*time.Hour)
		})
	}
}

func TestProxy_OtherContractsAreNotTakenForOne(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(h *bundle){
		"a slot with more than an address": func(h *bundle) {
			h.chain.slot(implementationSlot, "1"+strings.Repeat("0", 41))
		},
		"a slot that leads to itself": func(h *bundle) { h.chain.slot(implementationSlot, token) },
		"a beacon that reverts":       func(h *bundle) { h.chain.slot(beaconSlot, beacon) },
		"a beacon that reverts in other words": func(h *bundle) {
			h.chain.slot(beaconSlot, beacon)
			h.chain.fail("eth_call", &node.Error{Code: -32015, Message: "VM execution error."})
		},
		"a beacon without code": func(h *bundle) {
			h.chain.slot(beaconSlot, beacon)
			h.chain.on(`eth_call[{"data":"0x5c60da1b","to":"`+beacon+`"},"latest"]`, `"0x"`)
		},
		"a beacon that gives more than an address": func(h *bundle) {
			h.chain.slot(beaconSlot, beacon)
			h.chain.returns(beacon, "0x5c60da1b", strings.Repeat("f", 64))
		},
		"code that only ends like a minimal proxy": func(h *bundle) {
			h.chain.code(token, "0x00"+strings.TrimPrefix(minimal(logic), "0x"))
		},
		"code that is cut off": func(h *bundle) { h.chain.code(token, minimal(logic)[:80]) },
		"a designator that is too long": func(h *bundle) {
			h.chain.code(token, "0xef0100"+strings.TrimPrefix(logic, "0x")+"00")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t)
			h.verified(token, "Token", tokenABI, notAProxy)
			script(h)
			a, _ := h.abi(t)
			expect.Equal(t, *a.Name, "Token")
			expect.Nil(t, a.Proxy)
			expect.Nil(t, a.Implementation)
		})
	}
}

func TestDiamond_ComesWithItsFacets(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.verified(token, "Diamond", adminABI,
		fmt.Sprintf(
			`{"isProxy":true,"proxyType":"DiamondProxy","implementations":[{"address":%q,"name":"A"},{"address":%q}]}`,
			logic, clone))
	a, _ := h.abi(t)
	expect.Equal(t, *a.Name, "Diamond")
	expect.Equal(t, *a.Proxy, "DiamondProxy")
	expect.Nil(t, a.Implementation)
	require.Len(t, a.Facets, 2)
	expect.Equal(t, a.Facets[1].Checksummed(), checksummed(clone))
	expect.Contains(t, a.Note, "ask for the ABI of each")
}

func TestContract_UnverifiedSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, note string
		script     func(h *bundle)
		verified   bool
		kept       time.Duration
	}{
		{
			"a contract",
			"This contract is not verified. Whoever has its sources can verify it at https://verify.sourcify.dev",
			func(*bundle) {}, false, 5 * time.Minute,
		},
		{
			"no contract", "No contract is at this address on eth_mainnet.", func(h *bundle) {
				h.chain.code(token, "0x")
			},
			false, 5 * time.Minute,
		},
		{"a chain that Sourcify does not know", "Sourcify verifies no contracts of chain 1,", func(h *bundle) {
			h.sourcify.on(lookup(token),
				says(http.StatusNotFound,
					`{"customCode":"unsupported_chain","message":"Chain 1 not found",`+
						`"errorId":"00000000-0000-0000-0000-000000000000"}`))
		}, false, 5 * time.Minute},
		{"a proxy and what it runs", "Neither this proxy nor its implementation is verified.", func(h *bundle) {
			h.chain.slot(implementationSlot, logic)
		}, false, 5 * time.Minute},
		{"what a proxy runs", "The ABI is the proxy's own: its implementation is not verified.", func(h *bundle) {
			h.verified(token, "Proxy", adminABI, notAProxy)
			h.chain.slot(implementationSlot, logic)
		}, true, 5 * time.Minute},
		{
			"a proxy whose implementation is", "The ABI is the implementation's; the proxy itself is not verified.",
			func(h *bundle) {
				h.verified(logic, "Logic", tokenABI, notAProxy)
				h.chain.slot(implementationSlot, logic)
			}, true, 24 * time.Hour,
		},
		{"a contract that was verified without an ABI", "It was verified without an ABI.", func(h *bundle) {
			h.verified(token, "Yul", "null", notAProxy)
		}, true, 24 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := setup(t)
			h.unverified(token)
			h.unverified(logic)
			c.script(h)
			a, kept := h.abi(t)
			expect.Equal(t, a.Verified, c.verified)
			expect.HasPrefix(t, a.Note, c.note)
			expect.Equal(t, kept, c.kept)
			if !a.Verified {
				in := expect.In(t, "what is not verified")
				expect.Nil(in, a.ABI)
				expect.Nil(in, a.Name)
				expect.Nil(in, a.Match)
				expect.Nil(in, a.ABIAddress)
			}
		})
	}
}

func TestContract_OutageIsNeverReportedAsNotVerified(t *testing.T) {
	t.Parallel()
	answer := fmt.Sprintf(`"chainId":"1","address":%q`, checksummed(token))
	for name, handler := range map[string]http.HandlerFunc{
		"too many requests":        says(http.StatusTooManyRequests, `{"customCode":"too_many_requests"}`),
		"an internal error":        says(http.StatusInternalServerError, `{"customCode":"internal_error"}`),
		"away for maintenance":     says(http.StatusServiceUnavailable, ""),
		"a bad request":            says(http.StatusBadRequest, `{"customCode":"invalid_parameter"}`),
		"a page that is not found": says(http.StatusNotFound, "<html>404</html>"),
		"another program's 404":    says(http.StatusNotFound, `{"error":"Not Found"}`),
		"a route that is not there": says(http.StatusNotFound,
			`{"customCode":"route_not_found","message":"API v2 is disabled"}`),
		"an empty 404": says(http.StatusNotFound, ""),
		"a 404 about another address": says(http.StatusNotFound,
			`{"match":null,"chainId":"1","address":"0x0000000000000000000000000000000000000001"}`),
		"a 404 about another chain": says(http.StatusNotFound, strings.Replace(`{"match":null,`+answer+`}`, `"1"`,
			`"10"`, 1)),
		"a 404 that is a match": says(http.StatusNotFound, `{"match":"match","abi":[],`+answer+`}`),
		"nothing":               says(http.StatusOK, ""),
		"no JSON":               says(http.StatusOK, "<html>"),
		"null":                  says(http.StatusOK, "null"),
		"a list":                says(http.StatusOK, "[]"),
		"another contract": says(http.StatusOK,
			`{"match":"match","abi":[],"chainId":"1","address":"0x0000000000000000000000000000000000000001"}`),
		"another chain's": says(http.StatusOK, strings.Replace(`{"match":"match","abi":[],`+answer+`}`,
			`"1"`, `"5"`, 1)),
		"no match told":         says(http.StatusOK, `{"abi":[],`+answer+`}`),
		"an unknown match":      says(http.StatusOK, `{"match":"perhaps","abi":[],`+answer+`}`),
		"no ABI":                says(http.StatusOK, `{"match":"match",`+answer+`}`),
		"an ABI that is a text": says(http.StatusOK, `{"match":"match","abi":"[]",`+answer+`}`),
		"an ABI of texts":       says(http.StatusOK, `{"match":"match","abi":["transfer"],`+answer+`}`),
		"too many entries": says(http.StatusOK,
			`{"match":"match","abi":[`+strings.Repeat("{},", 10_000)+`{}],`+answer+`}`),
		"a name of a kilobyte": says(http.StatusOK,
			`{"match":"match","abi":[],"compilation":{"name":"`+strings.Repeat("x", 1024)+`"},`+answer+`}`),
		"an implementation that is no address": says(http.StatusOK,
			`{"match":"match","abi":[],"proxyResolution":{"isProxy":true,"proxyType":"x",`+
				`"implementations":[{"address":"0x1"}]},`+answer+`}`),
		"an answer that is cut off": says(http.StatusOK, `{"match":"match","abi":[`),
		"an answer that is too large": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"match":"match","abi":[],` + answer + `,"metadata":"` + strings.Repeat("x", 5<<20) +
				`"}`))
		},
		"a connection that breaks": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t)
			h.sourcify.on(lookup(token), handler)
			h.fails(t, name, fault.NoUpstream)
			h.verified(token, "Token", tokenABI, notAProxy)
			h.clock = h.clock.Add(5 * time.Minute)
			if a, _ := h.abi(t); !a.Verified {
				t.Errorf("afterwards it gave %+v", a)
			}
		})
	}
}

func TestSourcify_TimeoutIsAFailure(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.sourcify.on(lookup(token), func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	started := time.Now()
	h.fails(t, "silence", fault.NoUpstream)
	if took := time.Since(started); took > 10*time.Second {
		t.Errorf("it was waited for, %s long", took)
	}
}

func TestSourcify_RetryAfterIsRespected(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.sourcify.on(lookup(token), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "30")
		says(http.StatusTooManyRequests, "{}")(w, r)
	})
	if refusal := h.failure(t, "asked too often", fault.NoUpstream); refusal.RetryAfter != 30*time.Second {
		t.Errorf("clients are told to wait %s", refusal.RetryAfter)
	}
	h.verified(token, "Token", tokenABI, notAProxy)
	h.clock = h.clock.Add(20 * time.Second)
	if refusal := h.failure(t, "too early", fault.NoUpstream); refusal.RetryAfter != 10*time.Second {
		t.Errorf("clients are told to wait %s", refusal.RetryAfter)
	}
	if n := h.sourcify.requests(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	h.clock = h.clock.Add(11 * time.Second)
	h.abi(t)
}

func TestSourcify_RedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	h := setup(t)
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect was followed")
	}))
	t.Cleanup(inside.Close)
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect} {
		h.sourcify.on(lookup(token), func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, inside.URL, status)
		})
		h.fails(t, "a redirect", fault.NoUpstream)
	}
}

func TestContract_UnreadableChainIsAFailure(t *testing.T) {
	t.Parallel()
	away := fault.New(fault.NoUpstream, "No upstream. Nothing was charged.")
	away.RetryAfter = time.Second
	for _, c := range []struct {
		method string
		err    error
		want   fault.Reason
	}{
		{"eth_getStorageAt", away, fault.NoUpstream},
		{
			"eth_getStorageAt", &node.Error{Code: -32000, Message: "historical state is not available"},
			fault.UpstreamFailed,
		},
		{"eth_getCode", fault.New(fault.UpstreamTimeout, ""), fault.UpstreamTimeout},
		{"eth_call", &node.Error{Code: -32000, Message: "busy"}, fault.UpstreamFailed},
	} {
		t.Run(c.method, func(t *testing.T) {
			h := setup(t)
			h.verified(token, "Proxy", adminABI, notAProxy)
			h.verified(logic, "Logic", tokenABI, notAProxy)
			h.chain.slot(beaconSlot, beacon)
			h.chain.returns(beacon, "0x5c60da1b", logic)
			h.chain.fail(c.method, c.err)
			h.fails(t, c.method, c.want)
			h.chain.fail(c.method, nil)
			if a, _ := h.abi(t); *a.Name != "Logic" {
				t.Errorf("after %s failed it gave %+v", c.method, a)
			}
		})
	}
	for _, garbage := range []string{`null`, `17`, `"60"`, `"0xzz"`, `{}`} {
		h := setup(t)
		h.verified(token, "Token", tokenABI, notAProxy)
		h.chain.on(`eth_getStorageAt["`+checksummed(token)+`","`+implementationSlot+`","latest"]`, garbage)
		h.fails(t, garbage, fault.UpstreamFailed)
	}
}

func TestContract_ConcurrentLookupsAreShared(t *testing.T) {
	t.Parallel()
	h := setup(t)
	var waiting sync.WaitGroup
	const callers = 8
	release := make(chan struct{})
	h.verified(token, "Token", tokenABI, notAProxy)
	answer := h.sourcify.answers[lookup(token)]
	h.sourcify.on(lookup(token), func(w http.ResponseWriter, r *http.Request) {
		<-release
		answer(w, r)
	})
	address, err := wallet.ParseAddress(token)
	if err != nil {
		t.Fatal(err)
	}
	var failures [callers]error
	for i := range callers {
		waiting.Go(func() {
			var a contracts.ABI
			if a, _, failures[i] = h.ABI(t.Context(), chain.EthMainnet, address); failures[i] == nil && !a.Verified {
				failures[i] = errors.New("it is not verified")
			}
		})
	}
	close(release)
	waiting.Wait()
	if err := errors.Join(failures[:]...); err != nil {
		t.Error(err)
	}
	if n := h.sourcify.requests(); n != 1 {
		t.Errorf("Sourcify was asked %d times", n)
	}
}
