package ens_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/egress"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/sandbox"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/toolbox/ens"
	"github.com/chainaccess/gateway/toolbox/node"
)

// patience is far longer than a test takes on a slow machine.
const patience = time.Minute

// chained is the sandbox's Ethereum with its gateway of off-chain names, and resolvers of names
// that use them.
type chained struct {
	t   *testing.T
	box *sandbox.Sandbox
	*ens.Names
	guarded *ens.Names // trusts no gateway, as in production
}

func openSandbox(t *testing.T) *chained {
	t.Helper()
	box, err := sandbox.Start(t.Context(), sandbox.Options{
		Chains: []chain.ID{chain.EthMainnet}, BlockTime: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	var on config.ChainUpstreams
	for _, u := range box.Upstreams() {
		on.Upstreams = append(on.Upstreams, config.Upstream{Name: u.Name, URL: u.URL, Supply: "public"})
	}
	pool, err := upstream.NewPool(config.Upstreams{
		Chains: map[string]config.ChainUpstreams{string(chain.EthMainnet): on},
	}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	proven(pool, on.Upstreams)
	reader := node.New(pool, chain.Links{})
	trusted := egress.Options{
		Now: time.Now, Trusted: []string{strings.TrimPrefix(box.CCIPGateway().URL, "http://")}, Timeout: patience,
	}
	return &chained{
		t, box, ens.New(reader, egress.New(trusted), time.Now),
		ens.New(reader, egress.New(egress.Options{Now: time.Now, Timeout: patience}), time.Now),
	}
}

// proven marks every upstream as one of its chain, as probes do.
func proven(pool *upstream.Pool, upstreams []config.Upstream) {
	on, _ := pool.Chain(chain.EthMainnet)
	s := upstream.Snapshot{Chain: chain.EthMainnet, MeasuredAt: time.Now(), Head: 1, HeadKnown: true}
	for _, u := range upstreams {
		s.Upstreams = append(s.Upstreams, upstream.UpstreamState{
			Fingerprint: on.Fingerprint(u.Name), Name: u.Name, Usable: true, ChainIDOK: true, Head: 1,
			LatencyMicros: 1000,
		})
	}
	on.Apply(s)
}

// account returns the address of one of the sandbox's accounts.
func (c *chained) account(i int) common.Address { return c.box.Accounts()[i].Address }

func TestSandbox_NamesResolve(t *testing.T) {
	t.Parallel()
	c := openSandbox(t)
	for name, want := range map[string]common.Address{
		sandbox.ENSRoot: c.account(0), sandbox.ENSAlice: c.account(1), sandbox.ENSBob: c.account(2),
		"anything." + sandbox.ENSWildcard: sandbox.ENSWildcardAddress("anything"),
		"a.b." + sandbox.ENSWildcard:      sandbox.ENSWildcardAddress("a"), sandbox.ENSCarol: c.account(3),
		sandbox.ENSDave: c.account(4), sandbox.ENSErin: c.account(5),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.Resolve(t.Context(), name)
			in := expect.In(t, "%s", name)
			require.NoError(in, err)
			expect.True(in, got.Resolved)
			require.NotNil(in, got.Address)
			expect.Equal(in, common.Address(*got.Address), want)
			expect.Equal(in, got.Name, name)
			expect.Equal(in, got.Note, "")
		})
	}
	for name, words := range map[string]string{
		sandbox.ENSNobody: "has no resolver", "below." + sandbox.ENSAlice: "has no resolver", "com": "has no resolver",
		sandbox.ENSEmpty: "no Ethereum address is set", sandbox.ENSReverting: "refused to answer",
		sandbox.ENSSilent: "keeps no addresses", sandbox.ENSNoCode: "not a contract",
		"nobody." + sandbox.ENSOffchain: "no Ethereum address is set",
		"nobody." + sandbox.ENSDirect:   "no Ethereum address is set",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.Resolve(t.Context(), name)
			in := expect.In(t, "%s", name)
			require.NoError(in, err)
			expect.False(in, got.Resolved)
			expect.Nil(in, got.Address)
			expect.Contains(in, got.Note, words)
		})
	}
}

func TestSandbox_PrimaryNamesAreShownWhenTheyLeadBack(t *testing.T) {
	t.Parallel()
	c := openSandbox(t)
	for i, want := range map[int]string{
		0: sandbox.ENSRoot, 1: sandbox.ENSAlice, 2: sandbox.ENSBob, 5: sandbox.ENSErin,
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			got, err := c.Reverse(t.Context(), wallet.Address(c.account(i)))
			in := expect.In(t, "account %d", i)
			require.NoError(in, err)
			expect.True(in, got.Resolved)
			require.NotNil(in, got.Name)
			expect.Equal(in, *got.Name, want)
			expect.Nil(in, got.UnconfirmedName)
			expect.Contains(in, got.Note, "confirms the name")
		})
	}
	for i, want := range map[int]struct{ claims, words string }{
		3: {sandbox.ENSAlice, "resolves to another address"}, 4: {sandbox.ENSNobody, "resolves to no address"},
		6: {"", "declares no name"}, 7: {"grace." + sandbox.ENSReverting, "resolves to no address"},
		8: {"", "declares no name"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			got, err := c.Reverse(t.Context(), wallet.Address(c.account(i)))
			claims := ""
			if got.UnconfirmedName != nil {
				claims = *got.UnconfirmedName
			}
			in := expect.In(t, "account %d", i)
			require.NoError(in, err)
			expect.False(in, got.Resolved)
			expect.Nil(in, got.Name)
			expect.Equal(in, claims, want.claims)
			expect.Contains(in, got.Note, want.words)
		})
	}
}

// A faulty gateway yields no answer, and in production no internal address is ever used as a
// gateway.
func TestSandbox_FailingGatewaysAreNoAnswer(t *testing.T) {
	t.Parallel()
	c := openSandbox(t)
	refused := func(what string, names *ens.Names, name, words string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		got, err := names.Resolve(ctx, name)
		refusal, ok := errors.AsType[*fault.Error](err)
		in := expect.In(t, "%s", what)
		require.True(in, ok, got, err)
		expect.Equal(in, refusal.Reason, fault.UpstreamFailed)
		expect.Contains(in, refusal.Message, words)
	}
	refused("404", c.Names, sandbox.ENSMissing, "HTTP 404")
	refused("404, asked directly", c.Names, strings.Replace(sandbox.ENSMissing, sandbox.ENSOffchain, sandbox.ENSDirect,
		1), "HTTP 404")
	refused("a forged signature", c.Names, sandbox.ENSForged, "gave no answer")
	refused("an old signature", c.Names, sandbox.ENSExpired, "gave no answer")
	refused("a forged signature, asked directly", c.Names, strings.Replace(sandbox.ENSForged, sandbox.ENSOffchain,
		sandbox.ENSDirect, 1), "gave no answer")
	before := c.box.CCIPGateway().Requests()
	refused("a gateway inside", c.guarded, sandbox.ENSCarol, "gave no answer")
	refused("a gateway inside, asked directly", c.guarded, sandbox.ENSDave, "gave no answer")
	if after := c.box.CCIPGateway().Requests(); after != before {
		t.Errorf("the gateway inside was asked %d times", after-before)
	}
	if err := c.box.CCIPGateway().Stop(); err != nil {
		t.Fatal(err)
	}
	refused("a gateway that is down", c.Names, sandbox.ENSCarol, "gave no answer")
	if err := c.box.CCIPGateway().Start(); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Resolve(t.Context(), sandbox.ENSCarol); err != nil || !got.Resolved {
		t.Errorf("once it is back: %+v, %v", got, err)
	}
}
