package chaos_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/internal/devstack/process"
	"github.com/chainaccess/gateway/internal/testkit"
)

// site holds the servers of one deployment and their addresses in the environment. No process runs
// at first.
type site struct {
	t   *testing.T
	dir string
	env map[string]string
}

// on replaces one of the site's servers.
func (s *site) on(variable, value string) *site {
	s.env[variable] = value
	return s
}

func newSite(t *testing.T) *site {
	t.Helper()
	program(t) // takes long the first time
	s := &site{t: t, dir: t.TempDir()}
	file := filepath.Join(s.dir, "upstreams.yaml")
	if err := os.WriteFile(file,
		[]byte(`chains: {eth_mainnet: {upstreams: [{name: a, url: "`+testkit.Upstream(t).URL+`"}]}}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	s.env = map[string]string{
		"DATABASE_URL": testkit.Postgres(t), "REDIS_URL": testkit.Redis(t).URL,
		"TEMPORAL_ADDRESS": testkit.ClosedAddress(t), "KEY_PEPPER": flowPepper, "UPSTREAMS_FILE": file,
		"METRICS_ADDRESS": "127.0.0.1:0", "DRAIN_DELAY": "0s", "DRAIN_TIMEOUT": "10s",
	}
	return s
}

// environment returns the site's environment with changes.
func (s *site) environment(changes ...string) []string {
	env := os.Environ()
	for name, value := range s.env {
		env = append(env, name+"="+value)
	}
	return append(env, changes...)
}

// run runs a command until it exits, and kills it after patience.
func (s *site) run(args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(s.t), args...) //nolint:gosec // built by the harness
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = s.environment("LISTEN_ADDRESS="+ownHost()+":8080"), &out, &errs
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		s.t.Fatalf("%v: %v", args, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// refused checks that a command exits with an error of one sentence that contains every wanted
// word. Roles may log lines before it.
func (s *site) refused(what string, args []string, want ...string) {
	s.t.Helper()
	code, _, errs := s.run(args...)
	lines := strings.Split(strings.TrimSpace(errs), "\n")
	last := lines[len(lines)-1]
	if code != 1 || !strings.HasPrefix(last, "gateway: ") {
		s.t.Errorf("%s: %v ended with exit code %d and %q, want 1 and a sentence", what, args, code, errs)
	}
	for _, word := range want {
		if !strings.Contains(last, word) {
			s.t.Errorf("%s: %v says %q, which lacks %q", what, args, last, word)
		}
	}
}

// begin starts a role, and waits until an API process answers.
func (s *site) begin(name string) *role {
	s.t.Helper()
	p := &role{name: name}
	var changes []string
	if name == "serve" {
		p.address = ownHost() + ":8080"
		changes = []string{"LISTEN_ADDRESS=" + p.address}
	}
	var err error
	p.Process, err = process.Start(process.Spec{
		Name: name, Path: program(s.t), Args: []string{name}, Env: s.environment(changes...), Dir: s.dir,
		LogFile: filepath.Join(s.dir, name+".log"), Stop: []syscall.Signal{syscall.SIGTERM}, Grace: 30 * time.Second,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = p.Kill() })
	if name != "serve" {
		return p
	}
	testkit.Eventually(s.t, patience, func() bool {
		select {
		case <-p.Exited():
			s.t.Fatalf("serve ended by itself: %s", p.Tail(5))
		default:
		}
		return s.get(p, "/healthz") == http.StatusOK
	}, "serve answers: %s", p.Tail(5))
	return p
}

// get requests a path of an API process and returns the status; 0 when there is no answer.
func (s *site) get(p *role, path string) int {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, p.url()+path, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// stop stops a role cleanly.
func (s *site) stop(p *role) {
	s.t.Helper()
	if err := p.Stop(s.t.Context()); err != nil {
		s.t.Errorf("%s: %v: %s", p.name, err, p.Tail(5))
	}
}

// alter runs a statement in the database.
func (s *site) alter(statement string, args ...any) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.env["DATABASE_URL"])
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close(s.t.Context()) }()
	if _, err := conn.Exec(s.t.Context(), statement, args...); err != nil {
		s.t.Fatal(err)
	}
}

// opensRecord are commands that use PostgreSQL.
var opensRecord = [][]string{
	{"serve"},
	{"worker"},
	{"ops", "account", "show", "0198c5a2-7c1e-7b3f-9d21-3f0c5b7a9e11"},
	{"ops", "tickets", "list"},
}

func TestStart_RefusesASchemaThatIsNotThePrograms(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, change, want string }{
		{"empty", "DROP TABLE goose_db_version", "gateway migrate up"},
		{
			"older", "DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)",
			"older than this program: run `gateway migrate up`",
		},
		{
			"newer", "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)",
			"newer than this program: deploy the version that migrated it",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSite(t)
			s.alter(tc.change)
			for _, args := range opensRecord {
				s.refused("a schema that is "+tc.name, args, "DATABASE_URL", tc.want)
			}
		})
	}
}

func TestStart_RefusesAnotherPepper(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.stop(s.begin("serve"))
	right := s.env["KEY_PEPPER"]
	s.env["KEY_PEPPER"] = strings.Repeat("another ", 5)
	for _, args := range slices.Concat(opensRecord[:2], [][]string{{"ops", "waitlist", "remove", "a@example.org"}}) {
		s.refused("another pepper", args, "KEY_PEPPER", "give the one from before")
	}
	s.env["KEY_PEPPER"] = right
	s.stop(s.begin("serve"))
}
