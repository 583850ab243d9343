package price

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestTariff_ChargesByNameThenPrefixThenDefault(t *testing.T) {
	t.Parallel()
	s := Setting{
		Table: "quicknode", USDPerMillion: 0.5,
		Methods: map[string]int64{"eth_call": 7, "debug_*": 41, "debug_trace*": 45},
	}
	if wrong := s.Check(); len(wrong) > 0 {
		t.Fatalf("the setting is refused: %v", wrong)
	}
	for method, want := range map[string]int64{
		"eth_call": 7, "eth_getBalance": 20, "debug_getRawBlock": 41, "debug_traceCall": 45, "trace_block": 40,
		"trace_replayTransaction": 80, "txpool_content": 80, "txpool_status": 40,
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			got := s.Tariff(false).Of([]byte(method))
			if got.Units != want {
				t.Errorf("%d units, want %d", got.Units, want)
			}
			if got.Nanos != Nanos(500*want) { // half a dollar a million is 500 nanodollars a unit
				t.Errorf("%d nanodollars, want %d", got.Nanos, 500*want)
			}
		})
	}
	if got := s.Tariff(true).Of([]byte("getSlot")).Units; got != 30 {
		t.Errorf("a method of Solana counts %d, want the table's default of 30", got)
	}
}

func TestTariff_CountsRequestsWithoutATable(t *testing.T) {
	t.Parallel()
	s := Setting{USDPerMillion: 3}
	if wrong := s.Check(); len(wrong) > 0 {
		t.Fatalf("the setting is refused: %v", wrong)
	}
	if got, want := s.Tariff(false).Of([]byte("eth_call")), (Cost{1, 3000}); got != want {
		t.Errorf("a request costs %v, want %v", got, want)
	}
	var none *Tariff
	if got := none.Of([]byte("eth_call")); got != (Cost{}) {
		t.Errorf("without a tariff a request costs %v, want nothing", got)
	}
}

func TestTariff_TakesThePriceOfATableThatHasOne(t *testing.T) {
	t.Parallel()
	s := Setting{Table: "ankr"}
	if wrong := s.Check(); len(wrong) > 0 {
		t.Fatalf("the setting is refused: %v", wrong)
	}
	if got, want := s.Tariff(false).Of([]byte("eth_call")), (Cost{200, 20_000}); got != want {
		t.Errorf("a request costs %v, want %v: 0.00002 dollars", got, want)
	}
}

func TestSetting_RefusesMistakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setting Setting
		member  string
	}{
		"unknown table":     {Setting{Table: "acme", USDPerMillion: 1}, "table"},
		"no price":          {Setting{Table: "alchemy"}, "usd_per_million"},
		"negative price":    {Setting{USDPerMillion: -1}, "usd_per_million"},
		"no number":         {Setting{USDPerMillion: math.NaN()}, "usd_per_million"},
		"too small a price": {Setting{USDPerMillion: 0.0001}, "usd_per_million"},
		"too large a price": {Setting{USDPerMillion: math.Inf(1)}, "usd_per_million"},
		"negative default":  {Setting{USDPerMillion: 1, Default: -1}, "default"},
		"negative units":    {Setting{USDPerMillion: 1, Methods: map[string]int64{"eth_call": -1}}, "methods"},
		"every method":      {Setting{USDPerMillion: 1, Methods: map[string]int64{"*": 1}}, "methods"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong := c.setting.Check()
			if wrong[c.member] == "" {
				t.Errorf("nothing is wrong with %s: %v", c.member, wrong)
			}
		})
	}
}

func TestTables_HaveASourceAndADate(t *testing.T) {
	t.Parallel()
	want := []string{"alchemy", "ankr", "chainstack", "drpc", "helius", "infura", "quicknode"}
	if got := Tables(); !slices.Equal(got, want) {
		t.Errorf("tables are %v, want %v", got, want)
	}
	for name, table := range tables {
		if _, err := time.Parse(time.DateOnly, table.ReadOn); err != nil {
			t.Errorf("%s: read_on: %v", name, err)
		}
		if table.Source == "" {
			t.Errorf("%s has no source", name)
		}
		if table.EVM.Default == 0 && table.Solana.Default == 0 {
			t.Errorf("%s has no default", name)
		}
	}
}

func TestNanos_AreShownInDollars(t *testing.T) {
	t.Parallel()
	for n, want := range map[Nanos]string{
		0: "0.000000", 1: "0.000000", 500: "0.000001", 1_500_000_000: "1.500000", -2_000_000: "-0.002000",
	} {
		t.Run(n.String(), func(t *testing.T) {
			if got := n.String(); got != want {
				t.Errorf("%d nanodollars are %s, want %s", int64(n), got, want)
			}
		})
	}
}
