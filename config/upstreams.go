package config

import (
	"errors"
	"fmt"
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
}

const maxUpstreams = 32 // of one chain: names are labels of metrics

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
		return Upstreams{}, fmt.Errorf("upstreams file: %w", err)
	}
	u, err := ParseUpstreams(raw, chains)
	if err != nil {
		return Upstreams{}, fmt.Errorf("upstreams file %s: %w", path, err)
	}
	return u, nil
}

// ParseUpstreams is LoadUpstreams for a file's content.
func ParseUpstreams(raw []byte, chains []string) (Upstreams, error) {
	var u Upstreams
	if err := yaml.UnmarshalWithOptions(raw, &u, yaml.Strict()); err != nil {
		// Without the source: it may hold a credential.
		return Upstreams{}, errors.New(strings.TrimSpace(yaml.FormatError(err, false, false)))
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
			faults = append(faults, c.Upstreams[i].complete(place)...)
			if seen[c.Upstreams[i].Name] {
				faults = append(faults, fmt.Errorf("%s.name: %q is used twice", place, c.Upstreams[i].Name))
			}
			seen[c.Upstreams[i].Name] = true
		}
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return u, errors.Join(faults...)
}

// complete expands variables, fills defaults and validates.
func (u *Upstream) complete(place string) []error {
	var faults []error
	fault := func(field, rule string) { faults = append(faults, fmt.Errorf("%s.%s: %s", place, field, rule)) }
	if !upstreamName.MatchString(u.Name) {
		fault("name", "give 1 to 40 of a-z, 0-9, - and _, beginning with a letter or digit")
	}
	var unset []string
	expand := func(s string) string {
		return variable.ReplaceAllStringFunc(s, func(m string) string {
			name := m[2 : len(m)-1]
			value, ok := os.LookupEnv(name)
			if !ok {
				unset = append(unset, name)
			}
			return value
		})
	}
	u.URL = expand(u.URL)
	for name, value := range u.Headers {
		if !headerName.MatchString(name) {
			fault("headers", "a name is made of letters, digits and -")
		}
		u.Headers[name] = expand(value)
		if strings.ContainsAny(u.Headers[name], "\r\n\x00") {
			fault("headers."+name, "a value is one line")
		}
	}
	for _, name := range unset {
		fault("url or headers", "the environment variable "+name+" is not set")
	}
	if parsed, err := url.Parse(u.URL); err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		fault("url", "give an http:// or https:// address")
	}
	if u.Supply == "" {
		u.Supply = "public"
	}
	if !slices.Contains([]string{"public", "wholesale", "premium"}, u.Supply) {
		fault("supply", "give public, wholesale or premium")
	}
	return faults
}
