package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBudget_IsReadAsANumberOrAMapping(t *testing.T) {
	t.Parallel()
	for member, want := range map[string]*Budget{
		`supply: public`:                    nil,
		`budget: 300000000`:                 {300_000_000, 1},
		`budget: {units: 5000, day: 15}`:    {5000, 15},
		`budget: {units: 1000000000000000}`: {1_000_000_000_000_000, 1},
	} {
		t.Run(member, func(t *testing.T) {
			got, err := read(one(`name: first, url: "https://one.example", ` + member))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.Chains["eth_mainnet"].Upstreams[0].Budget); diff != "" {
				t.Errorf("budget (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBudget_MistakesNameTheirPlace(t *testing.T) {
	t.Parallel()
	const place = "chains.eth_mainnet.upstreams[0].budget"
	for member, want := range map[string]string{
		`budget: 0`:                    "line 1, column 86: " + place + ": give how many",
		`budget: -1`:                   place + ": give how many",
		`budget: much`:                 place + ": a value is of the wrong kind",
		`budget: [1]`:                  place + ": a value is of the wrong kind",
		`budget: {day: 3}`:             place + ": give how many",
		`budget: {units: 1, day: 29}`:  place + ".day: give the day of the month",
		`budget: {units: 1, month: 2}`: place + ": a member has an unknown name",
	} {
		t.Run(member, func(t *testing.T) {
			_, err := read(one(`name: first, url: "https://one.example", ` + member))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}
