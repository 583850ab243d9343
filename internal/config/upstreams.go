package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/price"
)

// Upstreams is the upstreams file: the providers of each chain.
type Upstreams struct {
	// Known is every chain that the file may name; nil stands for the built-in ones.
	Known  *chain.Set
	Chains map[string]ChainUpstreams
	// Errors are the operator's own rules for errors, which come before the built-in ones.
	Errors []ErrorRule
}

// ChainUpstreams lists the providers of one chain. ChainID overrides the chain's own id (private
// and test networks).
type ChainUpstreams struct {
	ChainID   uint64
	Upstreams []Upstream
	// Verify is how many nodes must agree on the answer to a method, by its name; nil for none.
	Verify map[string]int
}

// Upstream is one provider endpoint; the tags are the members' names in the file. URL and header
// values may name environment variables as ${NAME}, so that the file holds no credential.
type Upstream struct {
	Name string `yaml:"name"`
	URL  string `yaml:"url"`
	// Kind is what the upstream is asked for: KindNode (default), KindPrivate or KindBundler.
	Kind    string            `yaml:"kind"`
	Headers map[string]string `yaml:"headers"`
	Supply  string            `yaml:"supply"`
	// HTTP2 makes reads use HTTP/2 without TLS on an http:// address; submissions use HTTP/1.1 in
	// any case. On https:// HTTP/2 is negotiated.
	HTTP2 bool `yaml:"http2"`
	// MaxConcurrent bounds the calls that one process has in flight to this upstream, MaxPerSecond
	// the calls that all processes start per second; 0 means no limit, and a rate that is learned
	// from refusals. They protect the operator's own quota with the provider.
	MaxConcurrent int     `yaml:"max_concurrent"`
	MaxPerSecond  float64 `yaml:"max_per_second"`
	// Price is what requests cost the operator there; nil counts no costs.
	Price *price.Setting `yaml:"price"`
	// Budget is what the upstream may cost in a month; nil for no limit.
	Budget *Budget `yaml:"budget"`
	// MaxLogBlocks is the most blocks that the upstream takes in one eth_getLogs; 0 means that it
	// is learned from refusals. Longer ranges are split.
	MaxLogBlocks uint64 `yaml:"max_log_blocks"`
	// Shadow is the share of reads of which the upstream gets a copy, such as 5%; then it answers
	// no client. It is empty for an upstream that does.
	Shadow string `yaml:"shadow"`
	// Canary is the share of reads that the upstream is asked first, such as 10%. It gets less
	// while it fails, and other calls only when no other is left. It is empty for every other one.
	Canary string `yaml:"canary"`
}

// ShadowShare returns Shadow as a number from 0 to 1; 0 if it is empty or not valid.
func (u *Upstream) ShadowShare() float64 { return shareOf(u.Shadow) }

// CanaryShare returns Canary as a number from 0 to 1; 0 if it is empty or not valid.
func (u *Upstream) CanaryShare() float64 { return shareOf(u.Canary) }

func shareOf(text string) float64 {
	percent, ok := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(percent, 64)
	if !ok || err != nil || !(share > 0 && share <= 100) {
		return 0
	}
	return share / 100
}

// The kinds of upstreams (docs/decisions/0087-private-sending-and-bundlers.md).
const (
	KindNode    = "node"
	KindPrivate = "private" // takes submissions whose senders ask for it, and nothing else
	KindBundler = "bundler" // takes the ERC-4337 methods, and nothing else
)

const (
	maxUpstreams   = 32 // per chain: names are labels of metrics
	maxConcurrent  = 100_000
	maxPerSecond   = 1_000_000
	leastPerSecond = 0.01 // one call in a hundred seconds
	maxLogBlocks   = 1_000_000
	maxVerify      = 5
)

// fixedHeaders are set by the gateway or by HTTP itself. The last two would make HTTP clients and
// proxies retry a submission.
var fixedHeaders = []string{
	"accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect", "host",
	"te", "trailer", "transfer-encoding", "upgrade", "idempotency-key", "x-idempotency-key",
}

var (
	upstreamName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)
	variable     = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
	hostName     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$`)
	headerName   = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
)

// LoadUpstreams reads and validates the upstreams file. The error lists every mistake with its
// position, and never an address or a header's value.
func LoadUpstreams(path string) (Upstreams, error) {
	report, err := CheckUpstreams(path)
	if err != nil {
		return Upstreams{}, err
	}
	if len(report.Mistakes) > 0 {
		faults := make([]error, len(report.Mistakes))
		for i, m := range report.Mistakes {
			faults[i] = errors.New(m.String())
		}
		return Upstreams{}, fmt.Errorf("upstreams file %s: %w", path, errors.Join(faults...))
	}
	return report.Upstreams, nil
}

// UpstreamsReport is what CheckUpstreams found.
type UpstreamsReport struct {
	Upstreams Upstreams // empty when there are mistakes
	Mistakes  []Mistake // in the order of the file
	Notes     []Mistake // allowed, but probably a mistake
}

// CheckUpstreams is like LoadUpstreams, but returns mistakes in the report; the error is only for a
// file that cannot be read.
func CheckUpstreams(path string) (UpstreamsReport, error) {
	raw, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return UpstreamsReport{}, fmt.Errorf("the upstreams file cannot be read; check its path: %w", err)
	}
	return checkUpstreams(raw, os.Getenv), nil
}

// complete expands variables, fills in defaults and validates.
func (u *Upstream) complete(fault func(field, rule string), getenv func(string) string) {
	if !upstreamName.MatchString(u.Name) {
		fault("name", "give 1 to 40 of a-z, 0-9, - and _, beginning with a letter or digit")
	}
	sound := true
	expand := func(field, s string) string {
		if strings.Contains(variable.ReplaceAllString(s, ""), "${") {
			sound = false
			fault(field, "write a variable as ${NAME}, with letters, digits and _ only")
		}
		return variable.ReplaceAllStringFunc(s, func(m string) string {
			name := m[2 : len(m)-1]
			value := getenv(name)
			if value == "" {
				sound = false
				fault(field, "the environment variable "+name+" is not set")
			}
			return value
		})
	}
	u.URL = expand("url", u.URL)
	if sound && !validUpstreamURL(u.URL) {
		fault("url", "give an http:// or https:// address")
	}
	for _, name := range slices.Sorted(maps.Keys(u.Headers)) {
		if !headerName.MatchString(name) {
			fault("headers", "a name is made of 1 to 64 letters, digits and -")
			continue
		}
		if slices.Contains(fixedHeaders, strings.ToLower(name)) {
			fault("headers."+name, "the gateway sets it itself; leave it out")
		}
		u.Headers[name] = expand("headers."+name, u.Headers[name])
		if strings.ContainsFunc(u.Headers[name], unfitForHeader) {
			fault("headers."+name, "a value is one line without control characters")
		}
	}
	if u.HTTP2 && strings.HasPrefix(strings.ToLower(u.URL), "https:") {
		fault("http2", "leave it out: behind https:// HTTP/2 is negotiated")
	}
	u.completeKind(fault)
	if u.Supply == "" {
		u.Supply = "public"
	}
	if !slices.Contains([]string{"public", "wholesale", "premium"}, u.Supply) {
		fault("supply", "give public, wholesale or premium")
	}
	if u.MaxConcurrent < 0 || u.MaxConcurrent > maxConcurrent {
		fault("max_concurrent", "give a whole number from 0 (no bound) to 100000")
	}
	if !validRate(u.MaxPerSecond) {
		fault("max_per_second", "give a number from 0.01 to 1000000, or 0 for no bound")
	}
	if u.MaxLogBlocks > maxLogBlocks {
		fault("max_log_blocks", "give a whole number of blocks from 1 to 1000000, or 0 to learn it from refusals")
	}
}

// completeKind fills in and checks what the upstream is asked for.
func (u *Upstream) completeKind(fault func(field, rule string)) {
	if u.Kind == "" {
		u.Kind = KindNode
	}
	if !slices.Contains([]string{KindNode, KindPrivate, KindBundler}, u.Kind) {
		fault("kind", "give node, private or bundler")
	}
	for field, given := range map[string]string{"shadow": u.Shadow, "canary": u.Canary} {
		switch {
		case given == "":
		case shareOf(given) == 0:
			fault(field, "give a share above 0% and up to 100%, such as 5%")
		case u.Kind != KindNode:
			fault(field, "leave it out: only nodes answer the reads of clients")
		}
	}
	if u.Shadow != "" && u.Canary != "" {
		fault("canary", "leave it out: a shadow answers no client")
	}
}

// validRate rejects NaN too.
func validRate(r float64) bool { return r == 0 || (r >= leastPerSecond && r <= maxPerSecond) }

func validUpstreamURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Hostname() != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// unfitForHeader reports whether a header value must not contain r (RFC 9110, section 5.5): a
// control character other than tab.
func unfitForHeader(r rune) bool { return (r < ' ' && r != '\t') || r == 0x7f }
