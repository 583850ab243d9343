package logrange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/chainaccess/gateway/internal/testkit/require"
)

// entry returns one log of a block, as nodes write it.
func entry(block, index uint64) string {
	return fmt.Sprintf(`{"address":"0xab","topics":["0x01","0x{}[]"],"data":"0x","blockNumber":"0x%x",`+
		`"transactionHash":"0xcd","blockHash":"0x%064x","logIndex":"0x%x","removed":false}`, block, block, index)
}

func array(entries ...string) []byte { return []byte("[" + strings.Join(entries, ",") + "]") }

func TestChecker_RefusesWhatIsNotTheLogsOfTheRange(t *testing.T) {
	t.Parallel()
	other := strings.Replace(entry(12, 1), fmt.Sprintf("%064x", 12), fmt.Sprintf("%064x", 99), 1)
	for name, row := range map[string]struct {
		body []byte
		ok   bool
	}{
		"none":   {[]byte(" [ ] "), true},
		"within": {array(entry(10, 0), entry(12, 0), entry(12, 1), entry(19, 7)), true},
		"spaces": {[]byte("[ " + entry(10, 0) + " ,\n" + entry(11, 0) + " ]"), true},
		"an escape in a member": {
			array(strings.Replace(entry(10, 0), `"address":"0xab"`, `"a\"]":"\\"`, 1)), true,
		},
		"an unknown member": {
			array(strings.Replace(entry(10, 0), `{`, `{"x":{"blockNumber":"0x1"},`, 1)), true,
		},
		"the hash in another case":      {array(upper(entry(10, 0)), entry(10, 1)), true},
		"before":                        {array(entry(9, 0)), false},
		"after":                         {array(entry(10, 0), entry(20, 0)), false},
		"two blocks of a number":        {array(entry(12, 0), other), false},
		"two blocks of a number, apart": {array(entry(12, 0), entry(13, 0), other), false},
		"no block number": {
			array(strings.Replace(entry(10, 0), `"blockNumber"`, `"block"`, 1)), false,
		},
		"a block number of null":          {array(strings.Replace(entry(10, 0), `"0xa"`, `null`, 1)), false},
		"a block number that is a number": {array(strings.Replace(entry(10, 0), `"0xa"`, `10`, 1)), false},
		"a block number that is too large": {
			array(strings.Replace(entry(10, 0), `"0xa"`, `"0x1000000000000000a"`, 1)), false,
		},
		"no index":           {array(strings.Replace(entry(10, 0), `"logIndex"`, `"index"`, 1)), false},
		"a number":           {[]byte(`"0x1"`), false},
		"null":               {[]byte(`null`), false},
		"an object":          {[]byte(entry(10, 0)), false},
		"an array of hashes": {[]byte(`["0x1"]`), false},
		"an array of arrays": {[]byte(`[[` + entry(10, 0) + `]]`), false},
		"cut":                {array(entry(10, 0), entry(11, 0))[:len(entry(10, 0))+20], false},
		"two arrays":         {[]byte(`[][]`), false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 7, 1 << 20} {
				c := NewChecker(Range{10, 19})
				var err error
				for chunk := range slices.Chunk(row.body, size) {
					if err = c.Feed(chunk); err != nil {
						break
					}
				}
				if err == nil {
					err = c.End()
				}
				if (err == nil) != row.ok || (err != nil && !errors.Is(err, ErrNotOfRange)) {
					t.Errorf("%s in pieces of %d: %v", name, size, err)
				}
			}
		})
	}
}

func upper(entry string) string {
	return strings.Replace(entry, fmt.Sprintf("%064x", 10), fmt.Sprintf("%064X", 10), 1)
}

func TestCheckedReader_StopsBeforeTheLogThatDoesNotBelong(t *testing.T) {
	t.Parallel()
	body := array(entry(10, 0), entry(11, 0), entry(50, 0), entry(12, 0))
	c := NewChecker(Range{10, 19})
	if err := c.Feed(body[:5]); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c.Reader(iotest.OneByteReader(bytes.NewReader(body[5:]))))
	if !errors.Is(err, ErrNotOfRange) {
		t.Errorf("read to the end: %v", err)
	}
	if !bytes.Contains(body, []byte(`"0x32"`)) || len(got) > len(body)-len(entry(12, 0)) {
		t.Errorf("%d bytes were passed on", len(got))
	}
	c = NewChecker(Range{10, 19})
	if _, err := io.ReadAll(c.Reader(strings.NewReader("[" + entry(10, 0)))); !errors.Is(err, ErrNotOfRange) {
		t.Errorf("an array without an end: %v", err)
	}
}

func merged(t *testing.T, parts ...Part) []string {
	t.Helper()
	var all []json.RawMessage
	if err := json.Unmarshal(bytes.Join(Merge(parts), nil), &all); err != nil {
		t.Fatal(err)
	}
	texts := make([]string, len(all))
	for i, l := range all {
		texts[i] = string(l)
	}
	return texts
}

func part(t *testing.T, within Range, entries ...string) Part {
	t.Helper()
	p, err := ReadPart(array(entries...), within)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMerge_HasEachLogOnceInTheOrderOfBlocksAndIndexes(t *testing.T) {
	t.Parallel()
	got := merged(t,
		part(t, Range{0, 9}),
		part(t, Range{10, 19}, entry(10, 2), entry(10, 3), entry(15, 0)),
		part(t, Range{20, 29}, entry(25, 1), entry(21, 9), entry(25, 0), entry(21, 9)),
		part(t, Range{30, 39}),
		part(t, Range{40, 40}, entry(40, 0), entry(40, 0)))
	want := []string{
		entry(10, 2), entry(10, 3), entry(15, 0), entry(21, 9), entry(25, 0), entry(25, 1), entry(40, 0),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := merged(t, part(t, Range{0, 9}), part(t, Range{10, 11})); len(got) != 0 {
		t.Errorf("of no logs there are %v", got)
	}
}

func TestMerge_CopiesNothing(t *testing.T) {
	t.Parallel()
	body := array(entry(10, 0), entry(11, 0))
	p, err := ReadPart(body, Range{10, 19})
	if err != nil {
		t.Fatal(err)
	}
	if pieces := Merge([]Part{p}); &pieces[1][0] != &body[1] {
		t.Error("the logs were copied")
	}
}

// FuzzReadPart compares the checker with encoding/json.
func FuzzReadPart(f *testing.F) {
	f.Add(array(entry(10, 0), entry(11, 5)), uint64(10), uint64(19), 3)
	f.Add([]byte(`[{"blockNumber":"0xa","logIndex":"0x0","x":[{"a":"\u0022]"}]}]`), uint64(0), uint64(99), 1)
	f.Add([]byte(`[{"blockNumber":null}]`), uint64(0), uint64(1), 2)
	f.Fuzz(func(t *testing.T, body []byte, from, to uint64, size int) {
		if from > to || !json.Valid(body) {
			return // every answer was checked as JSON before
		}
		within := Range{from, to}
		p, err := ReadPart(body, within)
		c := NewChecker(within)
		var again error
		for chunk := range slices.Chunk(body, max(1, min(size, 1<<10))) {
			if again = c.Feed(chunk); again != nil {
				break
			}
		}
		if again == nil {
			again = c.End()
		}
		if (err == nil) != (again == nil) {
			t.Fatalf("whole: %v, in pieces: %v", err, again)
		}
		if err != nil {
			return
		}
		out := bytes.Join(Merge([]Part{p}), nil)
		var before, after []json.RawMessage
		require.NoError(t, json.Unmarshal(body, &before))
		require.NoError(t, json.Unmarshal(out, &after))
		require.AtMost(t, len(after), len(before), after)
	})
}
