package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/migrations"
	"github.com/chainaccess/gateway/store"
)

func openAt(t *testing.T, url string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// alter runs an SQL statement.
func alter(t *testing.T, url, statement string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

func TestCheckSchema_SaysWhichSideIsOlder(t *testing.T) {
	t.Parallel()
	all := migrations.Versions()
	newest := all[len(all)-1]
	for _, tc := range []struct {
		name, url, change string
		args              []any
		want              error
	}{
		{name: "as the program's", url: testkit.Postgres(t)},
		{name: "empty", url: testkit.EmptyPostgres(t), want: store.ErrSchemaEmpty},
		{
			name: "the newest is pending", url: testkit.Postgres(t),
			change: "DELETE FROM goose_db_version WHERE version_id = $1", args: []any{newest},
			want: store.ErrSchemaOlder,
		},
		{
			name: "one in between is pending", url: testkit.Postgres(t),
			change: "DELETE FROM goose_db_version WHERE version_id = $1", args: []any{all[3]},
			want: store.ErrSchemaOlder,
		},
		{
			name: "one more was applied", url: testkit.Postgres(t),
			change: "INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, true)", args: []any{newest + 1},
			want: store.ErrSchemaNewer,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.change != "" {
				alter(t, tc.url, tc.change, tc.args...)
			}
			err := openAt(t, tc.url).CheckSchema(t.Context())
			if !errors.Is(err, tc.want) {
				t.Errorf("%v, want %v", err, tc.want)
			}
		})
	}
}

func TestCheckPepper_KnowsTheFirstAgain(t *testing.T) {
	t.Parallel()
	s := openAt(t, testkit.Postgres(t))
	hasher := func(letter string) *account.Hasher {
		h, err := account.NewHasher([]byte(strings.Repeat(letter, account.MinPepperBytes)))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	for i, tc := range []struct {
		pepper string
		want   error
	}{{"a", nil}, {"b", store.ErrPepper}, {"a", nil}} {
		t.Run(tc.pepper, func(t *testing.T) {
			if err := s.CheckPepper(t.Context(), hasher(tc.pepper)); !errors.Is(err, tc.want) {
				t.Errorf("start %d: %v, want %v", i, err, tc.want)
			}
		})
	}
}

func TestReadDeployment_BeginsAnEpochWithAnotherServer(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	s, other := openAt(t, url), openAt(t, url)
	read := func(s *store.Store) store.Deployment {
		t.Helper()
		d, err := s.ReadDeployment(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Epoch() != d.Epoch {
			t.Errorf("the epoch is %d, and %d was read", s.Epoch(), d.Epoch)
		}
		return d
	}
	first := read(s)
	in := expect.In(t, "the first look")
	expect.Equal(in, first.Epoch, 0)
	expect.False(in, first.Begun)
	expect.Equal(in, read(other).ID, first.ID)
	for range 2 { // each epoch is later than the previous one
		before := read(s).Epoch
		alter(t, url, "UPDATE deployment SET server = '7000000000000000000/00000001'")
		begun := read(s)
		in := expect.In(t, "another server")
		expect.True(in, begun.Begun)
		expect.Greater(in, begun.Epoch, before)
		expect.Equal(in, begun.ID, first.ID)
		if again := read(other); again.Begun || again.Epoch != begun.Epoch {
			t.Errorf("another process begins %+v after %+v", again, begun)
		}
	}
	present := read(s).Epoch
	told, err := s.BeginEpoch(t.Context(), present+1_000_000)
	require.NoError(t, err)
	expect.AtLeast(t, told.Epoch, present+1_000_000)
	expect.Equal(t, read(s).Epoch, told.Epoch)
}
