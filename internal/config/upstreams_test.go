package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

// read checks a file with SECRET and EMPTY set in its environment.
func read(text string) (Upstreams, error) {
	report := check(text)
	faults := make([]error, len(report.Mistakes))
	for i, m := range report.Mistakes {
		faults[i] = errors.New(m.String())
	}
	return report.Upstreams, errors.Join(faults...)
}

func check(text string) UpstreamsReport {
	return checkUpstreams([]byte(text), func(name string) string {
		return map[string]string{"SECRET": "weasel-42"}[name]
	})
}

func TestUpstreams_AreReadWithVariablesAndDefaults(t *testing.T) {
	t.Parallel()
	got, err := read(`
chains:
  eth_mainnet:
    upstreams:
      - name: first
        url: https://one.example/v2/${SECRET}
        headers: {Authorization: "Bearer ${SECRET}", X-Plan: gold}
        supply: premium
        max_concurrent: 20
        max_per_second: 12.5
      - {name: second, url: "http://[::1]:8545"}
  polygon_pos:
    chain_id: 80002
    upstreams: [{name: first, url: "https://three.example", supply: wholesale}]
`)
	if err != nil {
		t.Fatal(err)
	}
	first, second := got.Chains["eth_mainnet"].Upstreams[0], got.Chains["eth_mainnet"].Upstreams[1]
	expect.Equal(t, first.URL, "https://one.example/v2/weasel-42")
	expect.Equal(t, first.Supply, "premium")
	expect.EqualMaps(t, first.Headers, map[string]string{"Authorization": "Bearer weasel-42", "X-Plan": "gold"})
	in := expect.In(t, "bounds for the first only")
	expect.Equal(in, first.MaxConcurrent, 20)
	expect.Equal(in, first.MaxPerSecond, 12.5)
	expect.Equal(in, second.MaxConcurrent, 0)
	expect.Equal(in, second.MaxPerSecond, 0)
	if second.URL != "http://[::1]:8545" || second.Supply != "public" {
		t.Errorf("second is %+v, want public supply by default", second)
	}
	if polygon := got.Chains["polygon_pos"]; polygon.ChainID != 80002 || polygon.Upstreams[0].Supply != "wholesale" {
		t.Errorf("polygon is %+v", polygon)
	}
}

// one returns a file with a single upstream that has the given members.
func one(members string) string {
	return "chains: {eth_mainnet: {upstreams: [{" + members + "}]}}"
}

func TestUpstreams_BadFileNamesThePlaceAndNoCredential(t *testing.T) {
	t.Parallel()
	const good = `name: a, url: "https://weasel.example/v2/weasel"`
	for i, tc := range []struct{ text, want string }{
		{"", "it names no chain"},
		{"chains:", "it names no chain"},
		{"{}", "it names no chain"},
		{"# nothing\n", "it names no chain"},
		{"chains: [weasel]", "line 1, column 9: chains: a value is of the wrong kind"},
		{"chains: weasel", "a value is of the wrong kind"},
		{"chains:\n\tweasel: x", "line 2"},
		{"chains: {eth_mainnet: {upstreams: [{name: a, url: \"weasel", "it is not valid YAML"},
		{"weasel: {}", "a member has an unknown name"},
		{one(good + `, weasel: weasel`), "a member has an unknown name"},
		{one(good + `, url: weasel`), "a name stands twice"},
		{one(`name: a, url: [weasel]`), "a value is of the wrong kind"},
		{`chains: {eth_mainnet: {chain_id: weasel, upstreams: [{` + good + `}]}}`, "a value is of the wrong kind"},
		{`chains: {eth_mainnet: {chain_id: -1, upstreams: [{` + good + `}]}}`, "a value is of the wrong kind"},
		{`chains: {eth_mainnet: {upstreams: []}}`, "chains.eth_mainnet.upstreams: give between 1 and 32"},
		{`chains: {eth_mainnet: }`, "chains.eth_mainnet.upstreams: give between 1 and 32"},
		{
			`chains: {bitcoin: {upstreams: [{` + good + `}]}}`,
			"chains.bitcoin: unknown chain, use one of eth_mainnet, base_mainnet",
		},
		{
			`chains: {eth_mainnet: {upstreams: [{` + good +
				`}, {name: b, url: "HTTPS://Weasel.example:443/v2/weasel/"}]}}`,
			`line 1, column 103: chains.eth_mainnet.upstreams[1].url: it is the address of ` +
				`chains.eth_mainnet.upstreams[0] too`,
		},
		{one(`url: "https://weasel.example"`), "chains.eth_mainnet.upstreams[0].name: give 1 to 40"},
		{one(`name: "UPPER", url: "https://weasel.example"`), "upstreams[0].name: give 1 to 40"},
		{one(`name: a`), "upstreams[0].url: give an http:// or https:// address"},
		{one(`name: a, url: "wss://weasel.example"`), "upstreams[0].url: give an http:// or https:// address"},
		{one(`name: a, url: "weasel.example"`), "upstreams[0].url: give an http:// or https:// address"},
		{one(`name: a, url: "https://:443/weasel"`), "upstreams[0].url: give an http:// or https:// address"},
		{one(`name: a, url: "https://weasel example"`), "upstreams[0].url: give an http:// or https:// address"},
		{
			one(`name: a, url: "https://weasel.example/${ABSENT}"`),
			"upstreams[0].url: the environment variable ABSENT is not set",
		},
		{one(`name: a, url: "https://weasel.example/${SECRET"`), "upstreams[0].url: write a variable as ${NAME}"},
		{one(`name: a, url: "https://weasel.example/${MY-KEY}"`), "upstreams[0].url: write a variable as ${NAME}"},
		{
			one(good + `, headers: {Authorization: "Bearer ${ABSENT}"}`),
			"upstreams[0].headers.Authorization: the environment variable ABSENT is not set",
		},
		{one(good + `, headers: {"a b": weasel}`), "upstreams[0].headers: a name is made of"},
		{one(good + `, headers: {X-A: "weasel\r\nX-B: weasel"}`), "upstreams[0].headers.X-A: a value is one line"},
		{
			one(good + `, headers: {Idempotency-Key: weasel}`),
			"upstreams[0].headers.Idempotency-Key: the gateway sets it itself",
		},
		{
			one(good + `, headers: {content-type: weasel}`),
			"upstreams[0].headers.content-type: the gateway sets it itself",
		},
		{one(good + `, max_concurrent: -1`), "upstreams[0].max_concurrent: give a whole number"},
		{one(good + `, max_concurrent: 100001`), "upstreams[0].max_concurrent: give a whole number"},
		{one(good + `, max_concurrent: weasel`), "a value is of the wrong kind"},
		{one(`name: a, url: "https://example.org", http2: true`), "upstreams[0].http2: leave it out"},
		{one(good + `, http2: sometimes`), "a value is of the wrong kind"},
		{one(good + `, max_per_second: -0.5`), "upstreams[0].max_per_second: give a number"},
		{one(good + `, max_per_second: 0.001`), "upstreams[0].max_per_second: give a number"},
		{one(good + `, max_per_second: .nan`), "upstreams[0].max_per_second: give a number"},
		{one(good + `, max_per_second: .inf`), "upstreams[0].max_per_second: give a number"},
		{one(good + `, supply: weasel`), "upstreams[0].supply: give public, wholesale or premium"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			got, err := read(tc.text)
			switch {
			case err == nil:
				t.Errorf("%s\nis taken", tc.text)
			case !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n"):
				t.Errorf("%s\n%q, want one sentence with %q", tc.text, err, tc.want)
			case strings.Contains(err.Error(), "weasel"):
				t.Errorf("%s\n%q shows what may be a credential", tc.text, err)
			case got.Chains != nil:
				t.Errorf("%s\ngives upstreams beside the error", tc.text)
			}
		})
	}
}

func TestUpstreams_EveryMistakeIsReportedInOrder(t *testing.T) {
	t.Parallel()
	_, err := read(`
chains:
  solana_mainnet: {upstreams: [{name: "-", url: x}]}
  bitcoin: {upstreams: []}
  eth_mainnet: {upstreams: [{name: a, url: "https://a.example", supply: gold}]}
`)
	if err == nil {
		t.Fatal("the file is taken")
	}
	var places []string
	for line := range strings.Lines(err.Error()) {
		where, rest, _ := strings.Cut(line, ": ")
		place, _, _ := strings.Cut(rest, ": ")
		places = append(places, where+" "+place)
	}
	want := []string{
		"line 3, column 39 chains.solana_mainnet.upstreams[0].name",
		"line 3, column 49 chains.solana_mainnet.upstreams[0].url", "line 4, column 3 chains.bitcoin",
		"line 5, column 73 chains.eth_mainnet.upstreams[0].supply",
	}
	if !slices.Equal(places, want) {
		t.Errorf("told %q, want %q", places, want)
	}
}

func TestUpstreams_AreAtMost32PerChain(t *testing.T) {
	t.Parallel()
	file := func(n int) string {
		var b strings.Builder
		b.WriteString("chains:\n  eth_mainnet:\n    upstreams:\n")
		for i := range n {
			b.WriteString("      - {name: u" + strings.Repeat("x", i) + ", url: \"https://a.example/" +
				strings.Repeat("x", i) + "\"}\n")
		}
		return b.String()
	}
	if _, err := read(file(32)); err != nil {
		t.Errorf("32: %v", err)
	}
	if _, err := read(file(33)); err == nil {
		t.Error("33 are taken")
	}
}

func TestUpstreams_UnreadableFileSaysWhatToCheck(t *testing.T) {
	t.Parallel()
	for _, path := range []string{filepath.Join(t.TempDir(), "absent.yaml"), t.TempDir()} {
		_, err := LoadUpstreams(path)
		in := expect.In(t, "%s", path)
		require.Error(in, err)
		expect.Contains(in, err.Error(), "check its path")
		expect.Contains(in, err.Error(), path)
		expect.NotContains(in, err.Error(), "\n")
	}
}

func TestUpstreams_MistakeIsReportedWithItsPath(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "upstreams.yaml")
	if err := os.WriteFile(path, []byte("chains: {}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadUpstreams(path); err == nil ||
		!strings.Contains(err.Error(), path+": line 1, column 1: it names no chain") {
		t.Errorf("got %v", err)
	}
}

func TestUpstreams_ExampleNamesTwoOrMoreForEveryChain(t *testing.T) {
	t.Parallel()
	file, err := LoadUpstreams(filepath.Join("..", "..", "upstreams.example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range chain.BuiltIn().IDs() {
		listed := file.Chains[name].Upstreams
		if len(listed) < 2 {
			t.Errorf("%s has %d upstreams, want at least two", name, len(listed))
		}
		urls := map[string]bool{}
		for _, u := range listed {
			if urls[u.URL] || !strings.HasPrefix(u.URL, "https://") {
				t.Errorf("%s: %s is listed twice or not over TLS", name, u.URL)
			}
			urls[u.URL] = true
		}
	}
}

// People copy the commented example, so it must be valid too.
func TestUpstreams_CommentedExampleWithACredentialIsValid(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	example, _, _ := strings.Cut(readRoot(t, "upstreams.example.yaml"), moreChains)
	for line := range strings.Lines(example) {
		// Without its "#", such a line is indented like the entries above it.
		if rest, ok := strings.CutPrefix(line, "#"); ok && strings.HasPrefix(rest, "      ") {
			line = rest
		}
		b.WriteString(line)
	}
	report := checkUpstreams([]byte(b.String()), func(name string) string { return "weasel-" + name })
	if len(report.Mistakes) > 0 {
		t.Fatal(report.Mistakes)
	}
	withCredential, withHeader := 0, 0
	for _, c := range report.Upstreams.Chains {
		for _, u := range c.Upstreams {
			if strings.Contains(u.URL, "weasel-") {
				withCredential++
			}
			withHeader += len(u.Headers)
		}
	}
	if withCredential == 0 || withHeader == 0 {
		t.Errorf("%d upstreams with a credential in the URL and %d headers, want one of each", withCredential,
			withHeader)
	}
}
