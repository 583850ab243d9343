package config

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Upstreams is the upstreams file: the providers of each chain.
type Upstreams struct {
	Chains map[string]ChainUpstreams `yaml:"chains"`
}

// ChainUpstreams lists the providers of one chain. ChainID overrides the chain's own id (private and test networks).
type ChainUpstreams struct {
	ChainID   uint64     `yaml:"chain_id"`
	Upstreams []Upstream `yaml:"upstreams"`
}

// Upstream is one provider endpoint. URL and header values may name environment variables as ${NAME}, so that the file holds no
// credential.
type Upstream struct {
	Name    string            `yaml:"name"`
	URL     string            `yaml:"url"`
	Headers map[string]string `yaml:"headers"`
	Supply  string            `yaml:"supply"`
	// HTTP2 says that an http:// address speaks HTTP/2 without TLS, for reads; submissions go there over HTTP/1.1 all the same. Behind
	// https:// it is negotiated.
	HTTP2 bool `yaml:"http2"`
	// MaxConcurrent bounds how many calls one process has under way here at once, MaxPerSecond how many it begins in a second; 0 is no
	// bound. They keep an operator's own plan with the provider from being overrun.
	MaxConcurrent int     `yaml:"max_concurrent"`
	MaxPerSecond  float64 `yaml:"max_per_second"`
}

const (
	maxUpstreams   = 32 // of one chain: names are labels of metrics
	mostConcurrent = 100_000
	mostPerSecond  = 1_000_000
	leastPerSecond = 0.01 // one call in a hundred seconds
)

// fixedHeaders are what the gateway or HTTP itself sets. The last two would make HTTP clients and proxies send a submission twice.
var fixedHeaders = []string{
	"accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect", "host", "te", "trailer",
	"transfer-encoding", "upgrade", "idempotency-key", "x-idempotency-key",
}

var (
	upstreamName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)
	variable     = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
	headerName   = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
)

// LoadUpstreams reads and validates the upstreams file. chains are the names it may use. The error names every mistake with its
// place, never an address or a header's value.
func LoadUpstreams(path string, chains []string) (Upstreams, error) {
	raw, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return Upstreams{}, fmt.Errorf("the upstreams file cannot be read; check its path: %w", err)
	}
	u, err := ParseUpstreams(raw, chains)
	if err != nil {
		return Upstreams{}, fmt.Errorf("upstreams file %s: %w", path, err)
	}
	return u, nil
}

// ParseUpstreams is LoadUpstreams for a file's content.
func ParseUpstreams(raw []byte, chains []string) (Upstreams, error) {
	return parseUpstreams(raw, chains, os.Getenv)
}

func parseUpstreams(raw []byte, chains []string, getenv func(string) string) (Upstreams, error) {
	var u Upstreams
	if err := yaml.UnmarshalWithOptions(raw, &u, yaml.Strict()); err != nil {
		return Upstreams{}, syntaxFault(err)
	}
	if len(u.Chains) == 0 {
		return Upstreams{}, errors.New("it names no chain: add chains: with at least one of " + strings.Join(chains, ", "))
	}
	var faults []error
	for name, c := range u.Chains {
		if !slices.Contains(chains, name) {
			faults = append(faults, fmt.Errorf("chains.%s: unknown chain, use one of %s", name, strings.Join(chains, ", ")))
			continue
		}
		if len(c.Upstreams) == 0 || len(c.Upstreams) > maxUpstreams {
			faults = append(faults, fmt.Errorf("chains.%s.upstreams: give between 1 and %d", name, maxUpstreams))
		}
		seen := make(map[string]bool)
		for i := range c.Upstreams {
			place := fmt.Sprintf("chains.%s.upstreams[%d]", name, i)
			faults = append(faults, c.Upstreams[i].complete(place, getenv)...)
			if seen[c.Upstreams[i].Name] {
				faults = append(faults, fmt.Errorf("%s.name: %q is used twice", place, c.Upstreams[i].Name))
			}
			seen[c.Upstreams[i].Name] = true
		}
	}
	if len(faults) > 0 {
		slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
		return Upstreams{}, errors.Join(faults...)
	}
	return u, nil
}

// syntaxFault says where the YAML is at fault, and what in words that quote nothing of the file: it may hold a credential.
func syntaxFault(err error) error {
	what := "it is not valid YAML, or a name stands twice"
	switch {
	case errors.Is(err, io.EOF):
		what = "it is empty"
	case is[*yaml.UnknownFieldError](err):
		what = "a member has an unknown name; chains have chain_id and upstreams, an upstream has name, url, headers, supply, http2, max_concurrent and max_per_second"
	case is[*yaml.TypeError](err), is[*yaml.UnexpectedNodeTypeError](err), is[*yaml.OverflowError](err):
		what = "a value is of the wrong kind"
	}
	if at, ok := errors.AsType[yaml.Error](err); ok && at.GetToken() != nil && at.GetToken().Position != nil {
		position := at.GetToken().Position
		return fmt.Errorf("line %d, column %d: %s; upstreams.example.yaml shows the form", position.Line, position.Column, what)
	}
	return fmt.Errorf("%s; upstreams.example.yaml shows the form", what)
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// complete expands variables, fills defaults and validates.
func (u *Upstream) complete(place string, getenv func(string) string) []error {
	var faults []error
	fault := func(field, rule string) { faults = append(faults, fmt.Errorf("%s.%s: %s", place, field, rule)) }
	if !upstreamName.MatchString(u.Name) {
		fault("name", "give 1 to 40 of a-z, 0-9, - and _, beginning with a letter or digit")
	}
	expand := func(field, s string) string {
		if strings.Contains(variable.ReplaceAllString(s, ""), "${") {
			fault(field, "write a variable as ${NAME}, with letters, digits and _ only")
		}
		return variable.ReplaceAllStringFunc(s, func(m string) string {
			name := m[2 : len(m)-1]
			value := getenv(name)
			if value == "" {
				fault(field, "the environment variable "+name+" is not set")
			}
			return value
		})
	}
	unexpanded := len(faults)
	u.URL = expand("url", u.URL)
	if len(faults) == unexpanded && !validUpstreamURL(u.URL) {
		fault("url", "give an http:// or https:// address")
	}
	for name, value := range u.Headers {
		if !headerName.MatchString(name) {
			fault("headers", "a name is made of 1 to 64 letters, digits and -")
			continue
		}
		if slices.Contains(fixedHeaders, strings.ToLower(name)) {
			fault("headers."+name, "the gateway sets it itself; leave it out")
		}
		u.Headers[name] = expand("headers."+name, value)
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
	if u.MaxConcurrent < 0 || u.MaxConcurrent > mostConcurrent {
		fault("max_concurrent", "give a whole number from 0 (no bound) to 100000")
	}
	if !validRate(u.MaxPerSecond) {
		fault("max_per_second", "give a number from 0.01 to 1000000, or 0 for no bound")
	}
	return faults
}

// validRate refuses what is not a number as well.
func validRate(r float64) bool { return r == 0 || (r >= leastPerSecond && r <= mostPerSecond) }

func validUpstreamURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Hostname() != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// unfitForHeader is RFC 9110's rule for field values: visible characters, spaces and tabs.
func unfitForHeader(r rune) bool { return (r < ' ' && r != '\t') || r == 0x7f }
