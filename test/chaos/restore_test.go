package chaos_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// restored is a deployment whose PostgreSQL is restored to an earlier state while its API runs and
// Redis is kept.
type restored struct {
	*site

	postgres *testkit.PostgresServer
	api      *role
	keys     [2]string
	accounts [2]string
}

const suspendedCode = -32009

// restore creates two accounts, backs up PostgreSQL, changes both accounts so that Redis has higher
// versions than the backup, and restores the backup. Afterwards the first account is active in
// both; the second one is suspended in Redis and active in the backup.
func restore(t *testing.T, pointInTime bool) *restored {
	t.Helper()
	r := &restored{site: newSite(t), postgres: testkit.OwnPostgres(t)}
	r.on("DATABASE_URL", r.postgres.URL).on("PUBLIC_URL", "http://localhost")
	r.api = r.begin("serve")
	for i := range r.keys {
		var made struct{ Key string }
		if err := json.Unmarshal(r.post("/keys", "", ""), &made); err != nil || made.Key == "" {
			t.Fatalf("no key was made: %v", err)
		}
		r.keys[i], r.accounts[i] = made.Key, r.accountOf(made.Key[:12])
		r.is(i, 0)
	}
	r.postgres.BackUp(t)
	r.change(0, "suspend", 0)
	r.is(0, suspendedCode)
	r.change(0, "resume", 0)
	r.is(0, 0)
	r.change(1, "suspend", 0)
	r.is(1, suspendedCode)
	r.postgres.Restore(t, pointInTime)
	return r
}

// post returns the API's answer.
func (r *restored) post(path, key, body string) []byte {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.api.url()+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return text
}

func (r *restored) accountOf(prefix string) (id string) {
	r.t.Helper()
	conn, err := pgx.Connect(r.t.Context(), r.postgres.URL)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = conn.Close(r.t.Context()) }()
	if err := conn.QueryRow(r.t.Context(), "SELECT account_id::text FROM keys WHERE prefix = $1",
		prefix).Scan(&id); err != nil {
		r.t.Fatal(err)
	}
	return id
}

// code returns the error code of an account's call; 0 for a result. The method needs no upstream.
func (r *restored) code(of int) int {
	r.t.Helper()
	var answer struct {
		Result json.RawMessage
		Error  struct{ Code int }
	}
	text := r.post("/rpc/eth_mainnet", r.keys[of], `{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}`)
	if err := json.Unmarshal(text, &answer); err != nil || (answer.Result == nil && answer.Error.Code == 0) {
		r.t.Fatalf("the answer is %s (%v)", text, err)
	}
	return answer.Error.Code
}

// is checks the result of an account's call.
func (r *restored) is(of, want int) {
	r.t.Helper()
	if got := r.code(of); got != want {
		r.t.Errorf("a call of account %d comes to %d, want %d", of, got, want)
	}
}

// change changes an account with a command that must exit with code want, and returns its output.
func (r *restored) change(of int, what string, want int, flags ...string) string {
	r.t.Helper()
	code, out, errs := r.run(append([]string{"ops", "account", what, r.accounts[of], "--reason", "a restore"},
		flags...)...)
	if code != want {
		r.t.Errorf("%s ended with exit code %d, want %d: %q, %q", what, code, want, out, errs)
	}
	return out + errs
}

func TestRestore_ToAPointInTimeWinsOverRedis(t *testing.T) {
	t.Parallel()
	r := restore(t, true)
	if said := r.change(0, "suspend", 0); !strings.Contains(said, "is suspended") {
		t.Errorf("suspend said %q", said)
	}
	r.is(0, suspendedCode) // as soon as the command has returned
	r.change(0, "resume", 0)
	r.is(0, 0)
	if said := r.change(0, "set-enterprise", 0, "--quota", "5", "--rate", "100", "--per", "1s"); !strings.Contains(said,
		"is on plan enterprise") {
		t.Errorf("set-enterprise said %q", said)
	}
	// An account that is not changed again is in the state of PostgreSQL, too.
	r.is(1, 0)
	r.change(1, "suspend", 0)
	r.is(1, suspendedCode)
}

func TestRestore_OfASnapshotIsToldAndRecovered(t *testing.T) {
	t.Parallel()
	r := restore(t, false)
	for _, said := range []string{
		r.change(0, "suspend", 3), // a lower version than in Redis
		r.change(0, "set-enterprise", 3, "--quota", "5", "--rate", "100", "--per",
			"1s"), // the same version with another content
		r.change(1, "set-enterprise", 3, "--quota", "5", "--rate", "100", "--per", "1s"),
	} {
		if !strings.Contains(said, "saved, but not in force yet") || !strings.Contains(said, "gateway ops recover") {
			t.Errorf("a change that is not in force said %q", said)
		}
	}
	r.is(0, 0) // still the state in Redis
	r.is(1, suspendedCode)
	code, out, errs := r.run("ops", "recover")
	in := expect.In(t, "ops recover ended")
	require.Equal(in, code, 0, errs)
	require.HasPrefix(in, out, "epoch ", errs)
	require.Contains(in, out, "are reloaded from PostgreSQL", errs)
	r.is(0, suspendedCode)
	r.is(1, 0)
	r.change(0, "resume", 0)
	r.is(0, 0)
	r.change(1, "suspend", 0)
	r.is(1, suspendedCode)
	// The same snapshot again: Redis now has a later epoch, so no process starts without an error.
	r.postgres.Restore(t, false)
	for _, args := range opensRedis {
		r.refused("an older PostgreSQL", args, "DATABASE_URL", "gateway ops recover")
	}
	if code, out, errs := r.run("ops", "recover"); code != 0 {
		t.Fatalf("ops recover ended with exit code %d: %q, %q", code, out, errs)
	}
	r.change(0, "suspend", 0)
	r.is(0, suspendedCode)
	r.is(1, 0)
}
