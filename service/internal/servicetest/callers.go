package servicetest

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/accountdb"
)

// Must returns an operation's output and fails the test on a refusal.
func Must[T any](t *testing.T) func(out T, refusal *fault.Error) T {
	t.Helper()
	return func(out T, refusal *fault.Error) T {
		t.Helper()
		if refusal != nil {
			t.Fatal(refusal)
		}
		return out
	}
}

// Holder returns a caller of the API with a key.
func Holder(key string) *operation.Caller {
	c := Browser("")
	c.Door, c.Bearer = operation.DoorAPI, key
	return c
}

// Serve serves raw arguments of an operation.
func Serve(o *Env, op operation.Definition, caller *operation.Caller,
	args map[string]any,
) (map[string]any, *fault.Error) {
	out, refusal := op.Serve(o.Ctx, caller, func() (map[string]any, *fault.Error) { return args, nil })
	if refusal != nil {
		return nil, refusal
	}
	text, err := json.Marshal(out)
	var members map[string]any
	if err == nil {
		err = json.Unmarshal(text, &members)
	}
	if err != nil {
		return nil, fault.Internal(err)
	}
	return members, nil
}

// Admit has the meter admit a call of a key.
func (o *Env) Admit(t *testing.T, key string, units plan.Units) meter.Admission {
	t.Helper()
	s, refusal := o.Limits.Identify(o.Ctx, key, Browser("").Network)
	if refusal != nil {
		t.Fatal(refusal)
	}
	_, a, err := o.Limits.AdmitOrLoad(o.Ctx, s, &meter.Call{
		Mode: meter.Charge, Units: units, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call", Class: "standard",
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// SIWEMessage is an EIP-4361 message.
const SIWEMessage = "a.example wants you to sign in with your Ethereum " +
	"account:\n0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045\n\n\nURI: https://a.example\nVersion: 1\nChain ID: " +
	"1\nNonce: 01234567\nIssued At: 2026-01-02T03:04:05Z"

const checksummed = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"

var lowercase = strings.ToLower(checksummed)

// Right returns well-formed arguments for each operation. A new field requires an entry in one of
// the maps below.
func Right(door keys.Welcome) map[string]map[string]any {
	id, token := uuid.NewString(), "cagl_"+strings.Repeat("0", 49)
	all := map[string]map[string]any{}
	for _, some := range []map[string]map[string]any{
		rightOfAccount(id), rightOfPeople(door, id, token), rightOfTools(), rightOfPayments(id), rightOfSupport(id),
	} {
		maps.Copy(all, some)
	}
	return all
}

// rightOfAccount has the operations of keys, the account and its usage.
func rightOfAccount(id string) map[string]map[string]any {
	return map[string]map[string]any{
		"create_api_key": {"name": "x", "monthly_request_cap": 1.0},
		"list_api_keys":  {"scope": "keys"},
		"configure_key": {
			"id": id, "monthly_request_cap": 1.0, "enabled": []any{"rpc"}, "caps": map[string]any{"rpc": 1.0},
			"window": "1h",
		},
		"revoke_api_key":     {"api_key_id": id},
		"configure_services": {"enabled": []any{"rpc"}, "caps": map[string]any{"rpc": 1.0}, "window": "1h"},
		"update_account": {
			"notify_usage_80": true, "notify_usage_100": true, "notify_incidents": true, "time_zone": "UTC",
			"use_case": "other", "team_size": "solo", "volume": "under_1m", "region": "europe",
			"previous_provider": "alchemy", "referral_source": "search", "chains": []any{"eth_mainnet"},
			"wish_chains": []any{"btc"}, "wish_chain_other": "x",
		},
		"list_audit_log":   {"limit": 1.0, "cursor": "1"},
		"get_usage_report": {"hours": 24.0, "chain": "eth_mainnet"},
		"get_usage_stats":  {"report": "latency", "window": "7d"},
		"get_usage_volume": {"window": "7d", "chain": "eth_mainnet"},
		"name_account":     {"name": "x"},
		"explore_usage":    {"range": "7d", "key_id": id, "chain": "eth_mainnet"},
		"export_usage":     {"range": "7d", "key_id": id, "chain": "eth_mainnet"},
		"get_statement":    {"period": "2026-11-01"},
		"export_statement": {"period": "2026-11-01"},
	}
}

// rightOfPeople has the operations by which keys and people come in.
func rightOfPeople(door keys.Welcome, id, token string) map[string]map[string]any {
	return map[string]map[string]any{
		"bind_key_start":         {"address": lowercase},
		"bind_key_complete":      {"address": lowercase, "signature": "0x00"},
		"adopt_key":              {"claim_code": door.Doorways["adopt"].ClaimCode},
		"claim_agent_start":      {"name": "x", "address": lowercase},
		"claim_agent_complete":   {"address": lowercase, "signature": "0x00", "monthly_request_cap": 1.0},
		"start_sign_in":          {"email": "bob@buyer.example", "return_to": "/keys"},
		"show_sign_in_link":      {"token": token},
		"finish_sign_in_by_link": {"token": token},
		"finish_sign_in_by_code": {"browser_token": token, "code": "123456"},
		"end_session":            {"id": id},
		"show_unsubscribe_link":  {"token": token},
		"unsubscribe":            {"token": token},
		"show_entry":             {"token": token},
		"confirm_entry":          {"token": token, "product_updates": true},
		"leave_entry":            {"token": token},
		"choose_mail_topics":     {"topics": []any{"packs"}},
		"switch_account":         {"account_id": id},
		"invite_member":          {"email": "bob@buyer.example", "role": "member"},
		"revoke_invitation":      {"id": id},
		"show_invitation":        {"token": token},
		"accept_invitation":      {"token": token},
		"change_member":          {"user_id": id, "role": "member"},
		"remove_member":          {"user_id": id},
	}
}

// rightOfTools has the toolbox.
func rightOfTools() map[string]map[string]any {
	return map[string]map[string]any{
		"get_gas":          {"chain": "eth_mainnet"},
		"get_tx_status":    {"chain": "eth_mainnet", "hash": "0x" + strings.Repeat("0a", 32)},
		"get_prices":       {"symbols": "eth"},
		"resolve_ens":      {"name": "vitalik.eth"},
		"reverse_ens":      {"address": checksummed},
		"get_abi":          {"chain": "eth_mainnet", "address": lowercase},
		"get_balances":     {"chain": "eth_mainnet", "address": lowercase},
		"get_history":      {"chain": "eth_mainnet", "address": lowercase, "limit": 1.0, "cursor": ""},
		"decode_calldata":  {"chain": "eth_mainnet", "address": lowercase, "data": "0xa9059cbb"},
		"checksum_address": {"address": lowercase},
		"convert_units":    {"value": "1", "from": "eth", "to": "wei"},
		"compute_selector": {"signature": "f(uint)"},
		"hash_keccak":      {"text": "0x00", "encoding": "hex"},
		"verify_signature": {
			"message": "0x00", "encoding": "hex", "signature": "0x00", "address": lowercase, "chain": "eth_mainnet",
		},
	}
}

// rightOfPayments has payments, prices and advice.
func rightOfPayments(id string) map[string]map[string]any {
	return map[string]map[string]any{
		"get_receipt": {"tx_hash": "0x" + strings.Repeat("0", 64)},
		"redeem_payment": {
			"tx_hash": "0x" + strings.Repeat("0", 64), "tier": "balanced", "signature": "0x00",
			"issued_at": "2026-11-22T12:00:00Z",
		},
		"start_checkout":  {"item": "pro_monthly", "country": "DE"},
		"buy_pack":        {"size": "s"},
		"finish_checkout": {"checkout_id": id},
		"change_plan":     {"item": "pro_monthly"},
		"list_invoices":   {"limit": 1.0, "before": "2026-11-22T12:00:00Z"},
		"show_invoice":    {"id": "in_1"},
		"get_quote":       {"chain": "eth_mainnet", "method": "eth_call", "tier": "cheap"},
		"explain_error":   {"code": -32005.0},
		"price_volume":    {"units": 1.0},
		"migrate":         {"config": "ETH_RPC_URL=https://eth.llamarpc.com"},
		"recommend_chain": {"family": "evm", "candidates": []any{"base_mainnet"}, "prefer": "uptime"},
		"recommend_route": {"chain": "eth_mainnet", "method": "eth_call", "need": "fast"},
		"verify_siwe":     {"message": SIWEMessage, "signature": "0x00", "chain": "eth_mainnet"},
	}
}

// rightOfSupport has tickets and feedback, of customers and of the desk.
func rightOfSupport(id string) map[string]map[string]any {
	return map[string]map[string]any{
		"create_ticket":            {"subject": "x", "message": "x", "request_id": id, "category": "other", "form": id},
		"preview_ticket":           {"request_id": id},
		"list_tickets":             {"status": "all", "limit": 1.0, "cursor": "CAG-1"},
		"get_ticket":               {"reference": "CAG-1"},
		"reply_ticket":             {"reference": "CAG-1", "message": "x", "resolve": true, "reopen": true, "form": id},
		"submit_feedback":          {"kind": "other", "title": "x", "body": "x", "chain": "eth_mainnet", "form": id},
		"list_feedback":            {"status": "new", "limit": 1.0, "cursor": id},
		"join_enterprise_wishlist": {"items": "x", "email": "bob@buyer.example"},
		"desk_list_tickets": {
			"status": "all", "priority": "low", "account_id": id, "limit": 1.0, "cursor": "CAG-1",
		},
		"desk_get_ticket": {"reference": "CAG-1"},
		"desk_reply_ticket": {
			"reference": "CAG-1", "message": "x", "resolve": true, "reopen": true, "seen": 1.0, "form": id,
		},
		"desk_list_feedback":   {"status": "all", "limit": 1.0, "cursor": id},
		"desk_answer_feedback": {"id": id, "status": "new", "reply": "x", "seen": 0.0},
		"join_waitlist": {
			"email_address": "bob@buyer.example", "qualifier": "curious", "source": "x", "product_updates": true,
		},
	}
}

// WideKey returns a key with a very high rate limit, so that invalid metered requests are counted
// without being limited.
func (o *Env) WideKey(t *testing.T) string {
	t.Helper()
	a := accountdb.NewAccount{ID: account.NewID(), Kind: accountdb.KindOwner, Plan: plan.Enterprise}
	if _, err := o.Store.CreateAccount(o.Ctx, a); err != nil {
		t.Fatal(err)
	}
	key, err := account.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	digest := key.Digest(o.Hasher)
	if _, err := o.Store.CreateKey(o.Ctx, accountdb.NewKey{
		ID: account.NewKeyID(), Account: a.ID, Digest: digest[:], Prefix: key.Prefix(), Door: account.DoorAccount,
		Daily: account.Unlimited,
	}); err != nil {
		t.Fatal(err)
	}
	return key.Reveal()
}

// OnNetwork returns a visitor on a network.
func OnNetwork(prefix string) *operation.Caller {
	c := Browser("")
	c.Network = netip.MustParsePrefix(prefix)
	return c
}

// The asset and the seller of the tests' payments.
const (
	USDCOnBase = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
	SellerAt   = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
)
