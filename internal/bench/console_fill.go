package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// The size of the account whose pages are measured: consoleKeys × consoleHours × consoleWords are a
// million rows of usage.
const (
	consoleKeys       = 100
	consoleHours      = 720
	consoleWords      = 14 // lines per key and hour
	consoleTickets    = 10_000
	consoleStatements = 300
	consoleCalls      = 20_000 // call records, of which one in ten failed
)

// visited is an account with the ids that addresses of its pages contain.
type visited struct {
	account account.ID
	keys    []account.KeyID
	session string // the cookie's value
	closed  string // a period with a closed statement
	open    string // the current period
	ticket  string
	request uuid.UUID // of a call that failed
}

// fillConsole creates an account with data for all of its pages.
func fillConsole(ctx context.Context, s *store.Store, conn *pgx.Conn, now time.Time) (*visited, error) {
	v := &visited{account: account.NewID(), request: uuid.Must(uuid.NewV7())}
	if _, err := s.CreateAccount(ctx, accountdb.NewAccount{
		ID: v.account, Kind: accountdb.KindOwner, Plan: plan.Growth,
	}); err != nil {
		return nil, err
	}
	for _, fill := range []func(context.Context, *store.Store, *pgx.Conn, time.Time) error{
		v.people, v.holders, v.usage, v.calls, v.tickets, v.statements,
	} {
		if err := fill(ctx, s, conn, now); err != nil {
			return nil, err
		}
	}
	_, err := conn.Exec(ctx, "VACUUM ANALYZE")
	return v, err
}

// people creates the owner and a session.
func (v *visited) people(ctx context.Context, _ *store.Store, conn *pgx.Conn, now time.Time) error {
	hasher, err := account.NewHasher([]byte(benchPepper))
	if err != nil {
		return err
	}
	token, err := account.MintSessionToken(rand.Reader)
	if err != nil {
		return err
	}
	user, digest := account.NewUserID(), token.Digest(hasher)
	v.session = token.Reveal()
	for _, insert := range []struct {
		sql  string
		args []any
	}{
		{"UPDATE accounts SET created_at = $2 WHERE id = $1", []any{v.account.UUID, now.AddDate(-1, 0, 0)}},
		{"INSERT INTO users (id, email, email_key, created_at) VALUES ($1, 'owner@bench.example', " +
			"'owner@bench.example', $2)", []any{user.UUID, now}},
		{
			"INSERT INTO members (account_id, user_id, role, joined_at, last_used_at) VALUES ($1, $2, 'owner', $3, $3)",
			[]any{v.account.UUID, user.UUID, now},
		},
		{`INSERT INTO sessions (digest, id, user_id, account_id, network, user_agent, created_at, last_seen_at, expires_at)
			VALUES ($1, $2, $3, $4, '127.0.0.1', 'bench', $5::timestamptz, $5::timestamptz, $5::timestamptz + interval '1 day')`, []any{digest[:], uuid.Must(uuid.NewV7()), user.UUID, v.account.UUID, now}},
	} {
		if _, err := conn.Exec(ctx, insert.sql, insert.args...); err != nil {
			return err
		}
	}
	return nil
}

func (v *visited) holders(ctx context.Context, s *store.Store, _ *pgx.Conn, _ time.Time) error {
	for n := range consoleKeys {
		id := account.NewKeyID()
		digest := make([]byte, 32) // no call uses it
		copy(digest, id.UUID[:])
		_, err := s.CreateKey(ctx, accountdb.NewKey{
			ID: id, Account: v.account, Digest: digest, Prefix: fmt.Sprintf("cag_%08d", n),
			Name: fmt.Sprintf("service %d", n), Door: account.DoorAccount, Daily: account.Unlimited,
		})
		if err != nil {
			return err
		}
		v.keys = append(v.keys, id)
	}
	return nil
}

// usage is flushed hour by hour, so that the hourly sums are those that a flusher would write.
func (v *visited) usage(ctx context.Context, s *store.Store, _ *pgx.Conn, now time.Time) error {
	begin := now.UTC().Truncate(time.Hour).Add((1 - consoleHours) * time.Hour)
	for hour := range consoleHours {
		at := begin.Add(time.Duration(hour) * time.Hour)
		start, _ := plan.CalendarMonth(at)
		bucket := account.UsageBucket{
			Shard: account.Shard(v.account), Slot: at, Account: v.account, Generation: "bench",
		}
		for n, key := range v.keys {
			for word := range consoleWords {
				bucket.Lines = append(bucket.Lines, consoleLine(start.Format(time.DateOnly), key, n, word))
			}
			for word := range 4 {
				bucket.Latencies = append(bucket.Latencies, account.LatencyLine{
					Key: key, Chain: string(consoleChain(n + word/2)), Service: string(account.RPC), Class: "standard",
					Outcome: []string{"ok", "hit"}[word%2],
					Bucket:  account.LatencyBucketOf(time.Duration(1+(hour*7+n+word*13)%400) * time.Millisecond),
					Calls:   9,
				})
			}
		}
		if err := s.CommitUsage(ctx, []account.UsageBucket{bucket}); err != nil {
			return err
		}
	}
	return s.SaveWatermarks(ctx, map[int]time.Time{account.Shard(v.account): now.UTC().Truncate(time.Hour)})
}

func consoleChain(n int) chain.ID {
	return []chain.ID{
		chain.EthMainnet, chain.BaseMainnet, chain.ArbitrumOne, chain.OptimismMainnet, chain.PolygonPoS,
		chain.SolanaMainnet,
	}[n%6]
}

// consoleLine returns one of the lines of a key in an hour: eight that are charged, four cache hits
// and two refusals, of thirty methods on all chains.
func consoleLine(period string, key account.KeyID, n, word int) account.UsageLine {
	l := account.UsageLine{
		Period: period, Key: key, Chain: string(consoleChain(n + word)), Service: string(account.RPC),
		Method: fmt.Sprintf("eth_method%d", (word*7+n)%30), Class: "standard", Tier: "balanced",
		Requests: int64(1 + word%7),
	}
	if word%4 == 0 {
		l.Class = "heavy"
	}
	switch {
	case word < 8:
		l.Outcome, l.Source, l.Units = "ok", account.SourcePlan, plan.Units(l.Requests)*plan.Unit
	case word < 12:
		l.Outcome = "hit"
	case word == 12:
		l.Outcome = "rate_window"
	default:
		l.Outcome = "upstream_timeout"
	}
	return l
}

func (v *visited) calls(ctx context.Context, s *store.Store, _ *pgx.Conn, now time.Time) error {
	calls := make([]usagedb.Call, consoleCalls)
	for n := range calls {
		calls[n] = usagedb.Call{
			RequestID: uuid.Must(uuid.NewV7()), StartedAt: now.Add(-time.Duration(n) * time.Minute), Account: v.account,
			Key: v.keys[n%len(v.keys)], Chain: consoleChain(n), Service: string(account.RPC), Method: "eth_call",
			Class: "standard", Tier: "balanced", Outcome: "ok", HTTPStatus: 200, Units: plan.Unit,
			Duration: time.Millisecond,
		}
		if n%10 == 0 {
			calls[n].Outcome, calls[n].HTTPStatus, calls[n].Units = "rate_window", 429, 0
		}
	}
	calls[0].RequestID = v.request
	return s.CopyCalls(ctx, calls)
}

// tickets creates tickets of all statuses, each with a message and an answer.
func (v *visited) tickets(ctx context.Context, _ *store.Store, conn *pgx.Conn, now time.Time) error {
	_, err := conn.Exec(ctx,
		`INSERT INTO tickets (account_id, subject, category, priority, channel, status, gathers, evidence, messages, created_at, last_activity_at,
			resolved_at, closed_at)
		SELECT $1, 'Calls are refused since ' || n, 'incident', 'normal', 'dashboard', status, false, '{}', 2, $2::timestamptz - n * interval '1 hour', $2::timestamptz - n * interval '1 hour',
			CASE WHEN status IN ('resolved', 'closed') THEN $2::timestamptz END, CASE WHEN status = 'closed' THEN $2::timestamptz END
		FROM generate_series(1, $3::integer) AS n, LATERAL (SELECT (ARRAY['open', 'waiting_customer', 'resolved', 'closed'])[1 + n % 4] AS status) AS s`,
		v.account.UUID, now, consoleTickets)
	if err != nil {
		return err
	}
	if _, err = conn.Exec(ctx, `INSERT INTO ticket_messages (ticket, place, author, body, at)
		SELECT number, place, CASE place WHEN 1 THEN 'customer' ELSE 'operator' END, repeat('What happens, since when, and what was tried. ', 12), created_at
		FROM tickets, generate_series(1, 2) AS place WHERE account_id = $1`, v.account.UUID); err != nil {
		return err
	}
	return conn.QueryRow(ctx, "SELECT 'CAG-' || max(number) FROM tickets WHERE account_id = $1",
		v.account.UUID).Scan(&v.ticket)
}

// statements closes the previous month from its usage, and adds old statements, which only the list
// reads.
func (v *visited) statements(ctx context.Context, s *store.Store, conn *pgx.Conn, now time.Time) error {
	start, _ := plan.CalendarMonth(now)
	v.open, v.closed = start.Format(time.DateOnly), start.AddDate(0, -1, 0).Format(time.DateOnly)
	held, err := s.LoadAccount(ctx, v.account)
	if err != nil {
		return err
	}
	compiler := &statement.Compiler{Store: s, Now: func() time.Time { return now }}
	if _, err := compiler.Close(ctx, []accountdb.Account{held}, statement.Only(v.closed)); err != nil {
		return err
	}
	_, err = conn.Exec(ctx,
		`INSERT INTO statements (account_id, period, starts_at, ends_at, requests, billable, hits, refused, refunded, units, plan_units, pack_units,
			content, content_hash)
		SELECT $1, m.start AS period, m.start AS starts_at, m.start + interval '1 month', 10, 10, 0, 0, 0, 10000, 10000, 0, '{}'::bytea, sha256('{}'::bytea)
		FROM generate_series(1, $3::integer - 1) AS n, LATERAL (SELECT $2::date - (n + 1) * interval '1 month' AS start) AS m`, v.account.UUID, start, consoleStatements)
	return err
}
