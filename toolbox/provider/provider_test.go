package provider

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

const (
	secret  = "s3cr3tK3yTh4tNobodyMaySee99"
	letters = "mySuperSecretPassPhraseOfLettersAlone"
)

func TestEndpoints_OfEachProviderAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw, provider, source string
		id                    chain.ID
		keyed, ws             bool
	}{
		{
			"https://eth-mainnet.g.alchemy.com/v2/" + secret, "alchemy", "https://eth-mainnet.g.alchemy.com/v2/***",
			chain.EthMainnet, true, false,
		},
		{
			"https://arb-mainnet.g.alchemy.com/v2/" + secret, "alchemy", "https://arb-mainnet.g.alchemy.com/v2/***",
			chain.ArbitrumOne, true, false,
		},
		{
			"https://opt-mainnet.g.alchemy.com/v2/" + secret, "alchemy", "https://opt-mainnet.g.alchemy.com/v2/***",
			chain.OptimismMainnet, true, false,
		},
		{
			"https://solana-mainnet.g.alchemy.com/v2/" + secret, "alchemy",
			"https://solana-mainnet.g.alchemy.com/v2/***", chain.SolanaMainnet, true, false,
		},
		{
			"wss://base-mainnet.g.alchemy.com/v2/" + secret, "alchemy", "wss://base-mainnet.g.alchemy.com/v2/***",
			chain.BaseMainnet, true, true,
		},
		{
			"https://eth-sepolia.g.alchemy.com/v2/" + secret, "alchemy", "https://eth-sepolia.g.alchemy.com/v2/***", "",
			true, false,
		},
		{
			"https://eth-mainnet.alchemyapi.io/v2/" + secret, "alchemy", "https://eth-mainnet.alchemyapi.io/v2/***",
			chain.EthMainnet, true, false,
		},
		{
			"https://mainnet.infura.io/v3/" + secret, "infura", "https://mainnet.infura.io/v3/***",
			chain.EthMainnet, true, false,
		},
		{
			"https://polygon-mainnet.infura.io/v3/" + secret, "infura", "https://polygon-mainnet.infura.io/v3/***",
			chain.PolygonPoS, true, false,
		},
		{
			"https://:" + secret + "@base-mainnet.infura.io/v3/abc", "infura",
			"https://***@base-mainnet.infura.io/v3/***", chain.BaseMainnet, true, false,
		},
		{
			"wss://mainnet.infura.io/ws/v3/" + secret, "infura", "wss://mainnet.infura.io/ws/v3/***", chain.EthMainnet,
			true, true,
		},
		{
			"https://still-near-moon.quiknode.pro/" + secret + "/", "quicknode", "https://***.quiknode.pro/***",
			chain.EthMainnet, true, false,
		},
		{
			"https://cool-name.base-mainnet.quiknode.pro/" + secret + "/", "quicknode",
			"https://***.base-mainnet.quiknode.pro/***", chain.BaseMainnet, true, false,
		},
		{
			"https://cool-name.matic.quiknode.pro/" + secret, "quicknode", "https://***.matic.quiknode.pro/***",
			chain.PolygonPoS, true, false,
		},
		{
			"https://cool-name.solana-mainnet.discover.quiknode.pro/" + secret, "quicknode",
			"https://***.solana-mainnet.discover.quiknode.pro/***", chain.SolanaMainnet, true, false,
		},
		{
			"https://cool-name.arbitrum-sepolia.quiknode.pro/" + secret, "quicknode",
			"https://***.arbitrum-sepolia.quiknode.pro/***", "", true, false,
		},
		{"https://rpc.ankr.com/eth/" + secret, "ankr", "https://rpc.ankr.com/eth/***", chain.EthMainnet, true, false},
		{"https://rpc.ankr.com/arbitrum", "ankr", "https://rpc.ankr.com/arbitrum", chain.ArbitrumOne, false, false},
		{
			"https://rpc.ankr.com/premium-http/polygon/" + secret, "ankr",
			"https://rpc.ankr.com/premium-http/polygon/***", chain.PolygonPoS, true, false,
		},
		{
			"wss://rpc.ankr.com/base/ws/" + secret, "ankr", "wss://rpc.ankr.com/base/ws/***", chain.BaseMainnet, true,
			true,
		},
		{"https://rpc.ankr.com/eth_sepolia", "ankr", "https://rpc.ankr.com/eth_sepolia", "", false, false},
		{
			"https://lb.drpc.org/ogrpc?network=optimism&dkey=" + secret, "drpc",
			"https://lb.drpc.org/ogrpc?network=optimism&dkey=***", chain.OptimismMainnet, true, false,
		},
		{
			"wss://lb.drpc.org/ogws?network=ethereum&dkey=" + secret, "drpc",
			"wss://lb.drpc.org/ogws?network=ethereum&dkey=***", chain.EthMainnet, true, true,
		},
		{"https://lb.drpc.org/base/" + secret, "drpc", "https://lb.drpc.org/base/***", chain.BaseMainnet, true, false},
		{"https://polygon.drpc.org", "drpc", "https://polygon.drpc.org", chain.PolygonPoS, false, false},
		{
			"https://ethereum-mainnet.core.chainstack.com/" + secret, "chainstack",
			"https://ethereum-mainnet.core.chainstack.com/***", chain.EthMainnet, true, false,
		},
		{
			"https://solana-mainnet.core.chainstack.com/" + secret, "chainstack",
			"https://solana-mainnet.core.chainstack.com/***", chain.SolanaMainnet, true, false,
		},
		{"https://nd-123-456-789.p2pify.com/" + secret, "chainstack", "https://***.p2pify.com/***", "", true, false},
		{
			"https://site1.moralis-nodes.com/eth/" + secret, "moralis", "https://site1.moralis-nodes.com/eth/***",
			chain.EthMainnet, true, false,
		},
		{
			"https://speedy-nodes-nyc.moralis.io/" + secret + "/polygon/mainnet", "moralis",
			"https://speedy-nodes-nyc.moralis.io/***/polygon/mainnet", chain.PolygonPoS, true, false,
		},
		{
			"https://speedy-nodes-nyc.moralis.io/" + secret + "/eth/goerli", "moralis",
			"https://speedy-nodes-nyc.moralis.io/***/eth/goerli", "", true, false,
		},
		{
			"https://mainnet.helius-rpc.com/?api-key=" + secret, "helius", "https://mainnet.helius-rpc.com?api-key=***",
			chain.SolanaMainnet, true, false,
		},
		{
			"https://rpc.helius.xyz/?api-key=" + secret, "helius", "https://rpc.helius.xyz?api-key=***",
			chain.SolanaMainnet, true, false,
		},
		{
			"https://devnet.helius-rpc.com/?api-key=" + secret, "helius",
			"https://devnet.helius-rpc.com?api-key=***", "", true, false,
		},
		{
			"https://ethereum-rpc.publicnode.com", "publicnode", "https://ethereum-rpc.publicnode.com",
			chain.EthMainnet, false, false,
		},
		{
			"https://polygon-bor-rpc.publicnode.com", "publicnode", "https://polygon-bor-rpc.publicnode.com",
			chain.PolygonPoS, false, false,
		},
		{
			"wss://arbitrum-one-rpc.publicnode.com", "publicnode", "wss://arbitrum-one-rpc.publicnode.com",
			chain.ArbitrumOne, false, true,
		},
		{
			"https://ethereum-sepolia-rpc.publicnode.com", "publicnode",
			"https://ethereum-sepolia-rpc.publicnode.com", "", false, false,
		},
		{"https://eth.llamarpc.com", "llamarpc", "https://eth.llamarpc.com", chain.EthMainnet, false, false},
		{"https://cloudflare-eth.com", "cloudflare", "https://cloudflare-eth.com", chain.EthMainnet, false, false},
		{"https://mainnet.base.org", "base", "https://mainnet.base.org", chain.BaseMainnet, false, false},
		{"https://sepolia.base.org", "base", "https://sepolia.base.org", "", false, false},
		{"https://arb1.arbitrum.io/rpc", "arbitrum", "https://arb1.arbitrum.io/rpc", chain.ArbitrumOne, false, false},
		{"https://mainnet.optimism.io", "optimism", "https://mainnet.optimism.io", chain.OptimismMainnet, false, false},
		{"https://polygon-rpc.com/", "polygon", "https://polygon-rpc.com", chain.PolygonPoS, false, false},
		{"https://rpc-amoy.polygon.technology", "polygon", "https://rpc-amoy.polygon.technology", "", false, false},
		{
			"https://api.mainnet-beta.solana.com", "solana", "https://api.mainnet-beta.solana.com", chain.SolanaMainnet,
			false, false,
		},
		{"https://api.devnet.solana.com", "solana", "https://api.devnet.solana.com", "", false, false},
		{"https://1rpc.io/base", "onerpc", "https://1rpc.io/base", chain.BaseMainnet, false, false},
		{
			"https://8453.rpc.thirdweb.com/" + secret, "thirdweb", "https://8453.rpc.thirdweb.com/***",
			chain.BaseMainnet, true, false,
		},
		{"http://localhost:8545", "local", "http://localhost:8545", "", false, false},
		{"http://127.0.0.1:8545/", "local", "http://127.0.0.1:8545", "", false, false},
		{
			"https://user:" + secret + "@rpc.acme-corp.example:8443/eth/" + secret, "unknown",
			"https://***@rpc.***.***:8443/eth/***", chain.EthMainnet, true, false,
		},
	} {
		t.Run(c.provider, func(t *testing.T) {
			r := Read("url = \"" + c.raw + "\"\n")
			if len(r.Endpoints) != 1 {
				t.Errorf("%s: %+v", c.raw, r.Endpoints)
				return
			}
			e := r.Endpoints[0]
			in := expect.In(t, "%s", c.raw)
			expect.Equal(in, e.Provider.Key, c.provider)
			expect.Equal(in, e.Source, c.source)
			expect.Equal(in, e.Chain, c.id)
			expect.Equal(in, e.KeyInURL, c.keyed)
			expect.Equal(in, e.WebSocket, c.ws)
			expect.False(in, e.Keyless)
			if strings.Contains(fmt.Sprintf("%+v", r), secret) {
				t.Errorf("%s: the secret is in %+v", c.raw, r)
			}
		})
	}
}

func TestEndpoints_AddressesOfWebPagesAreNone(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"https://docs.alchemy.com/reference", "https://www.infura.io", "https://docs.base.org/",
		"https://explorer.solana.com/", "https://github.com/acme/app", "https://etherscan.io/tx/1", "https://",
		"http://?", "https:///v2/x", "ftp://eth-mainnet.g.alchemy.com/v2/x",
	} {
		if r := Read(raw); len(r.Endpoints) != 0 {
			t.Errorf("%s is read as %+v", raw, r.Endpoints)
		}
	}
}

func TestPlaceholder_IsNoSecret(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"https://eth-mainnet.g.alchemy.com/v2/${process.env.ALCHEMY_API_KEY}",
		"https://eth-mainnet.g.alchemy.com/v2/YOUR_API_KEY", "https://eth-mainnet.g.alchemy.com/v2/<api key>",
		"https://mainnet.infura.io/v3/{{INFURA_KEY}}", "https://lb.drpc.org/ogrpc?network=ethereum&dkey=${DRPC_KEY}",
		"https://mainnet.infura.io/v3/$INFURA_KEY",
	} {
		r := Read("`" + raw + "`")
		in := expect.In(t, "%s", raw)
		require.Len(in, r.Endpoints, 1)
		expect.True(in, r.Endpoints[0].KeyInURL)
		expect.True(in, r.Endpoints[0].Keyless)
		expect.Equal(in, r.Endpoints[0].Chain, chain.EthMainnet)
		expect.Equal(in, r.Secrets, Secrets{})
	}
	r := Read("fetch(`https://${net}.infura.io/v3/${key}`)")
	in := expect.In(t, "a network from elsewhere")
	require.Len(in, r.Endpoints, 1)
	expect.Equal(in, r.Endpoints[0].Provider.Key, "infura")
	expect.Equal(in, r.Endpoints[0].Chain, "")
}

// Each file begins with a line that lists its content: clients; formats; endpoints; methods;
// secrets.
func TestClients_ConfigurationsAreRead(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"viem.ts":           "[viem]; [javascript]; eth_mainnet base_mainnet; []; {0 0 2}",
		"ethers.js":         "[ethers]; [javascript]; polygon_pos -; [eth_getLogs eth_subscribe]; {1 0 2}",
		"web3.py":           "[web3.py]; [python]; arbitrum_one; [debug_traceTransaction]; {0 0 1}",
		"hardhat.config.ts": "[hardhat]; [javascript]; eth_mainnet - -; []; {2 1 1}",
		"foundry.toml":      "[foundry]; [toml]; eth_mainnet optimism_mainnet; []; {0 0 1}",
		"app.env":           "[]; [env]; eth_mainnet solana_mainnet; []; {1 1 3}",
		"chains.json":       "[]; [json]; eth_mainnet base_mainnet; [eth_call eth_blockNumber]; {0 0 1}",
		"config.yaml":       "[]; [yaml]; base_mainnet polygon_pos; []; {0 0 1}",
		"solana.ts": "[solana-web3.js]; [javascript]; solana_mainnet solana_mainnet; [getProgramAccounts " +
			"getSlot]; {1 0 1}",
	}
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) != len(want) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := Read(string(text))
		var chains []string
		for _, e := range r.Endpoints {
			id := string(e.Chain)
			if id == "" {
				id = "-"
			}
			chains = append(chains, id)
		}
		got := fmt.Sprintf("%v; %v; %s; %v; %v", r.Clients, r.Formats, strings.Join(chains, " "), r.Methods, r.Secrets)
		if got != want[filepath.Base(file)] {
			t.Errorf("%s is read as\n%s, want\n%s\n%+v", file, got, want[filepath.Base(file)], r.Endpoints)
		}
		if text := fmt.Sprintf("%+v", r); strings.Contains(text, "0SECRET") || strings.Contains(text, "deadbeef") ||
			strings.Contains(text, "abandon") {
			t.Errorf("%s: a secret is in %s", file, text)
		}
	}
}

func TestEndpoints_RepeatedAreListedOnceWithTheirLines(t *testing.T) {
	t.Parallel()
	r := Read(strings.Repeat("https://eth.llamarpc.com\n", 30))
	require.Len(t, r.Endpoints, 1)
	expect.EqualSlices(t, r.Endpoints[0].Lines, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	expect.False(t, r.Truncated)
	var many strings.Builder
	for i := range 60 {
		fmt.Fprintf(&many, "https://eth.llamarpc.com/%d\n", i)
	}
	if r := Read(many.String()); len(r.Endpoints) != maxEndpoints || !r.Truncated {
		t.Errorf("%d endpoints, truncated %v", len(r.Endpoints), r.Truncated)
	}
}

func TestEndpoints_UnseparatedAddressesAreTwo(t *testing.T) {
	t.Parallel()
	r := Read("rpc: eth-mainnet.infura.io/v3/0SECRETwss://eth-mainnet.g.alchemy.com/v2/0SECRET")
	if len(r.Endpoints) != 2 || strings.Contains(fmt.Sprintf("%+v", r), "0SECRET") {
		t.Errorf("read as %+v", r)
	}
}

func TestMethods_NamesThatAreNoneAreLeftOut(t *testing.T) {
	t.Parallel()
	r := Read("from eth_account import Account\nchain = \"eth_mainnet\"\nENV eth_rpc_url net_version " +
		"\"eth_accounts\" eth_" + secret + " 'eth_madeUp' \"eth_simulateV1\" eth_call, eth_call")
	if got := fmt.Sprint(r.Methods); got != "[net_version eth_accounts eth_simulateV1 eth_call]" ||
		r.OtherMethods != 1 {
		t.Errorf("the methods are %s, and %d others", got, r.OtherMethods)
	}
}

// FuzzRead checks that a secret never appears in the result, wherever it is in a text, and that
// every list is bounded.
func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.*") //nolint:errcheck // the pattern is well-formed
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), uint16(len(text)/2))
	}
	for _, form := range forms {
		f.Add("https://eth-mainnet."+form.suffix+"/v2/", uint16(60))
		f.Add("wss://u:@"+form.suffix+"/eth/?network=&api-key=", uint16(6))
	}
	for _, text := range []string{
		"\"eth_\"", "https://.g.alchemy.com", "https://x.quiknode.pro/?network=eth-", "https://[::1]:8545", "\xff\xfe",
		"PRIVATE_KEY=", "${", "https://{", "'getAccountInfo' solana", "new AlchemyProvider('mainnet', '')",
		"getDefaultProvider('')", "new Alchemy({apiKey:'', network: Network.ETH_MAINNET})", "'eth_'", "method: ''",
		"http://:8545", `https:\/\/eth-mainnet.g.alchemy.com\/v2\/`, "rpc: eth.host.example/",
		"mainnet.infura.io/v3/wss://host.example",
	} {
		f.Add(text, uint16(len(text)))
		f.Add(text, uint16(8))
	}
	f.Fuzz(func(t *testing.T, text string, at uint16) {
		i := min(int(at), len(text))
		for _, hidden := range []string{secret, letters} {
			if len(text) > 4*MaxText || strings.Contains(strings.ToLower(text), strings.ToLower(hidden)) {
				return
			}
			r := Read(text[:i] + hidden + text[i:])
			if shown := strings.ToLower(fmt.Sprintf("%+v", r)); strings.Contains(shown, strings.ToLower(hidden)) {
				t.Errorf("the secret is in %s", shown)
			}
			if len(r.Endpoints) > maxEndpoints || len(r.Methods) > maxMethods {
				t.Errorf("%d endpoints, %d methods", len(r.Endpoints), len(r.Methods))
			}
		}
	})
}

// BenchmarkRead reads texts that nearly match a pattern everywhere, which is the worst case. The
// time must be linear in the length.
func BenchmarkRead(b *testing.B) {
	for name, piece := range map[string]string{
		"words": "abandon ", "hex": "a", "digits": "[1,2,", "addresses": "https://{${", "assignments": "token: ",
		"names": "eth_a", "lines": "A=b\n", "braces": "https://${aaaaaaaaaaaaaaaaaaaaaaaa", "dots": "eth.a/",
		"constructors": "AlchemyProvider('a'", "methods": "method:'a", "values": "method: a\n",
		"called": "solana .getSlots(", "items": "solana, ", "refused": "eth_signA        ,",
		"mixed": "rpc=https://eth.llamarpc.com/x AlchemyProvider(1,'k') 'eth_x' solana token: abcd\n",
	} {
		text := strings.Repeat(piece, MaxText/len(piece))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Read(text)
			}
		})
	}
}
