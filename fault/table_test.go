package fault_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/fault"
)

type pair struct {
	code, http int
}

// The reasons by name, with the code and status that the interface documents and the table of decisions give them. Codes of
// interface document 1, section 7; statuses of both documents' section 7; the rest from docs/decisions.md.
var specified = map[string]pair{
	// Document 1, section 7, codes with a status.
	"key_invalid":       {-32001, 401},
	"rate_window":       {-32005, 429},
	"key_budget":        {-32006, 429},
	"plan_quota":        {-32007, 429},
	"service_cap":       {-32014, 429},
	"account_suspended": {-32009, 403},
	"service_off":       {-32012, 403},
	"unknown_chain":     {-32600, 404},
	"method_not_served": {-32601, 404},
	"range_too_large":   {-32602, 400},
	// Codes whose status the document leaves open, and statuses whose code it leaves open.
	"plan_lacks_service": {-32010, 403},
	"door_key_day":       {-32016, 429},
	"outcome_unknown":    {-32017, 409},
	"payment_required":   {-32018, 402},
	"no_upstream":        {-32020, 503},
	// Document 2, section 7.
	"new_key_quota":   {-32024, 429},
	"binding_refused": {-32025, 422},
	"not_found":       {-32026, 404},
	// The decisions' own reasons.
	"meter_unreachable":   {-32021, 503},
	"upstream_failed":     {-32022, 502},
	"upstream_timeout":    {-32023, 504},
	"settlement_redeemed": {-32027, 409},
	"settlement_over":     {-32027, 410},
	"wrong_kind_of_key":   {-32028, 403},
	"not_yet_in_force":    {-32029, 503},
	"durable_unavailable": {-32030, 503},
	"not_json":            {-32700, 400},
	"not_a_request":       {-32600, 400},
	"unknown_route":       {-32600, 404},
	"method_not_allowed":  {-32600, 405},
	"body_too_large":      {-32600, 413},
	"batch_too_large":     {-32600, 413},
	"headers_too_large":   {-32600, 431},
	"media_type_refused":  {-32600, 415},
	"host_refused":        {-32600, 403},
	"path_closed":         {-32600, 410},
	"parameter_refused":   {-32602, 400},
	"field_refused":       {-32602, 422},
	"internal":            {-32603, 500},
}

func TestTableHoldsExactlyTheSpecifiedCodesAndStatuses(t *testing.T) {
	t.Parallel()
	missing := maps.Clone(specified)
	for _, e := range fault.Table() {
		want, ok := missing[e.Name]
		if !ok {
			t.Errorf("%s is not specified, or stands twice", e.Name)
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

func TestEveryReasonExplainsItselfAndSaysWhatToDoNext(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-z][a-z_]*[a-z]$`)
	sentence := regexp.MustCompile(`^[A-Z0-9].*\.$`)
	// A first step begins with what to do; a list, so that a new one is looked at.
	imperatives := regexp.MustCompile(`^(Ask|Check|Choose|Correct|Buy|Do|File|List|Look|Pay|Raise|Read|Retry|Send|Sign|Split|Spread|Start|Switch|Use|Wait)\b`)
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

func TestReasonsAndEntriesFindEachOther(t *testing.T) {
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

func TestUnknownCodesAndReasonsAreHandled(t *testing.T) {
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

// The words of the interface's own notes that a client is told by the table.
func TestMeaningsCarryTheInterfacesRules(t *testing.T) {
	t.Parallel()
	for reason, parts := range map[fault.Reason][]string{
		fault.OutcomeUnknown:   {"Look", "before signing again", "re-sending the identical signed bytes is safe", "a new signature on the same nonce is not"},
		fault.PaymentRequired:  {"Pay against the menu", "retry", "X-PAYMENT"},
		fault.DoorKeyDay:       {"next door"},
		fault.ServiceOff:       {"data.enable"},
		fault.ServiceCap:       {"data.scope"},
		fault.RateWindow:       {"Retry-After"},
		fault.MethodNotServed:  {"data.docs", "data.contact"},
		fault.NewKeyQuota:      {"data.doorways"},
		fault.AccountSuspended: {"data.support"},
	} {
		for _, part := range parts {
			if !strings.Contains(reason.Entry().Meaning, part) {
				t.Errorf("%s: %q lacks %q", reason, reason.Entry().Meaning, part)
			}
		}
	}
	for _, chain := range []string{"eth_mainnet", "base_mainnet", "arbitrum_one", "optimism_mainnet", "polygon_pos", "solana_mainnet"} {
		if !strings.Contains(fault.UnknownChain.Entry().Meaning, chain) {
			t.Errorf("the refusal of an unknown chain does not offer %s", chain)
		}
	}
}
