package testkit_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/internal/testkit"
)

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func TestPostgres_EachTestHasAMigratedDatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "b", "c"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, testkit.Postgres(t))
			// Every test uses this name, which would clash in a shared database.
			if _, err := conn.Exec(t.Context(), `CREATE TABLE mine (n int)`); err != nil {
				t.Fatal(err)
			}
			var applied int
			if err := conn.QueryRow(t.Context(), `SELECT max(version_id) FROM goose_db_version`).Scan(
				&applied); err != nil || applied < 1 {
				t.Errorf("migrations up to %d (%v), want all", applied, err)
			}
		})
	}
}

func TestOwnPostgres_KeepsCommitsOverAnImmediateStop(t *testing.T) {
	t.Parallel()
	server := testkit.OwnPostgres(t)
	conn := connect(t, server.URL)
	if _, err := conn.Exec(t.Context(), `CREATE TABLE kept (n int)`); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		if _, err := conn.Exec(t.Context(), `INSERT INTO kept VALUES ($1)`, n); err != nil {
			t.Fatal(err)
		}
		server.Stop(t)
		if err := conn.Ping(t.Context()); err == nil {
			t.Error("a session outlived the server")
		}
		server.Start(t)
		conn = connect(t, server.URL)
	}
	var kept int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM kept`).Scan(&kept); err != nil || kept != 3 {
		t.Errorf("%d rows are there (%v), want 3", kept, err)
	}
}

func TestPostgres_DatabaseIsDroppedWithItsTest(t *testing.T) { //nolint:tparallel // it looks at what the inner test left
	t.Parallel()
	var url string
	t.Run("inner", func(t *testing.T) { //nolint:paralleltest // the outer test looks at what it left
		url = testkit.EmptyPostgres(t)
		connect(t, url)
	})
	if _, err := pgx.Connect(t.Context(), url); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("connecting gave %v, want an error that says the database does not exist", err)
	}
}

func redisClient(t *testing.T, r *testkit.RedisServer) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(opts)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestRedis_AppendOnlyKeepsWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	r := testkit.Redis(t, testkit.WithAppendOnly())
	if err := redisClient(t, r).Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	r.Kill(t)
	r.Start(t)
	if got, err := redisClient(t, r).Get(t.Context(), "k").Result(); err != nil || got != "v" {
		t.Errorf("got %q (%v), want v", got, err)
	}
}

func TestRedis_ForgetsAtARestart(t *testing.T) {
	t.Parallel()
	r := testkit.Redis(t)
	if err := redisClient(t, r).Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	r.Restart(t)
	if err := redisClient(t, r).Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("got %v, want nothing", err)
	}
}

func TestRedis_KilledRefusesConnections(t *testing.T) {
	t.Parallel()
	r := testkit.Redis(t)
	r.Kill(t)
	c := redis.NewClient(&redis.Options{Addr: r.Addr, MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Ping(t.Context()).Err(); err == nil {
		t.Error("the killed server answered")
	}
}

func TestRedis_PausedAnswersAfterResume(t *testing.T) {
	t.Parallel()
	r := testkit.Redis(t)
	c := redisClient(t, r)
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	r.Pause(t)
	answered := make(chan error, 1)
	go func() { answered <- c.Do(t.Context(), "ping").Err() }()
	select {
	case err := <-answered:
		t.Errorf("the paused server answered: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	r.Resume(t)
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func TestTemporal_EachTestHasANamespaceOfItsOwn(t *testing.T) {
	t.Parallel()
	stage := temporal.NewSearchAttributeKeyKeyword("Stage")
	for _, name := range []string{"a", "b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testkit.Temporal(t)
			c := s.Dial(t)
			w := worker.New(c, "queue", worker.Options{})
			w.RegisterWorkflowWithOptions(func(ctx workflow.Context) (string, error) {
				return name, workflow.UpsertTypedSearchAttributes(ctx, stage.ValueSet(name))
			}, workflow.RegisterOptions{Name: "echo"})
			if err := w.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(w.Stop)
			run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "same", TaskQueue: "queue"},
				"echo")
			if err != nil {
				t.Fatal(err)
			}
			var got string
			if err := run.Get(t.Context(), &got); err != nil || got != name {
				t.Errorf("got %q (%v), want %q", got, err, name)
			}
			testkit.Eventually(t, 20*time.Second, func() bool {
				res, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
					Namespace: s.Namespace, Query: "Stage = '" + name + "'",
				})
				return err == nil && len(res.GetExecutions()) == 1
			}, "the workflow is found by its stage")
		})
	}
}

func TestCluster_ServesEverySlotAndOutlivesANode(t *testing.T) {
	t.Parallel()
	c := testkit.RedisCluster(t, testkit.WithAppendOnly())
	clients := make([]*redis.Client, len(c.Nodes))
	for i, n := range c.Nodes {
		clients[i] = redisClient(t, n)
	}
	for _, key := range []string{"{u0001}:a", "{u0002}:a", "{u0003}:a", "{u0004}:a", "{u0005}:a", "{u0006}:a"} {
		node := c.NodeOf(t, key)
		for i, n := range c.Nodes {
			err := clients[i].Set(t.Context(), key, "v", 0).Err()
			if _, moved := redis.IsMovedError(err); moved == (n == node) || (n == node && err != nil) {
				t.Errorf("%s said %v to %s, which %s serves", n.Addr, err, key, node.Addr)
			}
		}
	}
	node := c.NodeOf(t, "{u0001}:a")
	node.Kill(t)
	for i, n := range c.Nodes {
		if err := clients[i].Ping(t.Context()).Err(); n != node && err != nil {
			t.Errorf("%s said %v when another was killed", n.Addr, err)
		}
	}
	node.Start(t)
	c.AwaitWhole(t)
	if got, err := redisClient(t, node).Get(t.Context(), "{u0001}:a").Result(); err != nil || got != "v" {
		t.Errorf("got %q (%v) after the restart, want v", got, err)
	}
}
