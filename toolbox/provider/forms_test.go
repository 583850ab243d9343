package provider

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
)

// Each is an endpoint, however it is written.
func TestAddresses_AreReadHoweverWritten(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		text, want string // source provider chain network guessed
	}{
		{
			`{"rpc": "https:\/\/eth-mainnet.g.alchemy.com\/v2\/` + secret + `"}`,
			"https://eth-mainnet.g.alchemy.com/v2/*** alchemy eth_mainnet eth-mainnet false",
		},
		{
			`RPC=eth-mainnet.g.alchemy.com/v2/` + secret,
			"eth-mainnet.g.alchemy.com/v2/*** alchemy eth_mainnet eth-mainnet false",
		},
		{`host: "base-mainnet.infura.io"`, "base-mainnet.infura.io infura base_mainnet base-mainnet false"},
		{`http("https://eth.merkle.io")`, "https://eth.merkle.io merkle eth_mainnet eth false"},
		{`http("https://eth-pokt.nodies.app")`, "https://eth-pokt.nodies.app nodies eth_mainnet eth false"},
		{`http("https://mainnet.era.zksync.io")`, "https://mainnet.***.zksync.*** unknown  zksync true"},
		{`http("https://bsc-dataseed.binance.org/")`, "https://***.binance.*** unknown  bsc true"},
		{`x = "wss://polygon.mynode.example/"`, "wss://polygon.***.*** unknown polygon_pos polygon false"},
		{
			`x = "https://gw.mynode.example/arbitrum/one"`,
			"https://***.***.***/arbitrum/*** unknown arbitrum_one arbitrum true",
		},
		{`x = "https://mainnet.mychain.example/"`, "https://mainnet.***.*** unknown  mainnet true"},
		{`url: "https://a.acme.example/x"`, "https://***.***.***/*** unknown   true"},
		{`ETH_NODE=https://a.acme.example/x`, "https://***.***.***/*** unknown   false"},
		{"endpoints:\n  - https://a.acme.example/x\n", "https://***.***.***/*** unknown   false"},
		{"transport: fallback([\n  http('https://a.acme.example/x'),\n", "https://***.***.***/*** unknown   false"},
		{`NODE="eth.acme.example/x"`, "eth.***.***/*** unknown eth_mainnet eth false"},
		{"const p = `https://${host}/v2/key`; provider", "https://***/v2/key unknown   true"},
		{"url: `https://${host}/v2/key`", "https://***/v2/key unknown   true"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			r := Read(c.text)
			if c.text[0] == 'c' { // no word before it
				if len(r.Endpoints) != 0 {
					t.Errorf("%s is read as %+v", c.text, r.Endpoints)
				}
				return
			}
			if len(r.Endpoints) != 1 {
				t.Errorf("%s is read as %+v", c.text, r.Endpoints)
				return
			}
			e := r.Endpoints[0]
			if got := fmt.Sprintf("%s %s %s %s %v", e.Source, e.Provider.Key, e.Chain, e.Network,
				e.Guessed); got != c.want {
				t.Errorf("%s is read as\n%s, want\n%s", c.text, got, c.want)
			}
		})
	}
	if r := Read("rpcUrls: [\n 'https://a.acme.example',\n 'https://b.acme.example',\n]"); len(r.Endpoints) != 2 {
		t.Errorf("a list is read as %+v", r.Endpoints)
	}
	for _, none := range []string{
		"ethers.provider.network", `import "viem/chains"`, `"base.json"`, "url: 'https://etherscan.io'", "ann@base.org",
		"see https://acme.example/x", "process.env.ETH_RPC_URL", "a.b", "…eth.example",
	} {
		if r := Read(none); len(r.Endpoints) != 0 {
			t.Errorf("%s is read as %+v", none, r.Endpoints)
		}
	}
}

func TestClients_ThatNameAProviderAreEndpoints(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		text, want string // source provider chain network credentials
	}{
		{
			"new AlchemyProvider('mainnet', '" + letters + "')",
			"AlchemyProvider(mainnet, ***) alchemy eth_mainnet mainnet 1",
		},
		{"new ethers.providers.InfuraProvider('matic', { projectId: '" + secret + "', projectSecret: \"" + letters +
			"\" })", "InfuraProvider(matic, ***) infura polygon_pos matic 2"},
		{"new AnkrProvider('arbitrum', process.env.ANKR)", "AnkrProvider(arbitrum) ankr arbitrum_one arbitrum 0"},
		{"new QuickNodeProvider(8453, 'YOUR_API_KEY')", "QuickNodeProvider(8453, ***) quicknode base_mainnet 8453 0"},
		{"new PocketProvider('sepolia', '" + secret + "')", "PocketProvider(sepolia, ***) pocket  sepolia 1"},
		{"new AlchemyProvider(undefined, key)", "AlchemyProvider() alchemy eth_mainnet  0"},
		{"new AlchemyProvider(network, key)", "AlchemyProvider() alchemy   0"},
		{"getDefaultProvider()", "getDefaultProvider() ethers_default eth_mainnet  0"},
		{
			"ethers.getDefaultProvider('optimism', {\n  infura: '" + secret + "',\n  alchemy: '" + letters + "' })",
			"getDefaultProvider(optimism, ***) ethers_default optimism_mainnet optimism 2",
		},
		{
			"new Alchemy({apiKey: '" + secret + "', network: Network.ETH_MAINNET})",
			"new Alchemy(eth_mainnet, ***) alchemy eth_mainnet " + "eth_mainnet 1",
		},
		{
			"const s = { network: Network.ARB_MAINNET }; new Alchemy(s)",
			"new Alchemy(arb_mainnet) alchemy arbitrum_one arb_mainnet 0",
		},
		{
			"new Connection(clusterApiUrl('mainnet-beta'))",
			"clusterApiUrl(mainnet-beta) solana solana_mainnet mainnet-beta 0",
		},
		{"alchemyProvider({ apiKey: '" + secret + "' })", "AlchemyProvider(, ***) alchemy   1"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			r := Read(c.text)
			if len(r.Endpoints) != 1 {
				t.Errorf("%s is read as %+v", c.text, r.Endpoints)
				return
			}
			e := r.Endpoints[0]
			if got := fmt.Sprintf("%s %s %s %s %d", e.Source, e.Provider.Key, e.Chain, e.Network,
				r.Secrets.Credentials); got != c.want {
				t.Errorf("%s is read as\n%s, want\n%s", c.text, got, c.want)
			}
		})
	}
	for _, none := range []string{
		"import { AlchemyProvider } from 'ethers'", "class MyAlchemyProvider(x)", "lchemyProvider('mainnet')",
	} {
		if r := Read(none); len(r.Endpoints) != 0 {
			t.Errorf("%s is read as %+v", none, r.Endpoints)
		}
	}
}

func TestUnknown_IsCountedAndNotRepeated(t *testing.T) {
	t.Parallel()
	r := Read(`send("eth_` + letters + `"); send('personal_sign'); send("eth_signTypedData"); f({"method": "` +
		letters + `"}); fetch(u, {method: "POST"}); f({method: 'eth_call'}) "eth_mainnet" 'eth_account'`)
	if got := fmt.Sprint(r.Methods); got != "[personal_* eth_sign* eth_call]" || r.OtherMethods != 2 {
		t.Errorf("told are %s, counted %d", got, r.OtherMethods)
	}
	r = Read(`solana "accountSubscribe" 'getSlot' method: 'getAssetsByOwner'`)
	if got := fmt.Sprint(r.Methods); got != "[*Subscribe getSlot]" || r.OtherMethods != 1 {
		t.Errorf("of Solana told are %s, counted %d", got, r.OtherMethods)
	}
	for host, source := range map[string]string{
		"174472837498": "http://***:8545", "10.0.0.7": "http://10.0.0.7:8545",
		"999.47.28.37": "http://***.***.***.***:8545", "174.472.8": "http://***.***.***:8545",
		"geth": "http://***:8545", "localhost": "http://localhost:8545", "192.168.1.9": "http://192.168.1.9:8545",
	} {
		t.Run(host, func(t *testing.T) {
			r := Read("rpc = http://" + host + ":8545")
			if len(r.Endpoints) != 1 || r.Endpoints[0].Source != source {
				t.Errorf("%s is shown as %+v", host, r.Endpoints)
			}
		})
	}
}

// A refused method is reported however it is written. What only resembles one, a variable or a word
// of prose, is not.
func TestRefusedMethods_AreFoundHoweverWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"methods: eth_getLogs, eth_sendTransaction, eth_subscribe, " +
			"personal_sign": "[eth_getLogs eth_sendTransaction eth_subscribe personal_*] 0",
		"- eth_newFilter\n- eth_sign\n- eth_signTypedData_v4\n- wallet_switchEthereumChain\n- " +
			"eth_accounts": "[eth_newFilter eth_sign* wallet_* eth_accounts] 0",
		"send('eth_signTypedData_v4')": "[eth_sign*] 0",
		"SOL=https://api.mainnet-beta.solana.com\nconst a = await " +
			"connection.getProgramAccounts(p);": "[getProgramAccounts] 0",
		"solana\nconst a = await connection\n  .getParsed<T>(p).getProgramAccounts<T>(p); " +
			"c.getSlot()": "[getProgramAccounts getSlot] 0",
		"rpc: https://api.mainnet-beta.solana.com\nmethod: " +
			"getProgramAccounts\n": "[getProgramAccounts] 0",
		"method: getProgramAccounts": "[getProgramAccounts] 0",
		"solana:\n  methods: [getSlot, getProgramAccounts]\n  more:\n  - " +
			"accountSubscribe": "[getSlot getProgramAccounts *Subscribe] 0",
		"rpc: solana\nmethod: " +
			"getAssetsByOwner\n": "[] 1",
		"call:\n  method: eth_madeUp # " +
			"none\n": "[] 1",
		"const c = { method: name }; const d = { method: " +
			"methodName\n}": "[] 0",
		"method: aes\nmethod: post\nmethod: " +
			"GET\n": "[] 0",
		"wallet_address: 0x1\nalchemy_key=a\nadmin_email personal_token alchemy_apiKey: " +
			"b": "[] 0",
		"eth_accounts = [a]; ${eth_coinbase} config.eth_mining eth_signer " +
			"eth_sign_key": "[] 0",
		"p.send('hardhat_setBalance', []); p.send(\"evm_increaseTime\", [1])\nanvil_setBalance " +
			"evm_mine": "[hardhat_* evm_* anvil_*] 0",
		`solc: {evm_version: "paris"}; 'evm_version' "testing_mode"`: "[] 0",
		"solana\ngetProgramAccounts\ngetSlot\n":                      "[getProgramAccounts getSlot] 0",
		"SOLANA_METHODS=getSlot getProgramAccounts " +
			"requestAirdrop": "[getSlot getProgramAccounts requestAirdrop] 0",
		"solana\nmethods: getSlot; getProgramAccounts\n* " +
			"requestAirdrop": "[getSlot getProgramAccounts requestAirdrop] 0",
		"of solana we call `getProgramAccounts` and " +
			"`getSlot`.": "[getProgramAccounts getSlot] 0",
		"solana:\n  getProgramAccounts: 20\n  getSlot: " +
			"5": "[getProgramAccounts getSlot] 0",
		"solana; connection.getProgramAccounts " +
			"(p)": "[getProgramAccounts] 0",
		"limits:\n  eth_subscribe: 5\n  eth_accounts: 3\n  eth_sign: 5\n  personal_sign: 3\n  " +
			"personal_unlockAccount: 1": "[eth_subscribe eth_accounts eth_sign* personal_*] 0",
		"on solana we use getSlot to read, and getFees is " +
			"gone": "[] 0",
		"solana: items.handleSubscribe(); function getFees() {} a " +
			"getProgramAccountsFilter": "[] 0",
	} {
		t.Run(text, func(t *testing.T) {
			r := Read(text)
			if got := fmt.Sprint(r.Methods, r.OtherMethods); got != want {
				t.Errorf("%s is read as\n%s, want\n%s", text, got, want)
			}
		})
	}
}

func TestPlaceholder_ConsistsOfWordsThatAskForAValue(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{
		"YOUR_API_KEY": true, "your-infura-project-id": true, "demo": true, "docs-demo": true, "xxxxxxxx": true,
		"YOUR_ALCHEMY_KEY": true, "replace-me": true, "${KEY}": true, "{{key}}": true, "<api key>": true, "$KEY": true,
		"...": true, "3f8d9a7c5b-key": false, "a1-key": false, "Your_Key": false, "qwertzuiop-key": false,
		"mypassphrase": false, "x": false, "": false, "KEY1": false, "${KEY}x": false, "-": false,
		"my-" + strings.ToLower(letters): false,
	} {
		t.Run(word, func(t *testing.T) {
			if isPlaceholder(word) != want {
				t.Errorf("%q is a placeholder: %v", word, !want)
			}
		})
	}
	r := Read("https://mainnet.infura.io/v3/3f8d9a7c5b-key")
	e := r.Endpoints[0]
	in := expect.In(t, "a real key")
	expect.False(in, e.Keyless)
	expect.True(in, e.KeyInURL)
	expect.Equal(in, r.Secrets.Credentials, 1)
}
