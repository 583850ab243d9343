package advice_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/internal/servicetest"
)

func TestMigrate_MapsAConfigurationAndReturnsNothingSecret(t *testing.T) {
	t.Parallel()
	public := []servicetest.Seen{{Supply: plan.Public, Can: map[chain.Capability]bool{chain.Debug: true}}}
	o := servicetest.Advisers(t, servicetest.Measured(t, time.Now(), map[chain.ID][]servicetest.Seen{
		chain.EthMainnet: public, chain.BaseMainnet: public, chain.ArbitrumOne: public, chain.PolygonPoS: public,
		chain.SolanaMainnet: public,
	}))
	const here = "https://gateway.example/rpc/"
	for i, c := range []struct {
		file    string
		ready   bool
		summary string
		has     []string // in the answer
	}{
		{"viem.ts", true, "2 of 2 endpoints", []string{
			here + "eth_mainnet", here + "base_mainnet", "fetchOptions", "revoke it",
		}},
		{
			"ethers.js", false, "1 of 2 endpoints can move as they are, and 1 of 2 methods",
			[]string{
				"There are no subscriptions", "weighs 1, and 2 when", "Warning", "FetchRequest",
				"This network is not served",
			},
		},
		{
			"web3.py", true, "1 of 1 endpoints can move as they are, and 1 of 1 methods",
			[]string{here + "arbitrum_one", "request_kwargs", `"weight":2`},
		},
		{"hardhat.config.ts", false, "1 of 2 endpoints", []string{
			"httpHeaders", "A node of your own", "This network is not served", "2 private keys and 1 mnemonics",
		}},
		{"foundry.toml", false, "1 of 2 endpoints", []string{"no upstream for optimism_mainnet", "--rpc-headers"}},
		{"app.env", true, "2 of 2 endpoints", []string{here + "solana_mainnet", "new wallet", "3 credentials"}},
		{
			"chains.json", true, "2 of 2 endpoints can move as they are, and 2 of 2 methods",
			[]string{here + "base_mainnet"},
		},
		{"config.yaml", true, "2 of 2 endpoints", []string{"https://***@polygon-rpc.com", here + "polygon_pos"}},
		{
			"solana.ts", false, "2 of 2 endpoints can move as they are, and 1 of 2 methods",
			[]string{"getMultipleAccounts", "new Connection('" + here + "solana_mainnet'"},
		},
	} {
		t.Run(c.file, func(t *testing.T) {
			config, err := os.ReadFile(filepath.Join("..", "..", "toolbox", "provider", "testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
			m := servicetest.Must[advice.Migration](t)(o.Migrate.Invoke(o.Ctx, servicetest.Neighbour(i),
				advice.MigrateInput{
					Config: string(config),
				}))
			raw, err := json.Marshal(m)
			text := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(raw))
			in := expect.In(t, "%s", c.file)
			require.NoError(in, err)
			expect.Equal(in, m.Ready, c.ready)
			expect.Contains(in, m.Summary, c.summary)
			for _, part := range c.has {
				if !strings.Contains(text, part) {
					t.Errorf("the answer lacks %q: %s", part, text)
				}
			}
			for _, hidden := range []string{"0SECRET", "deadbeef", "abandon", "cool-name", "174,47", "secret-name"} {
				if strings.Contains(text, hidden) {
					t.Errorf("%q is in %s", hidden, text)
				}
			}
		})
	}
	socket := servicetest.Must[advice.Migration](t)(o.Migrate.Invoke(o.Ctx, servicetest.Neighbour(20),
		advice.MigrateInput{
			Config: "WS=wss://mainnet.infura.io/ws/v3/0123456789abcdef0123456789abcdef",
		}))
	e := socket.Endpoints[0]
	expect.False(t, socket.Ready)
	expect.False(t, e.Served)
	expect.True(t, e.WebSocket)
	require.NotNil(t, e.Replacement)
	expect.Equal(t, *e.Replacement, here+"eth_mainnet")
	expect.Contains(t, e.Note, "no websockets")
}

func TestMigrate_ReadsAnyTextAndNoneThatIsTooLong(t *testing.T) {
	t.Parallel()
	o := servicetest.Advisers(t, servicetest.Measured(t, time.Now(), nil))
	for i, config := range []any{
		"hello", "\x00\x01\u202e", "\xff\xfe https://\xff.g.alchemy.com/v2/\xff",
		strings.Repeat("é", 20_000), strings.Repeat("https://eth.llamarpc.com/x ", 700),
	} {
		got, refusal := servicetest.Serve(o, o.Migrate, servicetest.Neighbour(i), map[string]any{"config": config})
		in := expect.In(t, "text %d", i)
		require.Nil(in, refusal)
		expect.Equal[any](in, got["ready"], false)
		expect.NotEqual[any](in, got["summary"], "")
		expect.NotEqual(in, got["endpoints"], nil)
		expect.NotEqual(in, got["methods"], nil)
		expect.NotEqual(in, got["changes"], nil)
	}
	for i, config := range []any{"", strings.Repeat("x", 20_001), strings.Repeat("é", 20_001), nil, 7.0, []any{"x"}} {
		o.Refuses(t, o.Migrate, servicetest.Neighbour(20+i), map[string]any{"config": config}, fault.FieldRefused)
	}
}

// Anything not understood makes ready false. Unknown names are counted and not repeated.
func TestMigrate_IsReadyOnlyWhenAllIsUnderstood(t *testing.T) {
	t.Parallel()
	o := servicetest.Advisers(t,
		servicetest.Measured(t, time.Now(), map[chain.ID][]servicetest.Seen{chain.EthMainnet: {{Supply: plan.Public}}}))
	const rpc = "RPC=https://eth.llamarpc.com\n"
	for i, c := range []struct {
		config string
		ready  bool
		has    string
	}{
		{rpc, true, "1 of 1 endpoints"},
		{`{"rpc": "https:\/\/eth-mainnet.g.alchemy.com\/v2\/abc"}`, true, "/rpc/eth_mainnet"},
		{rpc + `x.send("eth_mySuperSecretPassPhrase")`, false, `"other_methods":1`},
		{rpc + "url: 'https://a.acme.example'", false, "Nothing says whether this is a node's address"},
		{rpc + "x = 'https://eth.acme.example'", false, "nothing says that it is a node's"},
		{rpc + "x = 'https://mainnet.era.zksync.io'", false, "***.zksync.***"},
		{
			"import { ethers } from 'ethers'\nconst p = new ethers.AlchemyProvider('mainnet', " +
				"'mySuperSecretPassPhrase')",
			true, "FetchRequest",
		},
		{"import { createPublicClient } from 'viem'", false, "fetchOptions"},
		{"new AlchemyProvider('sepolia', KEY)", false, "This network is not served"},
	} {
		t.Run(c.has, func(t *testing.T) {
			m := servicetest.Must[advice.Migration](t)(o.Migrate.Invoke(o.Ctx, servicetest.Neighbour(i),
				advice.MigrateInput{Config: c.config}))
			text, err := json.Marshal(m)
			in := expect.In(t, "%s", c.config)
			require.NoError(in, err)
			expect.Equal(in, m.Ready, c.ready)
			expect.Contains(in, string(text), c.has)
			expect.NotContains(in, string(text), "SuperSecret")
		})
	}
}

func TestMigrate_TextsAreReadOneAfterAnother(t *testing.T) {
	t.Parallel()
	o := servicetest.Advisers(t, servicetest.Measured(t, time.Now(), nil))
	free := o.Occupy()
	ctx, cancel := context.WithTimeout(o.Ctx, time.Second)
	defer cancel()
	if _, refusal := o.Migrate.Invoke(ctx, servicetest.Neighbour(0),
		advice.MigrateInput{Config: "x"}); refusal == nil ||
		refusal.Reason != fault.RateWindow || refusal.RetryAfter <= 0 {
		t.Errorf("while all are reading: %v", refusal)
	}
	free()
	began := time.Now()
	for i := range 10 {
		if _, refusal := o.Migrate.Invoke(o.Ctx, servicetest.Neighbour(1),
			advice.MigrateInput{Config: "x"}); refusal != nil {
			t.Fatalf("text %d of a network: %v", i, refusal)
		}
	}
	var refusal *fault.Error
	// the limit refills by one every 6 s
	for sent := 0; refusal == nil && sent < 2+int(time.Since(began)/(6*time.Second)); sent++ {
		_, refusal = o.Migrate.Invoke(o.Ctx, servicetest.Neighbour(1), advice.MigrateInput{Config: "x"})
	}
	in := expect.In(t, "the eleventh text of a network")
	require.NotNil(in, refusal)
	expect.Equal(in, refusal.Reason, fault.RateWindow)
	expect.Equal(in, refusal.Window.Limit, 10)
}

// Callers with keys behind one address do not share a limit. An invalid key counts as the network.
func TestMigrate_AdviceIsCountedByTheKeyThatComesAlong(t *testing.T) {
	t.Parallel()
	o := servicetest.Advisers(t, servicetest.Measured(t, time.Now(), nil))
	with := func(bearer string) *fault.Error {
		c := servicetest.Neighbour(3)
		c.Bearer = bearer
		_, refusal := o.Migrate.Invoke(o.Ctx, c, advice.MigrateInput{Config: "x"})
		return refusal
	}
	began := time.Now()
	var refusal *fault.Error
	for sent := 0; refusal == nil && sent < 12+int(time.Since(began)/(6*time.Second)); sent++ {
		refusal = with([]string{"", "no key at all"}[sent%2])
	}
	if refusal == nil || refusal.Reason != fault.RateWindow {
		t.Errorf("without keys: %v", refusal)
	}
	key := o.WideKey(t)
	if refusal := with(key); refusal != nil {
		t.Errorf("with a key: %v", refusal)
	}
	refusal = nil
	for sent := 0; refusal == nil && sent < 11+int(time.Since(began)/(6*time.Second)); sent++ {
		refusal = with(key)
	}
	if refusal == nil || refusal.Reason != fault.RateWindow {
		t.Errorf("beyond the key's limit: %v", refusal)
	}
}
