package transport

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func TestAnswer_StreamHoldsNothingThatItHasRead(t *testing.T) {
	t.Parallel()
	id := []byte("1000000000000001")
	body := io.MultiReader(strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":"`, id)),
		strings.NewReader(strings.Repeat("0", 8*PeekBytes)), strings.NewReader(`"}`))
	a, err := ReadAnswer(&http.Response{ContentLength: -1, Body: io.NopCloser(body)}, 16*PeekBytes, id, nil)
	require.NoError(t, err)
	defer a.Release()
	expect.AtMost(t, cap(*a.buffer), PeekBytes)
	streams, ok := a.Rest.(*rest)
	require.True(t, ok)
	_, err = io.Copy(io.Discard, streams)
	require.NoError(t, err)
	expect.AtMost(t, len(streams.opening.Tail), tailBytes)
}

func TestAnswer_ReleaseCallsBackOnce(t *testing.T) {
	t.Parallel()
	released := 0
	a := new(Answer)
	a.OnRelease(func() { released++ })
	a.Release()
	a.Release()
	expect.Equal(t, released, 1)
}
