package config

import (
	"maps"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
)

// told formats mistakes or notes, one per line.
func told(list []Mistake) string {
	var b strings.Builder
	for _, m := range list {
		b.WriteString(m.String() + "\n")
	}
	return b.String()
}

func TestCheck_NamesEveryMistakeWithLineAndPlace(t *testing.T) {
	t.Parallel()
	report := check(`# the first line
chains:
  base_mainnet:
    upstreams:
      - name: one
        url: https://canary.example/v2/canary-secret-canary
        header:
          Authorization: canary-secret-canary
      - name: one
        url: https://two.example/${ABSENT}
        supply: gold
        max_concurrent: many
        max_per_second: -1
      - name: Three
        url: "https://CANARY.example:443/v2/canary-secret-canary/"
        url: https://three.example
      - canary-secret-canary
  canary-secret-canary-secret-canary:
    upstreams: []
  solana_mainnet:
    chain_ids: 5
    upstreams:
      name: one
`)
	want := `line 7, column 9: chains.base_mainnet.upstreams[0]: a member has an unknown name, perhaps headers is meant; it takes name, url, kind, headers, supply, http2, max_concurrent, max_per_second, price, budget, max_log_blocks, shadow, canary; upstreams.example.yaml shows the form
line 9, column 15: chains.base_mainnet.upstreams[1].name: "one" is used twice, by chains.base_mainnet.upstreams[0] already
line 10, column 14: chains.base_mainnet.upstreams[1].url: the environment variable ABSENT is not set
line 11, column 17: chains.base_mainnet.upstreams[1].supply: give public, wholesale or premium
line 12, column 25: chains.base_mainnet.upstreams[1].max_concurrent: a value is of the wrong kind: give a whole number
line 13, column 25: chains.base_mainnet.upstreams[1].max_per_second: give a number from 0.01 to 1000000, or 0 for no bound
line 14, column 15: chains.base_mainnet.upstreams[2].name: give 1 to 40 of a-z, 0-9, - and _, beginning with a letter or digit
line 15, column 14: chains.base_mainnet.upstreams[2].url: it is the address of chains.base_mainnet.upstreams[0] too: name an upstream once
line 16, column 9: chains.base_mainnet.upstreams[2]: a name stands twice: it is on line 15 already
line 17, column 9: chains.base_mainnet.upstreams[3]: a value is of the wrong kind: give a mapping; it takes name, url, kind, headers, supply, http2, max_concurrent, max_per_second, price, budget, max_log_blocks, shadow, canary; upstreams.example.yaml shows the form
line 18, column 3: chains.?: unknown chain, use one of eth_mainnet, base_mainnet, arbitrum_one, optimism_mainnet, polygon_pos, solana_mainnet; another chain needs define
line 21, column 5: chains.solana_mainnet: a member has an unknown name, perhaps chain_id is meant; it takes define, chain_id, verify, upstreams; upstreams.example.yaml shows the form
line 23, column 7: chains.solana_mainnet.upstreams: a value is of the wrong kind: give a list, each entry beginning with -; upstreams.example.yaml shows the form
`
	if got := told(report.Mistakes); got != want {
		t.Errorf("told\n%s\nwant\n%s", got, want)
	}
	if len(report.Upstreams.Chains) != 0 {
		t.Error("upstreams are given beside mistakes")
	}
}

func TestCheck_NotesWhatIsAllowedAndPerhapsNotMeant(t *testing.T) {
	t.Parallel()
	report := check(`
chains:
  base_mainnet:
    upstreams:
      - {name: a, url: "https://a.example"}
      - {name: b, url: "https://a.example", headers: {X-Key: "${SECRET}"}}
  eth_mainnet:
    upstreams:
      - {name: a, url: "https://a.example"}
`)
	if len(report.Mistakes) > 0 {
		t.Fatal(report.Mistakes)
	}
	want := `chains: not named, so not served: arbitrum_one, optimism_mainnet, polygon_pos, solana_mainnet
line 6, column 24: chains.base_mainnet.upstreams[1].url: it is the address of chains.base_mainnet.upstreams[0] too; one provider does not replace another, whatever the account
line 8, column 5: chains.eth_mainnet.upstreams: only one, so there is none to turn to when it fails
`
	if got := told(report.Notes); got != want {
		t.Errorf("noted\n%s\nwant\n%s", got, want)
	}
	if len(report.Upstreams.Chains) != 2 ||
		report.Upstreams.Chains["base_mainnet"].Upstreams[1].Headers["X-Key"] != "weasel-42" {
		t.Errorf("upstreams are %+v", report.Upstreams)
	}
}

func TestCheck_VerifyTakesMethodsOnWhichNodesCanAgree(t *testing.T) {
	t.Parallel()
	report := check(`
chains:
  base_mainnet:
    verify: {eth_getBalance: 2, eth_getLogs: 3}
    upstreams:
      - {name: a, url: "https://a.example"}
      - {name: b, url: "https://b.example"}
      - {name: c, url: "https://c.example"}
`)
	if len(report.Mistakes) > 0 {
		t.Fatal(report.Mistakes)
	}
	got := report.Upstreams.Chains["base_mainnet"].Verify
	if want := map[string]int{"eth_getBalance": 2, "eth_getLogs": 3}; !maps.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
	report = check(`
chains:
  base_mainnet:
    verify:
      eth_gasPrice: 2
      eth_getBalance: 1
      eth_getCode: 3
      eth_call: many
    upstreams:
      - {name: a, url: "https://a.example"}
      - {name: b, url: "https://b.example"}
      - {name: p, url: "https://p.example", kind: private}
  eth_mainnet:
    verify: {eth_getCode: 2}
    upstreams:
      - {name: a, url: "https://a.example"}
`)
	wrong := told(report.Mistakes)
	for _, want := range []string{
		"line 5, column 7: chains.base_mainnet.verify.eth_gasPrice: leave it out",
		"line 6, column 23: chains.base_mainnet.verify.eth_getBalance: give how many nodes must agree, from 2 to 2",
		"line 7, column 20: chains.base_mainnet.verify.eth_getCode: give how many nodes must agree, from 2 to 2",
		"line 8, column 17: chains.base_mainnet.verify.eth_call: ",
		"line 14, column 14: chains.eth_mainnet.verify.eth_getCode: leave it out, or give a second upstream",
	} {
		if !strings.Contains(wrong, want) {
			t.Errorf("%q is not told:\n%s", want, wrong)
		}
	}
}

func TestCheck_ResolvesAnchors(t *testing.T) {
	t.Parallel()
	got, err := read(`
chains:
  base_mainnet:
    upstreams:
      - {name: a, url: https://a.example, headers: &both {X-Key: "${SECRET}"}, max_per_second: &pace 2.5}
      - {name: b, url: https://b.example, headers: *both, max_per_second: *pace}
`)
	if err != nil {
		t.Fatal(err)
	}
	if b := got.Chains["base_mainnet"].Upstreams[1]; b.Headers["X-Key"] != "weasel-42" || b.MaxPerSecond != 2.5 {
		t.Errorf("got %+v", b)
	}
	for _, text := range []string{
		"chains: *absent", "chains: &a {base_mainnet: *a}", "chains: &a\n  base_mainnet: {upstreams: [*a]}",
		"chains:\n  base_mainnet:\n    <<: {upstreams: []}\n",
	} {
		if _, err := read(text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

func FuzzCheckOfAnUpstreamsFileNeverFails(f *testing.F) {
	f.Add("chains: {eth_mainnet: {upstreams: [{name: a, url: \"https://a.example\"}]}}")
	f.Add("chains:\n  eth_mainnet: &x\n    upstreams: *x\n")
	f.Add("- a\n- b: !!int c\n? d\n: e\n<<: *f\n")
	f.Add("chains: {eth_mainnet: {chain_id: 99999999999999999999, upstreams: [{max_per_second: .inf, max_concurrent: " +
		"1e9}]}}")
	f.Add("---\nchains:\n...\n---\n|\n text\n")
	f.Fuzz(func(t *testing.T, text string) {
		report := check(text)
		if (len(report.Mistakes) == 0) != (len(report.Upstreams.Chains) > 0) {
			t.Errorf("%q: %d mistakes, %d chains", text, len(report.Mistakes), len(report.Upstreams.Chains))
		}
		for _, m := range report.Mistakes {
			in := expect.In(t, "%q", text)
			expect.NotEqual(in, m.Rule, "")
			expect.NotContains(in, m.String(), "\n")
			expect.AtLeast(in, m.Line, 0)
		}
	})
}

func TestCheck_AChainNeedsANode(t *testing.T) {
	t.Parallel()
	report := check(`chains:
  base_mainnet:
    upstreams:
      - name: sequencer
        url: https://sequencer.example
        kind: private
      - name: bundler
        url: https://bundler.example
        kind: bundler
  eth_mainnet:
    upstreams:
      - name: node
        url: https://node.example
      - name: wrong
        url: https://wrong.example
        kind: builder
      - name: on-trial
        url: https://trial.example
        shadow: "5"
      - name: too-much
        url: https://much.example
        shadow: 101%
      - name: no-node
        url: https://hidden.example
        kind: private
        shadow: 5%
      - name: both
        url: https://both.example
        shadow: 5%
        canary: 10%
`)
	expect.Equal(t, told(report.Mistakes), `line 4, column 9: chains.base_mainnet.upstreams: `+
		`give an upstream of the kind node too: private ones, bundlers and shadows answer no reads of the chain
line 16, column 15: chains.eth_mainnet.upstreams[1].kind: give node, private or bundler
line 19, column 17: chains.eth_mainnet.upstreams[2].shadow: give a share above 0% and up to 100%, such as 5%
line 22, column 17: chains.eth_mainnet.upstreams[3].shadow: give a share above 0% and up to 100%, such as 5%
line 26, column 17: chains.eth_mainnet.upstreams[4].shadow: leave it out: only nodes answer the reads of clients
line 30, column 17: chains.eth_mainnet.upstreams[5].canary: leave it out: a shadow answers no client
`)
}
