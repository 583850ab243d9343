package expect_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// recorder records what an assertion reports.
type recorder struct {
	testing.TB
	said  []string
	ended bool
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	r.ended = true
}

type point struct{ x, y int }

var (
	errNoRoute = errors.New("no route")
	status     = 404
	owner      = "alice"
	where      = point{1, 2}
	there      = &point{1, 2}
	rows       = []int{7}
	names      = map[string]int{"a": 1}
	wait       = 3 * time.Second
	errWrapped = fmt.Errorf("read: %w", io.EOF)
	nowhere    *point
	nothing    error
	long       = strings.Repeat("x", 100_000)
)

// assertions has two assertions of each kind, one that holds and one that fails, with what the
// latter says.
var assertions = map[string]struct {
	holds, fails func(t *recorder)
	says         string
}{
	"Equal": {
		func(t *recorder) { expect.Equal(t, status, 404) },
		func(t *recorder) { expect.Equal(t, status, 200) }, "status = 404, want 200",
	},
	"Equal of texts": {
		func(t *recorder) { expect.Equal(t, owner, "alice") },
		func(t *recorder) { expect.Equal(t, owner, "bob") }, `owner = "alice", want "bob"`,
	},
	"Equal of durations": {
		func(t *recorder) { expect.Equal(t, wait, 3*time.Second) },
		func(t *recorder) { expect.Equal(t, wait, time.Second) }, "wait = 3s, want 1s",
	},
	"Equal of structs": {
		func(t *recorder) { expect.Equal(t, where, point{1, 2}) },
		func(t *recorder) { expect.Equal(t, where, point{1, 3}) }, "where differs (-want +got):",
	},
	"Equal of interfaces": {
		func(t *recorder) { expect.Equal[any](t, status, 404) },
		func(t *recorder) { expect.Equal[any](t, status, "404") }, `status = 404, want "404"`,
	},
	"Equal on several lines": {
		func(t *recorder) { expect.Equal(t, status, 404) },
		func(t *recorder) {
			expect.Equal(t,
				status+
					1,
				200)
		}, "status + 1 = 405, want 200",
	},
	"Equal with values": {
		func(t *recorder) { expect.Equal(t, status, 404, owner) },
		func(t *recorder) { expect.Equal(t, status, 200, owner, there) },
		"status = 404, want 200\nowner = \"alice\"\nthere = &{x:1 y:2}",
	},
	"NotEqual": {
		func(t *recorder) { expect.NotEqual(t, owner, "") },
		func(t *recorder) { expect.NotEqual(t, owner, "alice") }, `owner = "alice", want another value`,
	},
	"EqualSlices": {
		func(t *recorder) { expect.EqualSlices(t, rows, []int{7}) },
		func(t *recorder) { expect.EqualSlices(t, rows, []int{8}) }, "rows = [7], want [8]",
	},
	"EqualMaps": {
		func(t *recorder) { expect.EqualMaps(t, names, map[string]int{"a": 1}) },
		func(t *recorder) { expect.EqualMaps(t, names, nil) }, "names = map[a:1], want nil",
	},
	"True": {
		func(t *recorder) { expect.True(t, status > 400) },
		func(t *recorder) { expect.True(t, status > 500, status) }, "status > 500 = false, want true\nstatus = 404",
	},
	"False": {
		func(t *recorder) { expect.False(t, status > 500) },
		func(t *recorder) { expect.False(t, status > 400) }, "status > 400 = true, want false",
	},
	"Contains": {
		func(t *recorder) { expect.Contains(t, owner, "lic") },
		func(t *recorder) { expect.Contains(t, owner, "x") }, `owner lacks "x": alice`,
	},
	"NotContains": {
		func(t *recorder) { expect.NotContains(t, owner, "x") },
		func(t *recorder) { expect.NotContains(t, owner, "lic") }, `owner has "lic": alice`,
	},
	"HasPrefix": {
		func(t *recorder) { expect.HasPrefix(t, owner, "al") },
		func(t *recorder) { expect.HasPrefix(t, owner, "b") }, `owner = "alice", want the prefix "b"`,
	},
	"HasSuffix": {
		func(t *recorder) { expect.HasSuffix(t, owner, "ce") },
		func(t *recorder) { expect.HasSuffix(t, owner, "b") }, `owner = "alice", want the suffix "b"`,
	},
	"NoError": {
		func(t *recorder) { expect.NoError(t, nothing) },
		func(t *recorder) { expect.NoError(t, errNoRoute) }, "errNoRoute: no route",
	},
	"Error": {
		func(t *recorder) { expect.Error(t, errNoRoute) },
		func(t *recorder) { expect.Error(t, nothing) }, "nothing = nil, want an error",
	},
	"ErrorIs": {
		func(t *recorder) { expect.ErrorIs(t, errWrapped, io.EOF) },
		func(t *recorder) { expect.ErrorIs(t, errNoRoute, io.EOF) }, "errNoRoute = no route, want EOF",
	},
	"Nil": {
		func(t *recorder) { expect.Nil(t, nowhere) },
		func(t *recorder) { expect.Nil(t, there) }, "there = &{x:1 y:2}, want nil",
	},
	"NotNil": {
		func(t *recorder) { expect.NotNil(t, there) },
		func(t *recorder) { expect.NotNil(t, nowhere) }, "nowhere = nil, want a value",
	},
	"Len": {
		func(t *recorder) { expect.Len(t, rows, 1) },
		func(t *recorder) { expect.Len(t, rows, 2) }, "rows has length 1, want 2: [7]",
	},
	"Empty": {
		func(t *recorder) { expect.Empty(t, rows[1:]) },
		func(t *recorder) { expect.Empty(t, rows) }, "rows has length 1, want none: [7]",
	},
	"NotEmpty": {
		func(t *recorder) { expect.NotEmpty(t, rows) },
		func(t *recorder) { expect.NotEmpty(t, rows[1:]) }, "rows[1:] is empty",
	},
	"Len of nil": {
		func(t *recorder) { expect.Len(t, []int(nil), 0) },
		func(t *recorder) { expect.Len(t, nothing, 2) },
		"nothing = nil, want a slice, map or string of length 2",
	},
	"Empty of nil": {
		func(t *recorder) { expect.Empty(t, []int(nil)) },
		func(t *recorder) { expect.Empty(t, nothing) }, "nothing = nil, want an empty slice, map or string",
	},
	"NotEmpty of nil": {
		func(t *recorder) { expect.NotEmpty(t, owner) },
		func(t *recorder) { expect.NotEmpty(t, nothing) }, "nothing = nil, want a slice, map or string",
	},
	"Len of a number": {
		func(t *recorder) { expect.Len(t, owner, 5) },
		func(t *recorder) { expect.Len(t, status, 5) },
		"status = 404, want a slice, map or string of length 5",
	},
	"AtLeast": {
		func(t *recorder) { expect.AtLeast(t, status, 404) },
		func(t *recorder) { expect.AtLeast(t, status, 405) }, "status = 404, want at least 405",
	},
	"AtMost": {
		func(t *recorder) { expect.AtMost(t, status, 404) },
		func(t *recorder) { expect.AtMost(t, status, 403) }, "status = 404, want at most 403",
	},
	"Greater": {
		func(t *recorder) { expect.Greater(t, status, 403) },
		func(t *recorder) { expect.Greater(t, status, 404) }, "status = 404, want more than 404",
	},
	"Less": {
		func(t *recorder) { expect.Less(t, status, 405) },
		func(t *recorder) { expect.Less(t, status, 404) }, "status = 404, want less than 404",
	},
	"Between, below": {
		func(t *recorder) { expect.Between(t, status, 404, 500) },
		func(t *recorder) { expect.Between(t, status, 405, 500) }, "status = 404, want 405 to 500",
	},
	"Between, above": {
		func(t *recorder) { expect.Between(t, status, 400, 404) },
		func(t *recorder) { expect.Between(t, status, 400, 403) }, "status = 404, want 400 to 403",
	},
	"Equal of long texts": {
		func(t *recorder) { expect.Equal(t, long, long) },
		func(t *recorder) { expect.Equal(t, long, "") }, `long = "xxx`,
	},
	"In": {
		func(t *recorder) { expect.Equal(expect.In(t, "row %d", 3), status, 404) },
		func(t *recorder) { expect.Equal(expect.In(t, "row %d", 3), status, 200) },
		"row 3: status = 404, want 200",
	},
}

func TestAssertions_ReportTheirFactAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, c := range assertions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var good, bad recorder
			c.holds(&good)
			if len(good.said) != 0 {
				t.Errorf("a fact that holds reports %q", good.said)
			}
			c.fails(&bad)
			if len(bad.said) != 1 || !strings.HasPrefix(bad.said[0], c.says) {
				t.Fatalf("said %q, want %q", bad.said, c.says)
			}
			if bad.ended {
				t.Error("the test has ended")
			}
			if n := len(bad.said[0]); n > 10_000 {
				t.Errorf("a message of %d bytes", n)
			}
		})
	}
}

func TestRequire_EndsTheTestAndNamesTheFact(t *testing.T) {
	t.Parallel()
	var good, bad, in recorder
	require.Equal(&good, status, 404)
	if len(good.said) != 0 || good.ended {
		t.Errorf("a fact that holds reports %q", good.said)
	}
	require.Len(&bad, rows, 2, status)
	if want := "rows has length 1, want 2: [7]\nstatus = 404"; !bad.ended || bad.said[0] != want {
		t.Errorf("said %q, want %q and the test's end", bad.said, want)
	}
	require.True(expect.In(&in, "row %d", 3), status < 0)
	if want := "row 3: status < 0 = false, want true"; !in.ended || in.said[0] != want {
		t.Errorf("said %q, want %q and the test's end", in.said, want)
	}
}
