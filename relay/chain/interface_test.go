package chain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chainaccess/gateway/internal/testkit/interfacedoc"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestAll_HasTheChainsOfTheInterface(t *testing.T) {
	t.Parallel()
	var got []map[string]string
	for _, c := range chain.BuiltIn().All() {
		family := "EVM"
		if c.Family == chain.Solana {
			family = "Solana"
		}
		got = append(got, map[string]string{"Value": string(c.ID), "Chain": c.Title, "Family": family})
	}
	if diff := cmp.Diff(interfacedoc.Rows(t, "1.2.1"), got); diff != "" {
		t.Errorf("the table of chains and the code differ (-table +code):\n%s", diff)
	}
}

// The rows of a call's weight name families of methods.
func TestMethods_WeighWhatTheInterfaceSays(t *testing.T) {
	t.Parallel()
	heavy := ""
	for _, row := range interfacedoc.Rows(t, "1.8.1") {
		if strings.HasPrefix(row["Call"], "heavy call") {
			heavy = row["Call"]
		}
	}
	for _, c := range chain.BuiltIn().All() {
		for _, m := range c.Methods() {
			family, _, _ := strings.Cut(m.Name, "_")
			named := strings.Contains(heavy, family+"_*") || strings.Contains(heavy, m.Name)
			if want := map[bool]int{false: 1, true: 2}[named && m.Name != "eth_getLogs"]; m.Weight != want {
				t.Errorf("%s on %s weighs %d, want %d", m.Name, c.ID, m.Weight, want)
			}
		}
	}
	for _, figure := range []string{
		fmt.Sprintf("`eth_getLogs` over more than %d blocks", chain.WideLogBlocks),
		fmt.Sprintf("deeper than %d blocks below the head", chain.StateDepth),
	} {
		if !strings.Contains(interfacedoc.Text(t, "1.8.1"), figure) {
			t.Errorf("section 1.8.1 lacks %q", figure)
		}
	}
}

func TestCaps_AreThoseOfTheInterface(t *testing.T) {
	t.Parallel()
	want := map[string]int{"eth_getLogs": chain.MaxLogBlocks, "eth_feeHistory": chain.MaxFeeBlocks}
	for _, row := range interfacedoc.Rows(t, "1.8.2") {
		blocks, ok := want[row["Method"]]
		if figure := fmt.Sprintf(" of %d blocks", blocks); !ok || !strings.Contains(row["Cap"], figure) {
			t.Errorf("the cap of %s is %q, want one%s", row["Method"], row["Cap"], figure)
		}
		delete(want, row["Method"])
	}
	for name := range want {
		t.Errorf("%s has a cap and no row", name)
	}
}

func TestMethods_AreAvailableWhereTheInterfaceSays(t *testing.T) {
	t.Parallel()
	for _, row := range interfacedoc.Rows(t, "1.8.3") {
		for _, c := range chain.BuiltIn().All() {
			m, served := c.Method([]byte(row["Method"]))
			if want := c.Family == chain.EVM && row["Chains"] == "five EVM chains"; served != want {
				t.Errorf("%s serves %s: %v, want %v", c.ID, row["Method"], served, want)
			}
			if !served {
				continue
			}
			if got := fmt.Sprint(m.Weight, " ", m.Cache); got != row["Weight"]+" "+row["Cache"] {
				t.Errorf("%s has weight and cache rule %s, want %s %s", m.Name, got, row["Weight"], row["Cache"])
			}
			if m.Needs == chain.Plain {
				t.Errorf("%s needs nothing of an upstream", m.Name)
			}
		}
	}
}

func TestMethods_AreCachedAsTheInterfaceSays(t *testing.T) {
	t.Parallel()
	listed := map[string]string{}
	last := ""
	for _, row := range interfacedoc.Rows(t, "1.8.4") {
		if row["TTL"] != "as above" {
			last = row["TTL"]
		}
		for name := range strings.SplitSeq(row["Item"], ", ") {
			listed[name] = last
		}
	}
	seen := map[string]bool{}
	for _, c := range chain.BuiltIn().All() {
		for _, m := range c.Methods() {
			var want string
			switch m.Cache {
			case chain.Never:
			case chain.Local:
				want = lasting(m.TTL) + "; answered by the gateway itself"
			case chain.Short:
				want = lasting(m.TTL)
			case chain.Final:
				want = fmt.Sprintf("%s, once the block is %d blocks below the head", lasting(m.TTL), chain.FinalDepth)
			}
			seen[m.Name] = true
			if got := listed[m.Name]; got != want {
				t.Errorf("the TTL of %s on %s is %q in the table, want %q", m.Name, c.ID, got, want)
			}
		}
	}
	for name := range listed {
		if !seen[name] && !strings.HasPrefix(name, "toolbox ") && !strings.HasPrefix(name, "data ") &&
			!slices.Contains([]string{"both directions"}, name) {
			t.Errorf("%s has a TTL in the table and is not in the catalog", name)
		}
	}
}

// lasting formats a TTL as the table does.
func lasting(d time.Duration) string {
	if d == week {
		return "1 week"
	}
	return fmt.Sprintf("%d s", d/time.Second)
}
