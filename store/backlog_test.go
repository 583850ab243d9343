package store_test

import (
	"context"
	"crypto/sha256"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/internal/storetest"
	"github.com/chainaccess/gateway/store/paymentdb"
)

// waitsSince compares a wait's count, and its age, which grows while a test runs.
func waitsSince(t *testing.T, what string, w store.Wait, count int64, oldest time.Duration) {
	t.Helper()
	in := expect.In(t, "%s", what)
	expect.Equal(in, w.Count, count)
	expect.Between(in, w.Oldest, oldest, oldest+30*time.Minute)
}

// Two rows of each kind that are not late, in addition to the late ones.
const backlogRows = `
INSERT INTO accounts (id, kind, plan) SELECT ('00000000-0000-0000-0000-00000000000' || n)::uuid, 'owner', 'pro' FROM generate_series(1, 5) AS n;

INSERT INTO settlements (chain_id, tx_hash, payer, stage, updated_at)
SELECT 8453, sha256(convert_to(stage || n, 'UTF8')), '\x0000000000000000000000000000000000000001'::bytea, stage, now() - age
FROM (VALUES ('stuck', 1, '3 hours'::interval), ('stuck', 2, '2 days'), ('pending', 1, '1 hour'), ('refused', 1, '25 hours')) AS s (stage, n, age);

INSERT INTO payment_authorizations (chain_id, asset, payer, nonce, attempt, state, value, valid_before, from_block, look_at, reserved_at, closed_at)
SELECT 8453, '\x0000000000000000000000000000000000000001'::bytea, '\x0000000000000000000000000000000000000002'::bytea, sha256(convert_to(n::text, 'UTF8')), gen_random_uuid(), state, 1,
    now(), 1, now(), now() - age, closed
FROM (VALUES (1, 'unknown', '5 hours'::interval, NULL::timestamptz), (2, 'unknown', '1 hour', NULL), (3, 'settling', '1 minute', NULL), (4, 'failed', '9 hours', now()),
    (5, 'reserved', '9 hours', NULL)) AS a (n, state, age, closed);

INSERT INTO billing_customers (account_id, customer, read_at)
SELECT ('00000000-0000-0000-0000-00000000000' || n)::uuid, 'cus_' || n, now() - CASE WHEN n = 2 THEN interval '30 hours' ELSE interval '20 hours' END FROM generate_series(1, 5) AS n;
UPDATE billing_customers SET beside = 2 WHERE customer = 'cus_3';
INSERT INTO subscriptions (id, account_id, price, status, price_cents, started_at, period_start, period_end, ended_at, odd_price)
SELECT 'sub_' || n, ('00000000-0000-0000-0000-00000000000' || n)::uuid, 'pro', status, 1, now() - interval '40 days', now() - interval '31 days', now() + ends, ended, odd
FROM (VALUES (1, 'active', '-3 hours'::interval, NULL::timestamptz, ''), (2, 'active', '1 day', NULL, ''), (3, 'past_due', '-1 hour', NULL, ''),
    (4, 'unpaid', '1 day', NULL, 'price_x'), (5, 'canceled', '-9 days', now(), 'price_x')) AS s (n, status, ends, ended, odd);
INSERT INTO stripe_events (id, type, created_at, received_at, processed_at, result)
SELECT 'evt_' || n, 'x', now(), now() - age, done, CASE WHEN done IS NOT NULL THEN 'told' END
FROM (VALUES (1, '2 hours'::interval, NULL::timestamptz), (2, '0 hours', NULL), (3, '9 hours', now())) AS e (n, age, done);
INSERT INTO checkouts (id, account_id, item, state, opened_at, expires_at, ended_at)
SELECT gen_random_uuid(), '00000000-0000-0000-0000-000000000001'::uuid, 'pack_s', state, now() - interval '1 day', now() - age, ended
FROM (VALUES ('open', '3 hours'::interval, NULL::timestamptz), ('open', '1 hour', NULL), ('paid', '3 hours', now())) AS c (state, age, ended);

INSERT INTO usage_periods (account_id, period, requests, billable, hits, refused, refunded, units, plan_units, pack_units)
SELECT ('00000000-0000-0000-0000-00000000000' || n)::uuid, (now() AT TIME ZONE 'UTC')::date - days, 1, 1, 0, 0, 0, 1, 1, 0
FROM (VALUES (1, 36), (1, 33), (2, 60), (3, 9), (4, 8)) AS p (n, days);
INSERT INTO ended_periods (account_id, period, starts_at, ends_at, plan, cut_at)
SELECT ('00000000-0000-0000-0000-00000000000' || n)::uuid, (now() AT TIME ZONE 'UTC')::date - days, now() - interval '9 days', now() - age, 'pro', now() - age
FROM (VALUES (3, 9, '2 days'::interval), (4, 8, '20 hours')) AS e (n, days, age);
INSERT INTO statements (account_id, period, starts_at, ends_at, requests, billable, hits, refused, refunded, units, plan_units, pack_units, content, content_hash)
SELECT '00000000-0000-0000-0000-000000000002'::uuid, (now() AT TIME ZONE 'UTC')::date - 60, now() - interval '60 days', now() - interval '30 days', 1, 1, 0, 0, 0, 1, 1, 0, 'x', sha256('x');

INSERT INTO tickets (number, account_id, subject, category, priority, channel, status, gathers, evidence, messages, created_at, last_activity_at, resolved_at, version, told_version)
SELECT n, '00000000-0000-0000-0000-000000000001'::uuid, 's', 'other', priority, 'web', status, false, '{}', 0, now() - made, now() - moved, resolved, version, 0
FROM (VALUES (1, 'high', 'open', '5 hours'::interval, '1 hour'::interval, NULL::timestamptz, 0), (2, 'high', 'waiting_us', '9 days', '2 hours', NULL, 0),
    (3, 'low', 'waiting_customer', '9 days', '9 days', NULL, 0), (4, 'urgent', 'resolved', '9 days', '9 minutes', now(), 2), (5, 'urgent', 'resolved', '9 days', '1 minute', now(), 1)
) AS t (n, priority, status, made, moved, resolved, version);
INSERT INTO ticket_messages (ticket, place, author, body, at)
SELECT 2, place, author, 'b', now() - age
FROM (VALUES (1, 'customer', '9 days'::interval), (2, 'operator', '8 days'), (3, 'customer', '7 hours'), (4, 'customer', '2 hours')) AS m (place, author, age);

INSERT INTO chain_measurements (chain, measured_at, state, reason) VALUES ('eth_mainnet', now() - interval '1 hour', 'degraded', 'one_upstream');
INSERT INTO incidents (id, chain, began_at, seen_at, confirmed_at, ended_at, began_told_at)
SELECT gen_random_uuid(), chain, now() - interval '9 hours', now() - interval '1 hour', now() - confirmed, CASE WHEN over THEN now() - interval '1 minute' END, CASE WHEN over THEN now() END
FROM (VALUES ('base_mainnet', '8 hours'::interval, false), ('eth_mainnet', '8 hours', true), ('polygon_mainnet', NULL, false)) AS i (chain, confirmed, over);
`

func TestBacklog_IsWhatWaitsAndNothingElse(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := testkit.Postgres(t)
	s := storetest.Must[*store.Store](t)(store.Open(ctx, url))
	t.Cleanup(s.Close)
	empty := storetest.Must[*store.Backlog](t)(s.LoadBacklog(ctx, time.Hour))
	in := expect.In(t, "nothing waits in an empty record")
	expect.Equal(in, empty.StuckSettlements, store.Wait{})
	expect.AtMost(in, len(empty.OpenPayments)+len(empty.Subscriptions)+len(empty.Tickets)+
		len(empty.Chains)+len(empty.Incidents), 0)
	expect.AtMost(in,
		empty.StuckSubscriptions+empty.LateCheckouts+empty.LateStatements+empty.LateTickets+empty.LateIncidents+
			empty.Unconfirmed, 0)

	conn := storetest.Must[*pgx.Conn](t)(pgx.Connect(ctx, url))
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) })
	storetest.Must[pgconn.CommandTag](t)(conn.Exec(ctx, backlogRows))
	b := storetest.Must[*store.Backlog](t)(s.LoadBacklog(ctx, time.Hour))

	recent := maps.Clone(b.RecentSettlements)
	maps.DeleteFunc(recent, func(_ x402.Stage, n int64) bool { return n == 0 })
	if want := map[x402.Stage]int64{x402.StageStuck: 1, x402.StagePending: 1}; !maps.Equal(recent, want) {
		t.Errorf("of a day are %v, want %v", recent, want)
	}
	waitsSince(t, "stuck settlements", b.StuckSettlements, 2, 48*time.Hour)
	if len(b.OpenPayments) != 2 {
		t.Errorf("open payments: %v", b.OpenPayments)
	}
	waitsSince(t, "unknown payments", b.OpenPayments[paymentdb.AuthorizationUnknown], 2, 5*time.Hour)
	waitsSince(t, "payments that settle", b.OpenPayments[paymentdb.AuthorizationSettling], 1, time.Minute)

	lasting := map[subscription.Status]int64{subscription.Active: 2, subscription.PastDue: 1, subscription.Unpaid: 1}
	expect.EqualMaps(t, b.Subscriptions, lasting)
	expect.Equal(t, b.StuckSubscriptions, 5)
	expect.Equal(t, b.LateCheckouts, 1)
	expect.Equal(t, b.LateStatements, 2)
	waitsSince(t, "events of Stripe", b.StripeEvents, 2, 2*time.Hour)

	if len(b.Tickets) != 1 || b.LateTickets != 1 {
		t.Errorf("tickets: %v, %d late", b.Tickets, b.LateTickets)
	}
	waitsSince(t, "tickets", b.Tickets[ticket.High], 2, 7*time.Hour)

	expect.EqualMaps(t, b.Incidents, map[chain.ID]bool{chain.BaseMainnet: true})
	expect.Equal(t, b.LateIncidents, 1)
	expect.Len(t, b.Chains, 1)
	expect.Equal(t, b.Chains[chain.EthMainnet].State, chain.Degraded)
}

// Every worker counts these every minute, among the periods of all accounts since the service
// began, so the query must read only periods without a statement.
func TestBacklog_FindsLateStatementsOnly(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	conn := storetest.Must[*pgx.Conn](t)(pgx.Connect(ctx, testkit.Postgres(t)))
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) })
	storetest.Must[pgconn.CommandTag](t)(conn.Exec(ctx, `
		INSERT INTO accounts (id, kind, plan) SELECT md5(n::text)::uuid, 'owner', 'pro' FROM generate_series(1, 2000) AS n;
		INSERT INTO usage_periods (account_id, period, requests, billable, hits, refused, refunded, units, plan_units, pack_units, stated)
		SELECT md5(n::text)::uuid, (now() AT TIME ZONE 'UTC')::date - 31 * m, 1, 1, 0, 0, 0, 1, 1, 0, m > 1 AND (n > 1 OR m > 2)
		FROM generate_series(1, 2000) AS n, generate_series(0, 9) AS m;
		INSERT INTO ended_periods (account_id, period, starts_at, ends_at, plan, cut_at)
		SELECT md5(n::text)::uuid, (now() AT TIME ZONE 'UTC')::date - 31 * m, now() - interval '400 days', now() - interval '9 days', 'pro', now() - interval '9 days'
		FROM generate_series(2, 2000) AS n, generate_series(1, 9) AS m WHERE m > 1 OR n = 2;
		INSERT INTO statements (account_id, period, starts_at, ends_at, requests, billable, hits, refused, refunded, units, plan_units, pack_units, content, content_hash)
		SELECT account_id, period, now() - interval '1 day', now(), 1, 1, 0, 0, 0, 1, 1, 0, 'x', sha256('x') FROM usage_periods WHERE stated`))
	storetest.Must[pgconn.CommandTag](t)(conn.Exec(ctx, "ANALYZE"))
	source := storetest.Must[[]byte](t)(os.ReadFile("queries/backlog.sql"))
	_, query, _ := strings.Cut(string(source), "-- name: CountLateStatements :one\n")
	query, _, _ = strings.Cut(query, ";")
	query = strings.ReplaceAll(query, "sqlc.arg(late_seconds)", "93600")
	var late int
	if err := conn.QueryRow(ctx, query).Scan(&late); err != nil || late != 2 {
		t.Errorf("%d are late, %v: want the old one without a statement, and the one that was cut", late, err)
	}
	rows, err := conn.Query(ctx, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) "+query)
	plan := storetest.Must[[]string](t)(pgx.CollectRows(rows, pgx.RowTo[string]))
	text := strings.Join(plan, "\n")
	require.NoError(t, err)
	expect.NotContains(t, text, "Seq Scan")
	expect.Contains(t, text, "usage_periods_unstated")
}

func TestBacklog_ReportsASettlementThatIsNotFinalInTime(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, digest := account.NewKeyID(), sha256.Sum256([]byte("credential"))
	granted := storetest.Must[paymentdb.Settlement](t)(s.GrantSettlement(ctx, paymentdb.Grant{
		ID: x402.ID{Chain: 8453, Tx: x402.TxHash{1}, Payer: wallet.Address{1}}, Deal: x402.Deal{
			Tier: plan.Cheap, Country: "US", Paid: 4_500, Net: 4_500, Units: 1000 * plan.Unit,
		},
		Found:      x402.Finding{Paid: 4_500, Block: 7, BlockHash: x402.TxHash{1}, Time: 1_700_000_000},
		Credential: paymentdb.Credential{Key: id, Digest: digest, Prefix: "cap_12345678"}, At: time.Now(),
	}))
	for final, want := range map[time.Duration]int64{time.Hour: 0, -time.Hour: 1} {
		if b := storetest.Must[*store.Backlog](t)(s.LoadBacklog(ctx, final)); b.Unconfirmed != want ||
			b.RecentSettlements[granted.Stage] != 1 {
			t.Errorf("%d are late to be final after %s, want %d; recent: %v", b.Unconfirmed, final, want,
				b.RecentSettlements)
		}
	}
}
