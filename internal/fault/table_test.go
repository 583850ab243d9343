package fault_test

import (
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/fault"
)

type pair struct {
	code, http int
}

// row matches a line of the table in docs/interface.md, 1.7.
var row = regexp.MustCompile("(?m)^\\| (-\\d+) \\| (\\d+) \\| `([a-z_]+)` \\|")

// specified returns the reasons in docs/interface.md with their code and status.
func specified(t *testing.T) map[string]pair {
	t.Helper()
	text, err := os.ReadFile("../../docs/interface.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]pair{}
	for _, cells := range row.FindAllStringSubmatch(string(text), -1) {
		code, err1 := strconv.Atoi(cells[1])
		http, err2 := strconv.Atoi(cells[2])
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if _, twice := found[cells[3]]; twice {
			t.Errorf("docs/interface.md has %s twice", cells[3])
		}
		found[cells[3]] = pair{code, http}
	}
	if len(found) < 30 {
		t.Fatalf("docs/interface.md has %d reasons", len(found))
	}
	return found
}

func TestTable_HasTheCodesAndStatusesOfTheInterface(t *testing.T) {
	t.Parallel()
	missing := specified(t)
	for _, e := range fault.Table() {
		want, ok := missing[e.Name]
		if !ok {
			t.Errorf("%s is not in docs/interface.md", e.Name)
			continue
		}
		if got := (pair{e.Code, e.HTTP}); got != want {
			t.Errorf("%s is %+v, want %+v", e.Name, got, want)
		}
		delete(missing, e.Name)
	}
	for name := range missing {
		t.Errorf("%s is missing", name)
	}
}

func TestTable_EveryReasonExplainsItselfAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-z][a-z_]*[a-z]$`)
	sentence := regexp.MustCompile(`^[A-Z0-9].*\.$`)
	// A first step begins with an imperative; the list makes a new one deliberate.
	imperatives := regexp.MustCompile(
		`^(Ask|Check|Choose|Correct|Buy|Do|File|List|Look|Pay|Raise|Read|Retry|Send|Sign|Split|Spread|Start|Switch|Us` +
			`e|Wait)\b`)
	names := make(map[string]bool)
	for _, e := range fault.Table() {
		if !name.MatchString(e.Name) || names[e.Name] {
			t.Errorf("name %q is malformed or used twice", e.Name)
		}
		names[e.Name] = true
		if e.Title == "" || strings.HasSuffix(e.Title, ".") {
			t.Errorf("%s: title %q", e.Name, e.Title)
		}
		if !sentence.MatchString(e.Meaning) {
			t.Errorf("%s: meaning %q is no sentence", e.Name, e.Meaning)
		}
		if len(e.Steps) == 0 {
			t.Errorf("%s: no next step", e.Name)
			continue
		}
		if !imperatives.MatchString(e.Steps[0]) {
			t.Errorf("%s: first step %q does not say what to do", e.Name, e.Steps[0])
		}
		for _, step := range e.Steps {
			if !strings.HasSuffix(step, ".") {
				t.Errorf("%s: step %q is no sentence", e.Name, step)
			}
		}
		if e.Doorway != "" && !strings.HasPrefix(e.Doorway, "/") {
			t.Errorf("%s: doorway %q is no path", e.Name, e.Doorway)
		}
	}
}

func TestTable_ReasonsAndEntriesFindEachOther(t *testing.T) {
	t.Parallel()
	for _, e := range fault.Table() {
		if got := e.Reason.Entry(); got.Name != e.Name || e.Reason.String() != e.Name {
			t.Errorf("%s has the entry of %s", e.Name, got.Name)
		}
		found := false
		for _, other := range fault.Explain(e.Code) {
			found = found || other.Reason == e.Reason
			if other.Code != e.Code {
				t.Errorf("%d explains %d", e.Code, other.Code)
			}
		}
		if !found {
			t.Errorf("%d does not explain %s", e.Code, e.Name)
		}
	}
}

func TestTable_UnknownCodesAndReasonsAreHandled(t *testing.T) {
	t.Parallel()
	for _, code := range []int{0, 1, -1, -32000, -32999, 404} {
		if found := fault.Explain(code); len(found) != 0 {
			t.Errorf("%d is explained as %s", code, found[0].Name)
		}
	}
	for _, r := range []fault.Reason{0, 255} {
		if r.Entry().Reason != fault.InternalFault {
			t.Errorf("reason %d has the entry of %s", r, r)
		}
	}
}

// Meanings must carry the rules that the interface states in its notes.
func TestTable_MeaningsCarryTheInterfacesRules(t *testing.T) {
	t.Parallel()
	for reason, parts := range map[fault.Reason][]string{
		fault.OutcomeUnknown: {
			"Look", "before signing again", "re-sending the identical signed bytes is safe",
			"a new signature on the same nonce is not",
		},
		fault.PaymentRequired:  {"Pay against the menu", "retry", "X-PAYMENT"},
		fault.DoorKeyDay:       {"next door"},
		fault.ServiceOff:       {"data.enable"},
		fault.ServiceCap:       {"data.scope"},
		fault.RateWindow:       {"Retry-After"},
		fault.MethodNotServed:  {"data.docs", "data.contact"},
		fault.NewKeyQuota:      {"data.doorways"},
		fault.AccountSuspended: {"data.support"},
	} {
		t.Run(reason.String(), func(t *testing.T) {
			for _, part := range parts {
				if !strings.Contains(reason.Entry().Meaning, part) {
					t.Errorf("%s: %q lacks %q", reason, reason.Entry().Meaning, part)
				}
			}
		})
	}
	for _, chain := range []string{
		"eth_mainnet", "base_mainnet", "arbitrum_one", "optimism_mainnet", "polygon_pos", "solana_mainnet",
	} {
		if !strings.Contains(fault.UnknownChain.Entry().Meaning, chain) {
			t.Errorf("the refusal of an unknown chain does not offer %s", chain)
		}
	}
}
