package keys_test

import (
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
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/accounts"
	"github.com/chainaccess/gateway/service/agents"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/tickets"
	"github.com/chainaccess/gateway/service/usage"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

func TestKeys_AreShownOnceAndManagedByTheirAccount(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	limit := int64(40)
	made := servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, ann, keys.CreateKeyInput{
		Name: " indexer ", MonthlyRequestCap: &limit,
	}))
	_, ok := account.ParseKey(made.PlaintextToken)
	require.True(t, ok)
	expect.Equal(t, made.Name, "indexer")
	expect.Equal(t, *made.MonthlyRequestCap, 40*plan.Unit)
	expect.Equal(t, made.Prefix, made.PlaintextToken[:12])
	if a := o.Admit(t, made.PlaintextToken, 39*plan.Unit); !a.Admitted {
		t.Errorf("its first call: %+v", a)
	}
	if a := o.Admit(t, made.PlaintextToken, 2*plan.Unit); a.Refused != fault.KeyBudget.String() {
		t.Errorf("beyond its cap: %+v", a)
	}
	// The key itself manages its account too.
	second := servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, servicetest.Holder(made.PlaintextToken),
		keys.CreateKeyInput{Name: "bot"}))
	if second.MonthlyRequestCap != nil {
		t.Errorf("a key without a cap has %v", second.MonthlyRequestCap)
	}
	list := servicetest.Must[keys.KeyList](t)(o.ListKeys.Invoke(o.Ctx, ann, keys.ListKeysInput{}))
	text := fmt.Sprintf("%+v", list)
	expect.Equal(t, list.Count, 2)
	require.Len(t, list.Keys, 2)
	expect.Equal(t, list.Keys[0].ID, made.ID)
	expect.Equal(t, list.Keys[1].Name, "bot")
	expect.NotContains(t, text, made.PlaintextToken[12:])
	// Revoked before the response; a repeat returns the same.
	first := servicetest.Must[keys.RevokedKey](t)(o.RevokeKey.Invoke(o.Ctx, ann,
		keys.RevokeKeyInput{APIKeyID: made.ID}))
	if a := o.Admit(t, made.PlaintextToken, plan.Unit); a.Refused != fault.KeyInvalid.String() {
		t.Errorf("a revoked key's call: %+v", a)
	}
	if again := servicetest.Must[keys.RevokedKey](t)(o.RevokeKey.Invoke(o.Ctx, ann, keys.RevokeKeyInput{
		APIKeyID: made.ID,
	})); again != first || first.RevokedAt.IsZero() {
		t.Errorf("revoked again gives %+v, first %+v", again, first)
	}
	o.Refuses(t, o.ListKeys, servicetest.Holder(made.PlaintextToken), nil, fault.KeyInvalid)
	o.Refuses(t, o.ConfigureKey, ann, map[string]any{"id": made.ID, "monthly_request_cap": 5.0}, fault.FieldRefused)
}

func TestKeys_LimitsAreReadAndChangedAndNeverWiderThanTheAccount(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	key := servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, ann, keys.CreateKeyInput{Name: "indexer"}))
	read := servicetest.Must[keys.ConfiguredKey](t)(o.ConfigureKey.Invoke(o.Ctx, ann,
		keys.ConfigureKeyInput{ID: key.ID}))
	in := expect.In(t, "a fresh key")
	require.Len(in, read.Services, 8)
	expect.Equal(in, read.Window, "30d")
	expect.Nil(in, read.MonthlyRequestCap)
	expect.True(in, read.Services[0].Enabled)
	expect.Nil(in, read.Services[0].Cap)
	changed, refusal := servicetest.Serve(o, o.ConfigureKey, ann, map[string]any{
		"id": key.ID, "monthly_request_cap": 7.0, "enabled": []any{"rpc", "gas"}, "caps": map[string]any{"rpc": 3.0},
		"window": "1h",
	})
	require.Nil(t, refusal)
	require.Equal[any](t, changed["monthly_request_cap"], 7.0)
	require.Equal[any](t, changed["window"], "1h")
	require.Equal[any](t, changed["key_id"], key.ID)
	if a := o.Admit(t, key.PlaintextToken, 4*plan.Unit); a.Refused != fault.ServiceCap.String() {
		t.Errorf("beyond the cap of the service: %+v", a)
	}
	// Absent fields do not change. An empty list removes the caps by service, and 0 the key's cap.
	cleared, refusal := servicetest.Serve(o, o.ConfigureKey, ann, map[string]any{
		"id": key.ID, "monthly_request_cap": 0.0, "caps": map[string]any{},
	})
	require.Nil(t, refusal)
	expect.Equal(t, cleared["monthly_request_cap"], nil)
	expect.NotEqual(t, fmt.Sprint(cleared["services"]), fmt.Sprint(changed["services"]))
	list := servicetest.Must[keys.KeyList](t)(o.ListKeys.Invoke(o.Ctx, ann, keys.ListKeysInput{Scope: "keys"}))
	off := list.Keys[0].ServicesOff
	in = expect.In(t, "afterwards the key")
	expect.Len(in, off, 6)
	expect.False(in, slices.Contains(off, account.RPC), off)
	expect.Empty(in, list.Keys[0].Caps)
	// Free has a million units a month; a key's cap cannot exceed it.
	if got := o.Refuses(t, o.ConfigureKey, ann, map[string]any{"id": key.ID, "monthly_request_cap": 1_000_001.0},
		fault.FieldRefused); !strings.Contains(got.Message, "1000000 units") {
		t.Errorf("a cap that is too wide is refused with %q", got.Message)
	}
	o.Refuses(t, o.CreateKey, ann, map[string]any{"name": "wide", "monthly_request_cap": 1_000_001.0},
		fault.FieldRefused)
	account, refusal := servicetest.Serve(o, o.ConfigureServices, ann, map[string]any{
		"enabled": []any{"rpc"}, "caps": map[string]any{"rpc": 10.0},
	})
	services, _ := account["services"].([]any)
	require.Nil(t, refusal)
	require.Equal(t, account["key_id"], nil)
	require.Len(t, services, 8)
	o.Refuses(t, o.ConfigureKey, ann, map[string]any{"id": key.ID, "enabled": []any{"gas"}}, fault.FieldRefused)
	o.Refuses(t, o.ConfigureKey, ann, map[string]any{"id": key.ID, "caps": map[string]any{"rpc": 11.0}},
		fault.FieldRefused)
	if keys := servicetest.Must[keys.KeyList](t)(o.ListKeys.Invoke(o.Ctx, ann, keys.ListKeysInput{})); keys.Count != 1 {
		t.Errorf("a refused key was made: %d keys", keys.Count)
	}
}

// Keys that came through a door or belong to an agent manage nothing.
func TestKeys_ThoseTheAccountDidNotMakeManageNothing(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	welcome := servicetest.Must[keys.Welcome](t)(o.GetKey.Invoke(o.Ctx, servicetest.Browser(""), keys.GetKeyInput{}))
	for _, op := range []operation.Definition{
		o.CreateKey, o.ListKeys, o.ConfigureKey, o.RevokeKey, o.ConfigureServices, o.UpdateAccount,
	} {
		got := o.Refuses(t, op, servicetest.Holder(welcome.Key), map[string]any{"name": "x"}, fault.WrongKindOfKey)
		if next, _ := got.Data["next_door"].(map[string]string); next["door"] != "adopt" {
			t.Errorf("%s leads to %v", op.Meta().Name, got.Data)
		}
		if !strings.Contains(got.Message, "/agents") {
			t.Errorf("%s says %q", op.Meta().Name, got.Message)
		}
		o.Refuses(t, op, servicetest.Browser(""), nil, fault.KeyInvalid)
		o.Refuses(t, op, servicetest.Holder("cag_nonsense"), nil, fault.KeyInvalid)
	}
}

func TestSettings_ChangeOnlyWhereTheyAreGiven(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	before := servicetest.Must[accounts.AccountSettings](t)(o.UpdateAccount.Invoke(o.Ctx, ann,
		accounts.UpdateAccountInput{}))
	in := expect.In(t, "a fresh account")
	expect.True(in, before.NotifyUsage80)
	expect.True(in, before.NotifyUsage100)
	expect.False(in, before.NotifyIncidents)
	expect.Equal(in, before.TimeZone, "UTC")
	after, refusal := servicetest.Serve(o, o.UpdateAccount, ann, map[string]any{
		"time_zone": "Europe/Vienna", "notify_usage_80": false, "wish_chains": []any{"btc", "ton"},
		"wish_chain_other": " Celo ", "use_case": "indexing",
	})
	want := map[string]any{"use_case": "indexing", "wish_chains": []any{"btc", "ton"}, "wish_chain_other": "Celo"}
	require.Nil(t, refusal)
	expect.Equal[any](t, after["time_zone"], "Europe/Vienna")
	expect.Equal[any](t, after["notify_usage_80"], false)
	expect.Equal[any](t, after["notify_usage_100"], true)
	expect.Equal(t, fmt.Sprint(after["insights"]), fmt.Sprint(want))
	for _, zone := range []string{
		"", "Local", "Europe/Nowhere", "../../etc/passwd", "+01:00", strings.Repeat("x", 65),
	} {
		o.Refuses(t, o.UpdateAccount, ann, map[string]any{"time_zone": zone, "notify_incidents": true},
			fault.FieldRefused)
	}
	if now := servicetest.Must[accounts.AccountSettings](t)(o.UpdateAccount.Invoke(o.Ctx, ann,
		accounts.UpdateAccountInput{})); now.NotifyIncidents || now.TimeZone != "Europe/Vienna" {
		t.Errorf("a refused change left %+v", now)
	}
	log := servicetest.Must[accounts.AuditLog](t)(o.ListAudit.Invoke(o.Ctx, ann, accounts.ListAuditInput{}))
	in = expect.In(t, "the audit log")
	require.Len(in, log.Lines, 2)
	expect.Equal(in, log.Lines[0].Action, "update_account")
	expect.Contains(in, string(log.Lines[0].After), "Europe/Vienna")
	expect.Equal(in, log.Lines[0].Origin, "console")
}

func TestAccount_HasTheNameThatItsPeopleGiveIt(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	for _, c := range []struct{ given, want string }{
		{" Studio <b>North</b> ", "Studio <b>North</b>"}, {"Studio <b>North</b>", "Studio <b>North</b>"}, {"", ""},
	} {
		t.Run(c.given, func(t *testing.T) {
			named := servicetest.Must[accounts.NamedAccount](t)(o.NameAccount.Invoke(o.Ctx, ann,
				accounts.NameAccountInput{
					Name: c.given,
				}))
			if now := o.WhoIs(t, ann.Session); named.Name != c.want || now.AccountName != c.want {
				t.Errorf("named %q it is %q, to its people %q", c.given, named.Name, now.AccountName)
			}
		})
	}
	for _, name := range []string{"   ", "a\u202eb", "a\nb", strings.Repeat("x", 81)} {
		o.Refuses(t, o.NameAccount, ann, map[string]any{"name": name}, fault.FieldRefused)
	}
	log := servicetest.Must[accounts.AuditLog](t)(o.ListAudit.Invoke(o.Ctx, ann, accounts.ListAuditInput{}))
	in := expect.In(t, "the audit log")
	require.Len(in, log.Lines, 3)
	expect.Equal(in, log.Lines[0].Action, "name_account")
	expect.Contains(in, string(log.Lines[0].Before), "Studio")
}

// Every field that holds an id of an account's object is tried. A new field requires a row here.
func TestKeys_IDsOfAnotherAccountAreNotFoundByAnyCapability(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann, eve := servicetest.Browser(o.SignIn(t, "ann@buyer.example")),
		servicetest.Browser(o.SignIn(t, "eve@other.example"))
	key := servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, ann, keys.CreateKeyInput{Name: "indexer"}))
	eves := servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, eve, keys.CreateKeyInput{Name: "eve's"}))
	me := o.WhoIs(t, ann.Session)
	invitation := servicetest.Must[accounts.Invitation](t)(o.InviteMember.Invoke(o.Ctx, ann, accounts.InviteMemberInput{
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
	if err := o.Store.PutInvoices(o.Ctx, owner, []subscription.Invoice{invoice}); err != nil {
		t.Fatal(err)
	}
	checkout, err := o.Store.OpenCheckout(o.Ctx, billingdb.Checkout{
		ID: billingdb.NewCheckoutID(), Account: owner, Item: "pack_s", OpenedAt: time.Now(),
		ExpiresAt: time.Now().Add(time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	anns := uuid.Must(uuid.NewV7())
	if err := o.Store.CopyCalls(o.Ctx, []usagedb.Call{
		{RequestID: anns, StartedAt: time.Now(), Account: owner, Method: "eth_call", Outcome: "rate_window"},
	}); err != nil {
		t.Fatal(err)
	}
	filed := servicetest.Must[tickets.CreatedTicket](t)(o.CreateTicket.Invoke(o.Ctx, ann, tickets.CreateTicketInput{
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
		callers := []*operation.Caller{eve}
		if access := op.Meta().Access; access == operation.Managers || access == operation.Holders {
			callers = append(callers, servicetest.Holder(eves.PlaintextToken))
		}
		for _, caller := range callers {
			theirs := o.Refuses(t, op, caller, args, fault.NotYours)
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
			if nobodys := o.Refuses(t, op, caller, unknown, fault.NotYours); nobodys.Message != theirs.Message {
				t.Errorf("%s tells another's id (%q) from one that is nobody's (%q)", name, theirs.Message,
					nobodys.Message)
			}
		}
	}
	if now := o.Ticket(t, ann, filed.Reference); now.Status != ticket.Open || now.Messages != 1 {
		t.Errorf("eve changed %+v", now)
	}
	now := servicetest.Must[keys.KeyList](t)(o.ListKeys.Invoke(o.Ctx, ann, keys.ListKeysInput{}))
	in := expect.In(t, "eve changed")
	expect.Equal(in, now.Keys[0].Status, account.Active)
	expect.Nil(in, now.Keys[0].MonthlyRequestCap)
	expect.Equal(in, o.WhoIs(t, ann.Session).Role, "owner")
	if a := o.Admit(t, key.PlaintextToken, plan.Unit); !a.Admitted {
		t.Errorf("ann's key: %+v", a)
	}
}

func idFields(op operation.Definition) []string {
	var names []string
	for name := range op.Input().Properties {
		if name == "id" || name == "reference" || strings.HasSuffix(name, "_id") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// anyText are the fields that accept every text.
var anyText = []string{"start_sign_in.return_to", "checksum_address.address", "migrate.config"}

// Every field of every operation refuses values of every wrong type, texts that are too long and
// control characters, and names the field, while all other fields are valid.
func TestFields_EachRefusesWhatItDoesNotTake(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	var users []*operation.Caller // several, because each has a rate limit
	for _, name := range []string{"ann", "bea", "cem"} {
		users = append(users, servicetest.Browser(o.SignIn(t, name+"@buyer.example")))
	}
	door := servicetest.Must[keys.Welcome](t)(o.GetKey.Invoke(o.Ctx, servicetest.Browser(""), keys.GetKeyInput{}))
	metered, staff := servicetest.Holder(o.WideKey(t)), servicetest.Browser(o.Staff(t))
	wrong := map[string]any{
		"a text": "\x00\x1b[31m\u202e", "a long text": strings.Repeat("x", 100_000), "a number": 1.5,
		"a negative number": -1.0, "a huge number": 1e300, "a truth": true, "a list": []any{map[string]any{}},
		"a list of texts": []any{"\x00"}, "an object": map[string]any{"\x00": []any{}},
		"a deep object": map[string]any{"rpc": map[string]any{}},
	}
	for i, op := range o.All() {
		meta := op.Meta()
		base, known := servicetest.Right(door)[meta.Name]
		if len(op.Input().Properties) > 0 && !known {
			t.Errorf("the table lacks %s", meta.Name)
		}
		caller := users[i%len(users)]
		switch {
		case meta.Metered():
			caller = metered
		case meta.Access == operation.KeyHolders:
			caller = servicetest.Holder(door.Key)
		case meta.Access == operation.Staff:
			caller = staff
		}
		if meta.PerNetwork {
			caller = servicetest.Neighbour(i)
		}
		for field, schema := range op.Input().Properties {
			if _, given := base[field]; !given {
				t.Errorf("the table lacks %s of %s", field, meta.Name)
			}
			for kind, value := range wrong {
				t.Run(kind, func(t *testing.T) {
					if schema.Type == "boolean" && kind == "a truth" || kind == "a text" &&
						slices.Contains(anyText, meta.Name+"."+field) ||
						kind == "a negative number" && meta.Name == "explain_error" { // negative codes are
						return // valid
					}
					args := maps.Clone(base)
					args[field] = value
					_, refusal := servicetest.Serve(o, op, caller, args)
					// comes from a cookie, not from a person
					named := refusal != nil &&
						(strings.Contains(refusal.Message, field) || fmt.Sprint(refusal.Data["field"]) == field ||
							field == "browser_token")
					// a well-formed id that does not exist
					unknown := refusal != nil && refusal.Reason == fault.NotYours && kind == "a text"
					reason := fault.FieldRefused
					if _, text := value.(string); text && field == "chain" &&
						strings.Contains(meta.Route.Path, "{chain}") {
						reason, named = fault.UnknownChain, true // a path that does not exist
					}
					if field == "signature" && !meta.Metered() && meta.Name != "redeem_payment" &&
						strings.HasSuffix(kind, "text") && kind != "a long text" {
						reason = fault.BindingRefused
					}
					if !unknown {
						require.NotNil(t, refusal, meta.Name, kind, field)
						expect.Equal(t, refusal.Reason, reason, meta.Name, kind, field)
						expect.True(t, named, meta.Name, kind, field)
					}
					if refusal != nil && len(refusal.Message) > 2_000 {
						t.Errorf("%s answered %s for %s with %d bytes", meta.Name, kind, field, len(refusal.Message))
					}
				})
			}
		}
	}
	for _, user := range users {
		if keys := servicetest.Must[keys.KeyList](t)(o.ListKeys.Invoke(o.Ctx, user,
			keys.ListKeysInput{})); keys.Count != 0 {
			t.Errorf("a key was made of wrong fields: %+v", keys)
		}
	}
}

func TestManagement_IsLimitedToSixtyCallsAMinuteForAKey(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	key := servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, ann, keys.CreateKeyInput{Name: "indexer"}))
	began := time.Now()
	for range 60 {
		servicetest.Must[keys.KeyList](t)(o.ListKeys.Invoke(o.Ctx, servicetest.Holder(key.PlaintextToken),
			keys.ListKeysInput{}))
	}
	// The limit refills by one request a second while they are sent.
	var got *fault.Error
	for sent := 0; got == nil && sent < 2+int(time.Since(began)/time.Second); sent++ {
		_, got = servicetest.Serve(o, o.ListKeys, servicetest.Holder(key.PlaintextToken), nil)
	}
	in := expect.In(t, "beyond the limit")
	require.NotNil(in, got)
	expect.Equal(in, got.Reason, fault.RateWindow)
	expect.Greater(in, got.RetryAfter, 0)
	expect.AtMost(in, got.RetryAfter, time.Second)
	require.NotNil(in, got.Window)
	expect.Equal(in, got.Window.Limit, 60)
	// the user's limit is separate
	servicetest.Must[keys.KeyList](t)(o.ListKeys.Invoke(o.Ctx, ann, keys.ListKeysInput{}))
}

func TestUsage_IsShownDayByDayUpToToday(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	key := servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, ann, keys.CreateKeyInput{Name: "indexer"}))
	if a := o.Admit(t, key.PlaintextToken, 3*plan.Unit); !a.Admitted {
		t.Fatalf("%+v", a)
	}
	id, err := account.ParseID(o.WhoIs(t, ann.Session).AccountID)
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
	err = o.Store.CommitUsage(o.Ctx, []account.UsageBucket{{
		Shard: account.Shard(id), Slot: first, Account: id, Generation: "g", Lines: []account.UsageLine{
			line, hit, refused,
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	usage := servicetest.Must[usage.UsageByDay](t)(o.UsageByDay.Invoke(o.Ctx, ann, usage.UsageByDayInput{}))
	require.Len(t, usage.Days, today.Day())
	expect.Equal(t, usage.Days[0].Day, first.Format(time.DateOnly))
	expect.Equal(t, usage.Days[len(usage.Days)-1].Day, today.Format(time.DateOnly))
	d := usage.Days[0]
	in := expect.In(t, "the first day")
	expect.Equal(in, d.Requests, 11)
	expect.Equal(in, d.Standard, 5*plan.Unit)
	expect.Equal(in, d.Hits, 2)
	expect.Equal(in, d.Refused, 4)
	expect.Equal(in, d.Heavy, 0)
	expect.Equal(t, usage.Used, 8*plan.Unit)
	require.NotNil(t, usage.Allowance)
	expect.Equal(t, *usage.Allowance, 1_000_000*plan.Unit)
	expect.Equal(t, usage.Plan, "free")
	expect.True(t, usage.Refuses)
	list := servicetest.Must[keys.KeyList](t)(o.ListKeys.Invoke(o.Ctx, ann, keys.ListKeysInput{}))
	want := first // unless the key was created in the hour of its call
	if made := list.Keys[0].CreatedAt; made.After(want) {
		want = made
	}
	if at := list.Keys[0].LastUsedAt; at == nil || !at.Equal(want) {
		t.Errorf("the key was used last at %v, want %v", at, want)
	}
	read := servicetest.Must[keys.ConfiguredKey](t)(o.ConfigureKey.Invoke(o.Ctx, ann, keys.ConfigureKeyInput{
		ID: key.ID, Window: "30d",
	}))
	if read.Services[0].Used != 5*plan.Unit && today.Day() < 30 {
		t.Errorf("the key used %+v", read.Services[0])
	}
}

// What binding, adopting and claiming refuse before any workflow starts.
func TestDoors_RefuseTheImpossibleBeforeAnythingBegins(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	own := servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, ann, keys.CreateKeyInput{Name: "indexer"}))
	door := servicetest.Must[keys.Welcome](t)(o.GetKey.Invoke(o.Ctx, servicetest.Browser(""), keys.GetKeyInput{}))
	const address = "0xd8da6bf26964af9d7eed9e03e53415d37aa96045"
	// Keys of an account, and sessions, cannot be bound to wallets.
	o.Refuses(t, o.BindKeyStart, servicetest.Holder(own.PlaintextToken), map[string]any{"address": address},
		fault.WrongKindOfKey)
	o.Refuses(t, o.BindKeyComplete, servicetest.Holder(own.PlaintextToken),
		map[string]any{"address": address, "signature": "0x00"},
		fault.WrongKindOfKey)
	o.Refuses(t, o.BindKeyStart, ann, map[string]any{"address": address}, fault.KeyInvalid)
	for _, wrong := range []any{nil, 7.0, "", "0x", address[:41], address + "0", "0X" + address[2:], "vitalik.eth"} {
		o.Refuses(t, o.BindKeyStart, servicetest.Holder(door.Key), map[string]any{"address": wrong}, fault.FieldRefused)
	}
	// Malformed claim codes, and one that does not exist.
	for _, wrong := range []string{"", "cagc_", door.Key, strings.Repeat("x", 81)} {
		o.Refuses(t, o.AdoptKey, ann, map[string]any{"claim_code": wrong}, fault.FieldRefused)
	}
	stranger, err := account.MintKey(strings.NewReader(strings.Repeat("r", 32)))
	if err != nil {
		t.Fatal(err)
	}
	hasher, err := account.NewHasher([]byte(strings.Repeat("another", 8)))
	if err != nil {
		t.Fatal(err)
	}
	o.Refuses(t, o.AdoptKey, ann, map[string]any{"claim_code": stranger.ClaimCode(hasher).Reveal()}, fault.NotYours)
	o.Refuses(t, o.AdoptKey, servicetest.Holder(own.PlaintextToken), map[string]any{"claim_code": "x"},
		fault.KeyInvalid)
	// Door keys claim no agents.
	o.Refuses(t, o.ClaimAgentStart, servicetest.Holder(door.Key), map[string]any{"name": "bot", "address": address},
		fault.WrongKindOfKey)
	if list := servicetest.Must[agents.AgentList](t)(o.ListAgents.Invoke(o.Ctx, ann,
		operation.Nothing{})); list.Agents == nil ||
		len(list.Agents) != 0 {
		t.Errorf("a fresh account has agents %+v", list)
	}
}
