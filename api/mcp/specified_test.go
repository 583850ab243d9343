package mcp

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// hinted are the annotations of each tool: read-only, idempotent, destructive, open world
// (docs/decisions/0063).
var hinted = map[string]hints{
	"get_key": 0, "bind_key_start": idempotent, "bind_key_complete": idempotent, "claim_agent_start": idempotent,
	"claim_agent_complete": 0, "create_api_key": 0, "configure_key": idempotent,
	"revoke_api_key": destructive | idempotent, "list_api_keys": readOnly | idempotent,
	"get_billing_status": readOnly | idempotent, "configure_services": idempotent, "update_account": idempotent,
	"join_enterprise_wishlist": 0, "join_waitlist": idempotent, "list_plans": readOnly | idempotent,
	"get_usage": readOnly | idempotent, "get_statement": readOnly | idempotent, "manage_tickets": 0,
	"manage_feedback": 0, "rpc_call": openWorld, "get_balances": readOnly | idempotent | openWorld,
	"get_history": readOnly | idempotent | openWorld, "get_prices": readOnly | idempotent | openWorld,
	"get_tx_status": readOnly | idempotent, "resolve_ens": readOnly | idempotent | openWorld,
	"get_abi": readOnly | idempotent, "decode_calldata": readOnly | idempotent | openWorld,
	"convert_evm": readOnly | idempotent, "verify_signature": readOnly | idempotent,
	"what_can_i_do": readOnly | idempotent, "get_quote": readOnly | idempotent, "explain_error": readOnly | idempotent,
	"recommend": readOnly | idempotent, "migrate": readOnly | idempotent, "buy_pack": 0,
}

// keyFree are the tools that need no key (docs/interface.md, 2.4).
const keyFree = "get_key list_plans join_enterprise_wishlist join_waitlist explain_error get_quote recommend migrate"

func TestTools_AreExactlyTheSpecifiedOnes(t *testing.T) {
	t.Parallel()
	names := strings.Fields(specified)
	if len(names) != 35 || len(hinted) != 35 {
		t.Fatalf("%d names and %d hints, want 35", len(names), len(hinted))
	}
	var got []string
	for _, tool := range testTools(t) {
		got = append(got, tool.name)
		if want, ok := hinted[tool.name]; !ok || tool.hints != want {
			t.Errorf("%s has the hints %04b, want %04b", tool.name, tool.hints, want)
		}
		if want := slices.Contains(strings.Fields(keyFree), tool.name); tool.keyFree != want {
			t.Errorf("%s: key-free is %v", tool.name, tool.keyFree)
		}
	}
	slices.Sort(got)
	slices.Sort(names)
	if !slices.Equal(got, names) {
		t.Errorf("the tools are %v, want %v", got, names)
	}
}

// parameters are the parameters of each tool, required ones with an asterisk. Those after a bar are
// additions of the operations.
var parameters = map[string]string{
	"get_key": "", "bind_key_start": "address*", "bind_key_complete": "address* signature*",
	"claim_agent_start": "name* address*", "claim_agent_complete": "address* signature* monthly_request_cap",
	"create_api_key": "name* monthly_request_cap", "configure_key": "id* monthly_request_cap enabled caps window",
	"revoke_api_key": "api_key_id*", "list_api_keys": "scope", "get_billing_status": "",
	"configure_services": "enabled caps window",
	"update_account": "notify_usage_80 notify_usage_100 notify_incidents time_zone use_case team_size volume region " +
		"previous_provider referral_source chains wish_chains wish_chain_other",
	"join_enterprise_wishlist": "items* email*", "join_waitlist": "email_address* qualifier* source product_updates",
	"list_plans": "", "get_usage": "view* hours chain report window", "get_statement": "period",
	"manage_tickets":  "action* subject message category request_id reference status resolve reopen | cursor limit",
	"manage_feedback": "action* kind title body chain status | cursor limit",
	"rpc_call":        "chain* method* params tier | submission consistency verify",
	"get_balances":    "chain* address*", "get_history": "chain* address* | limit cursor",
	"get_prices": "kind* chain symbols", "get_tx_status": "chain* hash*", "resolve_ens": "query*",
	"get_abi": "chain* address*", "decode_calldata": "chain* address* calldata*",
	"convert_evm":      "op* input* from to | encoding",
	"verify_signature": "mode* message* signature* address | chain encoding", "what_can_i_do": "",
	"get_quote": "chain* method* tier", "explain_error": "code*",
	"recommend": "what* family candidates prefer chain method need", "migrate": "config*", "buy_pack": "size*",
}

func TestTools_TakeTheSpecifiedParameters(t *testing.T) {
	t.Parallel()
	for _, tool := range testTools(t) {
		own, further, _ := strings.Cut(parameters[tool.name], "|")
		s := inputOf(t, tool)
		var got []string
		for name := range s.Properties {
			if slices.Contains(s.Required, name) {
				name += "*"
			}
			if !slices.Contains(strings.Fields(further), name) {
				got = append(got, name)
			}
		}
		want := strings.Fields(own)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s takes %v, want %v", tool.name, got, want)
		}
	}
}

// A description must name every code with which its tool may refuse.
func TestTools_DescriptionsNameTheCodesOfRefusals(t *testing.T) {
	t.Parallel()
	// their messages explain what to do: an unknown chain, an internal fault, PostgreSQL or Redis
	// unavailable
	usual := []int{-32600, -32603, -32030, -32021}
	for _, tool := range testTools(t) {
		for _, w := range tool.ways {
			m := w.of.Meta()
			for _, reason := range m.Refusals() {
				code := reason.Entry().Code
				if !slices.Contains(usual, code) && !strings.Contains(tool.about.Fails, strconv.Itoa(code)) {
					t.Errorf("%s: nothing is said of %d (%s)", tool.name, code, reason)
				}
			}
		}
	}
}
