package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Upstreams is the upstreams file: the providers of each chain.
type Upstreams struct {
	Chains map[string]ChainUpstreams
}

// ChainUpstreams lists the providers of one chain. ChainID overrides the chain's own id (private
// and test networks).
type ChainUpstreams struct {
	ChainID   uint64
	Upstreams []Upstream
}

// Upstream is one provider endpoint; the tags are the members' names in the file. URL and header
// values may name environment variables as ${NAME}, so that the file holds no credential.
type Upstream struct {
	Name    string            `yaml:"name"`
	URL     string            `yaml:"url"`
	Headers map[string]string `yaml:"headers"`
	Supply  string            `yaml:"supply"`
	// HTTP2 says that an http:// address speaks HTTP/2 without TLS, for reads; submissions go there
	// over HTTP/1.1 all the same. Behind https:// it is negotiated.
	HTTP2 bool `yaml:"http2"`
	// MaxConcurrent bounds how many calls one process has under way here at once, MaxPerSecond how
	// many it begins in a second; 0 is no bound. They keep an operator's own plan with the provider
	// from being overrun.
	MaxConcurrent int     `yaml:"max_concurrent"`
	MaxPerSecond  float64 `yaml:"max_per_second"`
}

const (
	maxUpstreams   = 32 // of one chain: names are labels of metrics
	maxConcurrent  = 100_000
	maxPerSecond   = 1_000_000
	leastPerSecond = 0.01 // one call in a hundred seconds
)

// fixedHeaders are what the gateway or HTTP itself sets. The last two would make HTTP clients and
// proxies send a submission twice.
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

// LoadUpstreams reads and validates the upstreams file. chains are the names it may use. The error
// names every mistake with its line and place, never an address or a header's value.
func LoadUpstreams(path string, chains []string) (Upstreams, error) {
	report, err := CheckUpstreams(path, chains)
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
	Notes     []Mistake // what is allowed and perhaps not meant
}

// CheckUpstreams is LoadUpstreams for people: the error is of reading the file, what is wrong in it
// is in the report.
func CheckUpstreams(path string, chains []string) (UpstreamsReport, error) {
	raw, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return UpstreamsReport{}, fmt.Errorf("the upstreams file cannot be read; check its path: %w", err)
	}
	return checkUpstreams(raw, chains, os.Getenv), nil
}

// complete expands variables, fills defaults and validates.
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
}

// validRate refuses what is not a number as well.
func validRate(r float64) bool { return r == 0 || (r >= leastPerSecond && r <= maxPerSecond) }

func validUpstreamURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Hostname() != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// unfitForHeader is RFC 9110's rule for field values: visible characters, spaces and tabs.
func unfitForHeader(r rune) bool { return (r < ' ' && r != '\t') || r == 0x7f }
