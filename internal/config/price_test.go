package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chainaccess/gateway/relay/price"
)

func TestPrice_IsReadAsATableOrAMapping(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		member string
		want   *price.Setting
	}{
		"a table":   {`price: ankr`, &price.Setting{Table: "ankr"}},
		"no price":  {`supply: public`, nil},
		"a mapping": {`price: {usd_per_million: 2.5}`, &price.Setting{USDPerMillion: 2.5}},
		"a table that is changed": {
			`price: {table: alchemy, usd_per_million: 0.45, default: 21, methods: {eth_call: 27, "debug_*": 80}}`,
			&price.Setting{
				Table: "alchemy", USDPerMillion: 0.45, Default: 21,
				Methods: map[string]int64{"eth_call": 27, "debug_*": 80},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(one(`name: first, url: "https://one.example", ` + c.member))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Chains["eth_mainnet"].Upstreams[0].Price); diff != "" {
				t.Errorf("price (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPrice_MistakesNameTheirPlace(t *testing.T) {
	t.Parallel()
	const place = "chains.eth_mainnet.upstreams[0].price"
	for name, c := range map[string]struct{ member, want string }{
		"unknown table":  {`price: acme`, place + ".table: give one of alchemy, ankr, chainstack,"},
		"no money":       {`price: alchemy`, place + ".usd_per_million: give what a million"},
		"unknown member": {`price: {usd: 1}`, place + ": a member has an unknown name"},
		"not a number":   {`price: {usd_per_million: much}`, place + ".usd_per_million: a value is of the wrong kind"},
		"not units":      {`price: {usd_per_million: 1, methods: {eth_call: many}}`, place + ".methods: a value is of"},
		"negative units": {
			`price: {usd_per_million: 1, methods: {eth_call: -2}}`, place + ".methods: give whole numbers",
		},
		"a list": {`price: [1]`, place + ": a value is of the wrong kind: give a mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read(one(`name: first, url: "https://one.example", ` + c.member))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
