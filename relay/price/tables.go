package price

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"

	"github.com/goccy/go-yaml"
)

// Table is a provider's published units by method.
type Table struct {
	Unit   string `yaml:"unit"`    // what the provider calls them
	ReadOn string `yaml:"read_on"` // date
	Source string `yaml:"source"`  // address
	// USDPerMillion is the price of a million units, of providers that have one for everybody.
	USDPerMillion float64 `yaml:"usd_per_million"`
	EVM           List    `yaml:"evm"`
	Solana        List    `yaml:"solana"`
}

// List is the units of one family of chains.
type List struct {
	Default int64            `yaml:"default"` // of methods that are not listed
	Methods map[string]int64 `yaml:"methods"` // names, or prefixes that end in *
}

//go:embed tables.yaml
var source []byte

var tables = func() (read map[string]Table) {
	if err := yaml.UnmarshalWithOptions(source, &read, yaml.Strict()); err != nil {
		panic(fmt.Sprintf("the built-in price tables: %v", err))
	}
	return read
}()

// Tables returns the names of the built-in tables.
func Tables() []string { return slices.Sorted(maps.Keys(tables)) }
