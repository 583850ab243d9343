package contracts_test

import (
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/sandbox"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/toolbox/contracts"
	"github.com/chainaccess/gateway/toolbox/node"
)

// onSandbox returns a service that uses a sandbox chain and its Sourcify.
func onSandbox(t *testing.T, id chain.ID) (*contracts.Service, *sandbox.Sandbox) {
	t.Helper()
	box, err := sandbox.Start(t.Context(), sandbox.Options{Chains: []chain.ID{id}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	var listed []config.Upstream
	for _, u := range box.Upstreams() {
		listed = append(listed, config.Upstream{Name: u.Name, URL: u.URL, Supply: "public"})
	}
	pool, err := upstream.NewPool(config.Upstreams{
		Chains: map[string]config.ChainUpstreams{string(id): {Upstreams: listed}},
	}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	measured, err := pool.Probe(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	on, _ := pool.Chain(id)
	on.Apply(measured)
	var none *cache.Cache // nothing is cached
	return contracts.New(contracts.Options{
		Node: node.New(pool, chain.Links{}), SourcifyURL: box.Sourcify().URL, SignaturesURL: box.Sourcify().URL,
		Answers: none, Now: time.Now,
	}), box
}

func TestSandbox_ContractsAreFoundOnTheirChain(t *testing.T) {
	t.Parallel()
	s, box := onSandbox(t, chain.BaseMainnet)
	for _, c := range []struct {
		at             common.Address
		name, proxy    string
		implementation common.Address
	}{
		{sandbox.Overloads, "Overloads", "", common.Address{}},
		{sandbox.StorageProxy, "Overloads", "EIP-1967", sandbox.Overloads},
		{sandbox.BeaconProxy, "Overloads", "EIP-1967 beacon", sandbox.Overloads},
		{sandbox.MinimalProxy, "Overloads", "EIP-1167", sandbox.Overloads},
		{sandbox.LoopingProxy, "", "EIP-1967", common.Address{}},
		{sandbox.USDC(chain.BaseMainnet), "FiatTokenV2_2", "ZeppelinOSProxy", common.Address{}},
		{sandbox.Unverified, "", "", common.Address{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, _, err := s.ABI(t.Context(), chain.BaseMainnet, wallet.Address(c.at))
			if err != nil {
				t.Errorf("%s: %v", c.at, err)
				return
			}
			switch {
			case c.name == "" && c.proxy == "" && (a.Verified || !strings.Contains(a.Note, "verify.sourcify.dev")):
				t.Errorf("%s, which nobody verified, gave %+v", c.at, a)
			case c.name != "" && (!a.Verified || *a.Name != c.name || len(a.ABI) == 0):
				t.Errorf("%s gave verified %v, name %v, note %q", c.at, a.Verified, a.Name, a.Note)
			case c.proxy != "" && (a.Proxy == nil || *a.Proxy != c.proxy):
				t.Errorf("%s gave proxy %v", c.at, a.Proxy)
			case c.implementation != (common.Address{}) &&
				(a.Implementation == nil || *a.Implementation != wallet.Address(c.implementation)):
				t.Errorf("%s gave implementation %v", c.at, a.Implementation)
			}
		})
	}
	box.Sourcify().Trouble(sandbox.Trouble{Status: http.StatusTooManyRequests, Retry: "7"})
	_, _, err := s.ABI(t.Context(), chain.BaseMainnet, wallet.Address(sandbox.Overloads))
	refusal, ok := errors.AsType[*fault.Error](err)
	in := expect.In(t, "while Sourcify is asked too often")
	require.True(in, ok, err)
	expect.Equal(in, refusal.Reason, fault.NoUpstream)
	expect.Equal(in, refusal.RetryAfter, 7*time.Second)
}

func TestSandbox_CallsAreDecoded(t *testing.T) {
	t.Parallel()
	s, _ := onSandbox(t, chain.BaseMainnet)
	usdc := sandbox.USDC(chain.BaseMainnet)
	note := call(selectorOf(t, "note(uint256[],string[])"), "40", "80", "1", "7", "1", "20", "2", "6869.")
	for _, c := range []struct {
		at                     common.Address
		data, function, source string
		args                   string
	}{
		{
			usdc, call("a9059cbb", who, "f4240"), "transfer(address,uint256)", "sourcify",
			`"name":"value","type":"uint256","value":"1000000"`,
		},
		{sandbox.Overloads, call(selectorOf(t, "note(bytes32)"), "61."), "note(bytes32)", "sourcify", `"name":"hash"`},
		{sandbox.MinimalProxy, note, "note(uint256[],string[])", "sourcify", `"value":["hi"]`},
		{sandbox.BeaconProxy, note, "note(uint256[],string[])", "sourcify", `"value":["7"]`},
		{
			sandbox.Unverified, note, "note(uint256[],string[])", "signature_database",
			`"name":"","type":"string[]","value":["hi"]`,
		},
		{
			sandbox.Unverified, call("42966c68", strings.Repeat("7", 32)+"."), "burn(uint256)", "signature_database",
			`"type":"uint256"`,
		},
		{sandbox.Unverified, call("12345678", "1"), "", "", `"type":"bytes32"`},
		{sandbox.Arguments, call(selectorOf(t, "nothing()")), "nothing()", "sourcify", `[]`},
	} {
		t.Run(c.function, func(t *testing.T) {
			data, err := hex.DecodeString(c.data)
			if err != nil {
				t.Fatal(err)
			}
			d, _, err := s.Decode(t.Context(), chain.BaseMainnet, wallet.Address(c.at), data)
			if err != nil {
				t.Errorf("%s with %s: %v", c.at, c.data, err)
				return
			}
			function, source := "", ""
			if d.Function != nil {
				function, source = *d.Function, *d.Source
			}
			in := expect.In(t, "%s with %s", c.at, c.data)
			expect.Equal(in, function, c.function)
			expect.Equal(in, source, c.source)
			expect.Contains(in, shown(t, d.Args), c.args)
		})
	}
}
