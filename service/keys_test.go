package service_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// must returns an operation's output and fails the test on a refusal.
func must[T any](t *testing.T) func(out T, refusal *fault.Error) T {
	t.Helper()
	return func(out T, refusal *fault.Error) T {
		t.Helper()
		if refusal != nil {
			t.Fatal(refusal)
		}
		return out
	}
}

// holder returns a caller of the API with a key.
func holder(key string) *service.Caller {
	c := browser("")
	c.Door, c.Bearer = service.DoorAPI, key
	return c
}

func serve(o *office, op service.Definition, caller *service.Caller,
	args map[string]any,
) (map[string]any, *fault.Error) {
	out, refusal := op.Serve(o.ctx, caller, func() (map[string]any, *fault.Error) { return args, nil })
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

// admit has the meter admit a call of a key.
func (o *office) admit(t *testing.T, key string, units plan.Units) meter.Admission {
	t.Helper()
	s, refusal := o.limits.Identify(o.ctx, key, browser("").Network)
	if refusal != nil {
		t.Fatal(refusal)
	}
	_, a, err := o.limits.AdmitOrLoad(o.ctx, s, &meter.Call{
		Mode: meter.Charge, Units: units, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call", Class: "standard",
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestKeys_AreShownOnceAndManagedByTheirAccount(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ann := browser(o.signIn(t, "ann@buyer.example"))
	limit := int64(40)
	made := must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, ann, service.CreateKeyInput{
		Name: " indexer ", MonthlyRequestCap: &limit,
	}))
	if _, ok := account.ParseKey(made.PlaintextToken); !ok || made.Name != "indexer" ||
		*made.MonthlyRequestCap != 40*plan.Unit || made.Prefix != made.PlaintextToken[:12] {
		t.Errorf("the key is %+v", made)
	}
	if a := o.admit(t, made.PlaintextToken, 39*plan.Unit); !a.Admitted {
		t.Errorf("its first call: %+v", a)
	}
	if a := o.admit(t, made.PlaintextToken, 2*plan.Unit); a.Refused != fault.KeyBudget.String() {
		t.Errorf("beyond its cap: %+v", a)
	}
	// The key itself manages its account too.
	second := must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, holder(made.PlaintextToken),
		service.CreateKeyInput{Name: "bot"}))
	if second.MonthlyRequestCap != nil {
		t.Errorf("a key without a cap has %v", second.MonthlyRequestCap)
	}
	list := must[service.KeyList](t)(o.ListKeys.Invoke(o.ctx, ann, service.ListKeysInput{}))
	text := fmt.Sprintf("%+v", list)
	if list.Count != 2 || len(list.Keys) != 2 || list.Keys[0].ID != made.ID || list.Keys[1].Name != "bot" ||
		strings.Contains(text, made.PlaintextToken[12:]) {
		t.Errorf("the list is %s", text)
	}
	// Revoked before the response; a repeat returns the same.
	first := must[service.RevokedKey](t)(o.RevokeKey.Invoke(o.ctx, ann, service.RevokeKeyInput{APIKeyID: made.ID}))
	if a := o.admit(t, made.PlaintextToken, plan.Unit); a.Refused != fault.KeyInvalid.String() {
		t.Errorf("a revoked key's call: %+v", a)
	}
	if again := must[service.RevokedKey](t)(o.RevokeKey.Invoke(o.ctx, ann, service.RevokeKeyInput{
		APIKeyID: made.ID,
	})); again != first || first.RevokedAt.IsZero() {
		t.Errorf("revoked again gives %+v, first %+v", again, first)
	}
	o.refuses(t, o.ListKeys, holder(made.PlaintextToken), nil, fault.KeyInvalid)
	o.refuses(t, o.ConfigureKey, ann, map[string]any{"id": made.ID, "monthly_request_cap": 5.0}, fault.FieldRefused)
}

func TestKeys_FencesAreReadAndChangedAndNeverWiderThanTheAccount(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ann := browser(o.signIn(t, "ann@buyer.example"))
	key := must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, ann, service.CreateKeyInput{Name: "indexer"}))
	read := must[service.ConfiguredKey](t)(o.ConfigureKey.Invoke(o.ctx, ann, service.ConfigureKeyInput{ID: key.ID}))
	if len(read.Services) != 8 || read.Window != "30d" || read.MonthlyRequestCap != nil || !read.Services[0].Enabled ||
		read.Services[0].Cap != nil {
		t.Errorf("a fresh key has %+v", read)
	}
	changed, refusal := serve(o, o.ConfigureKey, ann, map[string]any{
		"id": key.ID, "monthly_request_cap": 7.0, "enabled": []any{"rpc", "gas"}, "caps": map[string]any{"rpc": 3.0},
		"window": "1h",
	})
	if refusal != nil || changed["monthly_request_cap"] != 7.0 || changed["window"] != "1h" ||
		changed["key_id"] != key.ID {
		t.Fatalf("changed to %v, %v", changed, refusal)
	}
	if a := o.admit(t, key.PlaintextToken, 4*plan.Unit); a.Refused != fault.ServiceCap.String() {
		t.Errorf("beyond the cap of the service: %+v", a)
	}
	// Absent fields do not change. An empty list removes the caps by service, and 0 the key's cap.
	cleared, refusal := serve(o, o.ConfigureKey, ann, map[string]any{
		"id": key.ID, "monthly_request_cap": 0.0, "caps": map[string]any{},
	})
	if refusal != nil || cleared["monthly_request_cap"] != nil ||
		fmt.Sprint(cleared["services"]) == fmt.Sprint(changed["services"]) {
		t.Errorf("cleared to %v, %v", cleared, refusal)
	}
	list := must[service.KeyList](t)(o.ListKeys.Invoke(o.ctx, ann, service.ListKeysInput{Scope: "keys"}))
	if off := list.Keys[0].ServicesOff; len(off) != 6 || slices.Contains(off, account.RPC) ||
		len(list.Keys[0].Caps) != 0 {
		t.Errorf("afterwards the key has %+v", list.Keys[0])
	}
	// Free has a million units a month; a key's cap cannot exceed it.
	if got := o.refuses(t, o.ConfigureKey, ann, map[string]any{"id": key.ID, "monthly_request_cap": 1_000_001.0},
		fault.FieldRefused); !strings.Contains(got.Message, "1000000 units") {
		t.Errorf("a cap that is too wide is refused with %q", got.Message)
	}
	o.refuses(t, o.CreateKey, ann, map[string]any{"name": "wide", "monthly_request_cap": 1_000_001.0},
		fault.FieldRefused)
	account, refusal := serve(o, o.ConfigureServices, ann, map[string]any{
		"enabled": []any{"rpc"}, "caps": map[string]any{"rpc": 10.0},
	})
	services, _ := account["services"].([]any)
	if refusal != nil || account["key_id"] != nil || len(services) != 8 {
		t.Fatalf("the account has %v, %v", account, refusal)
	}
	o.refuses(t, o.ConfigureKey, ann, map[string]any{"id": key.ID, "enabled": []any{"gas"}}, fault.FieldRefused)
	o.refuses(t, o.ConfigureKey, ann, map[string]any{"id": key.ID, "caps": map[string]any{"rpc": 11.0}},
		fault.FieldRefused)
	if keys := must[service.KeyList](t)(o.ListKeys.Invoke(o.ctx, ann, service.ListKeysInput{})); keys.Count != 1 {
		t.Errorf("a refused key was made: %d keys", keys.Count)
	}
}

// Keys that came through a door or belong to an agent manage nothing.
func TestKeys_ThoseTheAccountDidNotMakeManageNothing(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	welcome := must[service.Welcome](t)(o.GetKey.Invoke(o.ctx, browser(""), service.GetKeyInput{}))
	for _, op := range []service.Definition{
		o.CreateKey, o.ListKeys, o.ConfigureKey, o.RevokeKey, o.ConfigureServices, o.UpdateAccount,
	} {
		got := o.refuses(t, op, holder(welcome.Key), map[string]any{"name": "x"}, fault.WrongKindOfKey)
		if next, _ := got.Data["next_door"].(map[string]string); next["door"] != "adopt" {
			t.Errorf("%s leads to %v", op.Meta().Name, got.Data)
		}
		if !strings.Contains(got.Message, "/agents") {
			t.Errorf("%s says %q", op.Meta().Name, got.Message)
		}
		o.refuses(t, op, browser(""), nil, fault.KeyInvalid)
		o.refuses(t, op, holder("cag_nonsense"), nil, fault.KeyInvalid)
	}
}

func TestSettings_ChangeOnlyWhereTheyAreGiven(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ann := browser(o.signIn(t, "ann@buyer.example"))
	before := must[service.AccountSettings](t)(o.UpdateAccount.Invoke(o.ctx, ann, service.UpdateAccountInput{}))
	if !before.NotifyUsage80 || !before.NotifyUsage100 || before.NotifyIncidents || before.TimeZone != "UTC" {
		t.Errorf("a fresh account has %+v", before)
	}
	after, refusal := serve(o, o.UpdateAccount, ann, map[string]any{
		"time_zone": "Europe/Vienna", "notify_usage_80": false, "wish_chains": []any{"btc", "ton"},
		"wish_chain_other": " Celo ", "use_case": "indexing",
	})
	want := map[string]any{"use_case": "indexing", "wish_chains": []any{"btc", "ton"}, "wish_chain_other": "Celo"}
	if refusal != nil || after["time_zone"] != "Europe/Vienna" || after["notify_usage_80"] != false ||
		after["notify_usage_100"] != true || fmt.Sprint(after["insights"]) != fmt.Sprint(want) {
		t.Errorf("afterwards it has %v, %v", after, refusal)
	}
	for _, zone := range []string{
		"", "Local", "Europe/Nowhere", "../../etc/passwd", "+01:00", strings.Repeat("x", 65),
	} {
		o.refuses(t, o.UpdateAccount, ann, map[string]any{"time_zone": zone, "notify_incidents": true},
			fault.FieldRefused)
	}
	if now := must[service.AccountSettings](t)(o.UpdateAccount.Invoke(o.ctx, ann,
		service.UpdateAccountInput{})); now.NotifyIncidents || now.TimeZone != "Europe/Vienna" {
		t.Errorf("a refused change left %+v", now)
	}
	log := must[service.AuditLog](t)(o.ListAudit.Invoke(o.ctx, ann, service.ListAuditInput{}))
	if len(log.Lines) != 2 || log.Lines[0].Action != "update_account" || !strings.Contains(string(log.Lines[0].After),
		"Europe/Vienna") || log.Lines[0].Origin != "console" {
		t.Errorf("the audit log is %+v", log.Lines)
	}
}

func TestAccount_HasTheNameThatItsPeopleGiveIt(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ann := browser(o.signIn(t, "ann@buyer.example"))
	for _, c := range []struct{ given, want string }{
		{" Studio <b>North</b> ", "Studio <b>North</b>"}, {"Studio <b>North</b>", "Studio <b>North</b>"}, {"", ""},
	} {
		named := must[service.NamedAccount](t)(o.NameAccount.Invoke(o.ctx, ann, service.NameAccountInput{
			Name: c.given,
		}))
		if now := o.whoIs(t, ann.Session); named.Name != c.want || now.AccountName != c.want {
			t.Errorf("named %q it is %q, to its people %q", c.given, named.Name, now.AccountName)
		}
	}
	for _, name := range []string{"   ", "a\u202eb", "a\nb", strings.Repeat("x", 81)} {
		o.refuses(t, o.NameAccount, ann, map[string]any{"name": name}, fault.FieldRefused)
	}
	log := must[service.AuditLog](t)(o.ListAudit.Invoke(o.ctx, ann, service.ListAuditInput{}))
	if len(log.Lines) != 3 || log.Lines[0].Action != "name_account" || !strings.Contains(string(log.Lines[0].Before),
		"Studio") {
		t.Errorf("the audit log is %+v", log.Lines)
	}
}

// Every field that holds an id of an account's object is tried. A new field requires a row here.
func TestKeys_IDsOfAnotherAccountAreNotFoundByAnyCapability(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ann, eve := browser(o.signIn(t, "ann@buyer.example")), browser(o.signIn(t, "eve@other.example"))
	key := must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, ann, service.CreateKeyInput{Name: "indexer"}))
	eves := must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, eve, service.CreateKeyInput{Name: "eve's"}))
	me := o.whoIs(t, ann.Session)
	invitation := must[service.Invitation](t)(o.InviteMember.Invoke(o.ctx, ann, service.InviteMemberInput{
		Email: "next@buyer.example", Role: "member",
	}))
	owner, err := account.ParseID(me.AccountID)
	if err != nil {
		t.Fatal(err)
	}
	invoice := subscription.Invoice{
		ID: "in_1", Status: subscription.InvoiceOpen, Currency: "usd", CreatedAt: time.Now(), PeriodStart: time.Now(),
		PeriodEnd: time.Now(),
	}
	if err := o.store.PutInvoices(o.ctx, owner, []subscription.Invoice{invoice}); err != nil {
		t.Fatal(err)
	}
	checkout, err := o.store.OpenCheckout(o.ctx, billingdb.Checkout{
		ID: billingdb.NewCheckoutID(), Account: owner, Item: "pack_s", OpenedAt: time.Now(),
		ExpiresAt: time.Now().Add(time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	anns := uuid.Must(uuid.NewV7())
	if err := o.store.CopyCalls(o.ctx, []usagedb.Call{
		{RequestID: anns, StartedAt: time.Now(), Account: owner, Method: "eth_call", Outcome: "rate_window"},
	}); err != nil {
		t.Fatal(err)
	}
	filed := must[service.CreatedTicket](t)(o.CreateTicket.Invoke(o.ctx, ann, service.CreateTicketInput{
		Subject: "s", Message: "m",
	}))
	foreign := map[string]map[string]any{
		"explore_usage":   {"key_id": key.ID},
		"export_usage":    {"key_id": key.ID},
		"finish_checkout": {"checkout_id": checkout.ID.String()},
		"show_invoice":    {"id": invoice.ID},
		"create_ticket":   {"subject": "x", "message": "x", "request_id": anns.String()},
		"preview_ticket":  {"request_id": anns.String()},
		"get_ticket":      {"reference": filed.Reference},
		"reply_ticket":    {"reference": filed.Reference, "message": "x", "resolve": true},

		"desk_list_tickets":    {"account_id": me.AccountID},
		"desk_get_ticket":      {"reference": filed.Reference},
		"desk_reply_ticket":    {"reference": filed.Reference, "message": "x", "seen": 1.0},
		"desk_answer_feedback": {"id": uuid.NewString(), "status": "planned", "seen": 0.0},

		"revoke_api_key":    {"api_key_id": key.ID},
		"configure_key":     {"id": key.ID, "monthly_request_cap": 1.0},
		"end_session":       {"id": me.SessionID},
		"switch_account":    {"account_id": me.AccountID},
		"revoke_invitation": {"id": invitation.ID},
		"change_member":     {"user_id": me.UserID, "role": "member"},
		"remove_member":     {"user_id": me.UserID},
	}
	for _, op := range o.All() {
		name := op.Meta().Name
		args, tried := foreign[name]
		if names := idFields(op); len(names) > 0 != tried {
			t.Errorf("%s takes ids %q; the table has %v", name, names, args)
		}
		if !tried {
			continue
		}
		callers := []*service.Caller{eve}
		if access := op.Meta().Access; access == service.Managers || access == service.Holders {
			callers = append(callers, holder(eves.PlaintextToken))
		}
		for _, caller := range callers {
			theirs := o.refuses(t, op, caller, args, fault.NotYours)
			unknown := maps.Clone(args)
			for _, field := range idFields(op) {
				unknown[field] = uuid.NewString()
				switch {
				case name == "show_invoice": // the payment provider's id, of another form
					unknown[field] = "in_2"
				case field == "reference":
					unknown[field] = "CAG-999999999"
				}
			}
			if nobodys := o.refuses(t, op, caller, unknown, fault.NotYours); nobodys.Message != theirs.Message {
				t.Errorf("%s tells another's id (%q) from one that is nobody's (%q)", name, theirs.Message,
					nobodys.Message)
			}
		}
	}
	if now := o.ticket(t, ann, filed.Reference); now.Status != ticket.Open || now.Messages != 1 {
		t.Errorf("eve changed %+v", now)
	}
	now := must[service.KeyList](t)(o.ListKeys.Invoke(o.ctx, ann, service.ListKeysInput{}))
	if now.Keys[0].Status != account.Active || now.Keys[0].MonthlyRequestCap != nil ||
		o.whoIs(t, ann.Session).Role != "owner" {
		t.Errorf("eve changed %+v", now.Keys[0])
	}
	if a := o.admit(t, key.PlaintextToken, plan.Unit); !a.Admitted {
		t.Errorf("ann's key: %+v", a)
	}
}

func idFields(op service.Definition) []string {
	var names []string
	for name := range op.Input().Properties {
		if name == "id" || name == "reference" || strings.HasSuffix(name, "_id") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// siweMessage is an EIP-4361 message.
const siweMessage = "a.example wants you to sign in with your Ethereum " +
	"account:\n0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045\n\n\nURI: https://a.example\nVersion: 1\nChain ID: " +
	"1\nNonce: 01234567\nIssued At: 2026-01-02T03:04:05Z"

// anyText are the fields that accept every text.
var anyText = []string{"start_sign_in.return_to", "checksum_address.address", "migrate.config"}

// right returns well-formed arguments for each operation. A new field requires an entry here.
func right(door service.Welcome) map[string]map[string]any {
	const address = "0xd8da6bf26964af9d7eed9e03e53415d37aa96045"
	id, token := uuid.NewString(), "cagl_"+strings.Repeat("0", 49)
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
		"list_audit_log":         {"limit": 1.0, "cursor": "1"},
		"get_usage_report":       {"hours": 24.0, "chain": "eth_mainnet"},
		"get_usage_stats":        {"report": "latency", "window": "7d"},
		"get_usage_volume":       {"window": "7d", "chain": "eth_mainnet"},
		"name_account":           {"name": "x"},
		"explore_usage":          {"range": "7d", "key_id": id, "chain": "eth_mainnet"},
		"export_usage":           {"range": "7d", "key_id": id, "chain": "eth_mainnet"},
		"get_statement":          {"period": "2026-11-01"},
		"export_statement":       {"period": "2026-11-01"},
		"get_gas":                {"chain": "eth_mainnet"},
		"get_tx_status":          {"chain": "eth_mainnet", "hash": "0x" + strings.Repeat("0a", 32)},
		"get_prices":             {"symbols": "eth"},
		"resolve_ens":            {"name": "vitalik.eth"},
		"reverse_ens":            {"address": "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"},
		"get_abi":                {"chain": "eth_mainnet", "address": address},
		"get_balances":           {"chain": "eth_mainnet", "address": address},
		"get_history":            {"chain": "eth_mainnet", "address": address, "limit": 1.0, "cursor": ""},
		"decode_calldata":        {"chain": "eth_mainnet", "address": address, "data": "0xa9059cbb"},
		"bind_key_start":         {"address": address},
		"bind_key_complete":      {"address": address, "signature": "0x00"},
		"adopt_key":              {"claim_code": door.Doorways["adopt"].ClaimCode},
		"claim_agent_start":      {"name": "x", "address": address},
		"claim_agent_complete":   {"address": address, "signature": "0x00", "monthly_request_cap": 1.0},
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
		"checksum_address":       {"address": address},
		"convert_units":          {"value": "1", "from": "eth", "to": "wei"},
		"compute_selector":       {"signature": "f(uint)"},
		"hash_keccak":            {"text": "0x00", "encoding": "hex"},
		"verify_signature": {
			"message": "0x00", "encoding": "hex", "signature": "0x00", "address": address, "chain": "eth_mainnet",
		},
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
		"verify_siwe":     {"message": siweMessage, "signature": "0x00", "chain": "eth_mainnet"},

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

// wideKey returns a key with a very high rate limit, so that invalid metered requests are counted
// without being limited.
func (o *office) wideKey(t *testing.T) string {
	t.Helper()
	a := accountdb.NewAccount{ID: account.NewID(), Kind: accountdb.KindOwner, Plan: plan.Enterprise}
	if _, err := o.store.CreateAccount(o.ctx, a); err != nil {
		t.Fatal(err)
	}
	key, err := account.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	digest := key.Digest(o.hasher)
	if _, err := o.store.CreateKey(o.ctx, accountdb.NewKey{
		ID: account.NewKeyID(), Account: a.ID, Digest: digest[:], Prefix: key.Prefix(), Door: account.DoorAccount,
		Daily: account.Unlimited,
	}); err != nil {
		t.Fatal(err)
	}
	return key.Reveal()
}

// Every field of every operation refuses values of every wrong type, texts that are too long and
// control characters, and names the field, while all other fields are valid.
func TestFields_EachRefusesWhatItDoesNotTake(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	var users []*service.Caller // several, because each has a rate limit
	for _, name := range []string{"ann", "bea", "cem"} {
		users = append(users, browser(o.signIn(t, name+"@buyer.example")))
	}
	door := must[service.Welcome](t)(o.GetKey.Invoke(o.ctx, browser(""), service.GetKeyInput{}))
	metered, staff := holder(o.wideKey(t)), browser(o.staff(t))
	wrong := map[string]any{
		"a text": "\x00\x1b[31m\u202e", "a long text": strings.Repeat("x", 100_000), "a number": 1.5,
		"a negative number": -1.0, "a huge number": 1e300, "a truth": true, "a list": []any{map[string]any{}},
		"a list of texts": []any{"\x00"}, "an object": map[string]any{"\x00": []any{}},
		"a deep object": map[string]any{"rpc": map[string]any{}},
	}
	for i, op := range o.All() {
		meta := op.Meta()
		base, known := right(door)[meta.Name]
		if len(op.Input().Properties) > 0 && !known {
			t.Errorf("the table lacks %s", meta.Name)
		}
		caller := users[i%len(users)]
		switch {
		case meta.Metered():
			caller = metered
		case meta.Access == service.KeyHolders:
			caller = holder(door.Key)
		case meta.Access == service.Staff:
			caller = staff
		}
		if meta.PerNetwork {
			caller = neighbour(i)
		}
		for field, schema := range op.Input().Properties {
			if _, given := base[field]; !given {
				t.Errorf("the table lacks %s of %s", field, meta.Name)
			}
			for kind, value := range wrong {
				if schema.Type == "boolean" && kind == "a truth" || kind == "a text" &&
					slices.Contains(anyText, meta.Name+"."+field) ||
					kind == "a negative number" && meta.Name == "explain_error" { // negative codes are
					continue // valid
				}
				args := maps.Clone(base)
				args[field] = value
				_, refusal := serve(o, op, caller, args)
				// comes from a cookie, not from a person
				named := refusal != nil &&
					(strings.Contains(refusal.Message, field) || fmt.Sprint(refusal.Data["field"]) == field ||
						field == "browser_token")
				// a well-formed id that does not exist
				unknown := refusal != nil && refusal.Reason == fault.NotYours && kind == "a text"
				reason := fault.FieldRefused
				if _, text := value.(string); text && field == "chain" && strings.Contains(meta.Route.Path, "{chain}") {
					reason, named = fault.UnknownChain, true // a path that does not exist
				}
				if field == "signature" && !meta.Metered() && meta.Name != "redeem_payment" &&
					strings.HasSuffix(kind, "text") && kind != "a long text" {
					reason = fault.BindingRefused
				}
				if !unknown && (refusal == nil || refusal.Reason != reason || !named) {
					t.Errorf("%s answered %s for %s with %v", meta.Name, kind, field, refusal)
				}
				if refusal != nil && len(refusal.Message) > 2_000 {
					t.Errorf("%s answered %s for %s with %d bytes", meta.Name, kind, field, len(refusal.Message))
				}
			}
		}
	}
	for _, user := range users {
		if keys := must[service.KeyList](t)(o.ListKeys.Invoke(o.ctx, user, service.ListKeysInput{})); keys.Count != 0 {
			t.Errorf("a key was made of wrong fields: %+v", keys)
		}
	}
}

func TestManagement_IsLimitedToSixtyCallsAMinuteForAKey(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ann := browser(o.signIn(t, "ann@buyer.example"))
	key := must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, ann, service.CreateKeyInput{Name: "indexer"}))
	began := time.Now()
	for range 60 {
		must[service.KeyList](t)(o.ListKeys.Invoke(o.ctx, holder(key.PlaintextToken), service.ListKeysInput{}))
	}
	// The limit refills by one request a second while they are sent.
	var got *fault.Error
	for sent := 0; got == nil && sent < 2+int(time.Since(began)/time.Second); sent++ {
		_, got = serve(o, o.ListKeys, holder(key.PlaintextToken), nil)
	}
	if got == nil || got.Reason != fault.RateWindow || got.RetryAfter <= 0 || got.RetryAfter > time.Second ||
		got.Window == nil || got.Window.Limit != 60 {
		t.Errorf("beyond the limit: %+v", got)
	}
	// the user's limit is separate
	must[service.KeyList](t)(o.ListKeys.Invoke(o.ctx, ann, service.ListKeysInput{}))
}

func TestUsage_IsShownDayByDayUpToToday(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ann := browser(o.signIn(t, "ann@buyer.example"))
	key := must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, ann, service.CreateKeyInput{Name: "indexer"}))
	if a := o.admit(t, key.PlaintextToken, 3*plan.Unit); !a.Admitted {
		t.Fatalf("%+v", a)
	}
	id, err := account.ParseID(o.whoIs(t, ann.Session).AccountID)
	if err != nil {
		t.Fatal(err)
	}
	keyID, err := account.ParseKeyID(key.ID)
	if err != nil {
		t.Fatal(err)
	}
	today := time.Now().UTC().Truncate(24 * time.Hour)
	first := time.Date(today.Year(), today.Month(), 1, 0, 0, 0, 0, time.UTC)
	line := account.UsageLine{
		Period: first.Format(time.DateOnly), Key: keyID, Chain: "eth_mainnet", Service: "rpc",
		Method: "eth_call", Class: "standard", Outcome: "ok", Source: "plan", Tier: "balanced", Requests: 5,
		Units: 5 * plan.Unit,
	}
	hit, refused := line, line
	hit.Outcome, hit.Source, hit.Units, hit.Requests = "hit", "", 0, 2
	refused.Outcome, refused.Source, refused.Units, refused.Requests = "rate_window", "", 0, 4
	err = o.store.CommitUsage(o.ctx, []account.UsageBucket{{
		Shard: account.Shard(id), Slot: first, Account: id, Generation: "g", Lines: []account.UsageLine{
			line, hit, refused,
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	usage := must[service.UsageByDay](t)(o.UsageByDay.Invoke(o.ctx, ann, service.UsageByDayInput{}))
	if len(usage.Days) != today.Day() || usage.Days[0].Day != first.Format(time.DateOnly) ||
		usage.Days[len(usage.Days)-1].Day != today.Format(time.DateOnly) {
		t.Errorf("the days are %+v", usage.Days)
	}
	if d := usage.Days[0]; d.Requests != 11 || d.Standard != 5*plan.Unit || d.Hits != 2 || d.Refused != 4 ||
		d.Heavy != 0 {
		t.Errorf("the first day is %+v", d)
	}
	if usage.Used != 8*plan.Unit || usage.Allowance == nil || *usage.Allowance != 1_000_000*plan.Unit ||
		usage.Plan != "free" || !usage.Refuses {
		t.Errorf("the period is %+v", usage)
	}
	list := must[service.KeyList](t)(o.ListKeys.Invoke(o.ctx, ann, service.ListKeysInput{}))
	want := first // unless the key was created in the hour of its call
	if made := list.Keys[0].CreatedAt; made.After(want) {
		want = made
	}
	if at := list.Keys[0].LastUsedAt; at == nil || !at.Equal(want) {
		t.Errorf("the key was used last at %v, want %v", at, want)
	}
	read := must[service.ConfiguredKey](t)(o.ConfigureKey.Invoke(o.ctx, ann, service.ConfigureKeyInput{
		ID: key.ID, Window: "30d",
	}))
	if read.Services[0].Used != 5*plan.Unit && today.Day() < 30 {
		t.Errorf("the key used %+v", read.Services[0])
	}
}

// What binding, adopting and claiming refuse before any workflow starts.
func TestDoors_RefuseTheImpossibleBeforeAnythingBegins(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ann := browser(o.signIn(t, "ann@buyer.example"))
	own := must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, ann, service.CreateKeyInput{Name: "indexer"}))
	door := must[service.Welcome](t)(o.GetKey.Invoke(o.ctx, browser(""), service.GetKeyInput{}))
	const address = "0xd8da6bf26964af9d7eed9e03e53415d37aa96045"
	// Keys of an account, and sessions, cannot be bound to wallets.
	o.refuses(t, o.BindKeyStart, holder(own.PlaintextToken), map[string]any{"address": address}, fault.WrongKindOfKey)
	o.refuses(t, o.BindKeyComplete, holder(own.PlaintextToken), map[string]any{"address": address, "signature": "0x00"},
		fault.WrongKindOfKey)
	o.refuses(t, o.BindKeyStart, ann, map[string]any{"address": address}, fault.KeyInvalid)
	for _, wrong := range []any{nil, 7.0, "", "0x", address[:41], address + "0", "0X" + address[2:], "vitalik.eth"} {
		o.refuses(t, o.BindKeyStart, holder(door.Key), map[string]any{"address": wrong}, fault.FieldRefused)
	}
	// Malformed claim codes, and one that does not exist.
	for _, wrong := range []string{"", "cagc_", door.Key, strings.Repeat("x", 81)} {
		o.refuses(t, o.AdoptKey, ann, map[string]any{"claim_code": wrong}, fault.FieldRefused)
	}
	stranger, err := account.MintKey(strings.NewReader(strings.Repeat("r", 32)))
	if err != nil {
		t.Fatal(err)
	}
	hasher, err := account.NewHasher([]byte(strings.Repeat("another", 8)))
	if err != nil {
		t.Fatal(err)
	}
	o.refuses(t, o.AdoptKey, ann, map[string]any{"claim_code": stranger.ClaimCode(hasher).Reveal()}, fault.NotYours)
	o.refuses(t, o.AdoptKey, holder(own.PlaintextToken), map[string]any{"claim_code": "x"}, fault.KeyInvalid)
	// Door keys claim no agents.
	o.refuses(t, o.ClaimAgentStart, holder(door.Key), map[string]any{"name": "bot", "address": address},
		fault.WrongKindOfKey)
	if list := must[service.AgentList](t)(o.ListAgents.Invoke(o.ctx, ann, service.Nothing{})); list.Agents == nil ||
		len(list.Agents) != 0 {
		t.Errorf("a fresh account has agents %+v", list)
	}
}
