package transport

import (
	"bytes"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func TestCallID_IsANumberThatEveryClientKeeps(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for range 10_000 {
		body := EncodeRequest([]byte("eth_call"), nil)
		id := string(IDOf(body))
		n, err := strconv.ParseUint(id, 10, 64)
		require.NoError(t, err)
		require.Len(t, id, idDigits)
		require.Less(t, n, 1<<53)
		require.False(t, seen[id])
		seen[id] = true
		if want := `{"jsonrpc":"2.0","id":` + id + `,"method":"eth_call","params":[]}`; string(body) != want ||
			!json.Valid(body) {
			t.Fatalf("the request is %s", body)
		}
	}
}

//nolint:paralleltest // allocations are counted per process
func TestCallID_CostsOneAllocationWithItsRequest(t *testing.T) {
	method, params := []byte("eth_call"), []byte("[]")
	if n := testing.AllocsPerRun(1000, func() { EncodeRequest(method, params) }); n != 1 {
		t.Errorf("a request allocates %v times", n)
	}
}

func TestRenumbered_ChangesNothingButTheID(t *testing.T) {
	t.Parallel()
	body := EncodeRequest([]byte("eth_call"), []byte(`[{"id":1},"latest"]`))
	kept := bytes.Clone(body)
	again := Renumber(body)
	expect.EqualSlices(t, body, kept)
	expect.False(t, bytes.Equal(IDOf(again), IDOf(body)))
	expect.EqualSlices(t, bytes.Replace(again, IDOf(again), IDOf(body), 1), body)
}
