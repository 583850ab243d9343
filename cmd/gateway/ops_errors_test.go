package main

import (
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

func TestWriteUnknownErrors_QuotesWhatAnUpstreamSays(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := writeUnknownErrors(&out, []operator.ChainErrors{{Chain: chain.BaseMainnet, Errors: []upstream.UnknownError{{
		Upstream: "one", Method: "eth_call", Code: -7, Message: "shard 1\x1b[31m is odd", Count: 3,
		Last: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC),
	}}}})
	want := `base_mainnet  one       3      2026-11-23 12:00:00  eth_call  -7    "shard 1\x1b[31m is odd"`
	if err != nil || !strings.Contains(out.String(), want) {
		t.Errorf("it writes, %v:\n%s", err, out.String())
	}
	out.Reset()
	err = writeUnknownErrors(&out, nil)
	if err != nil || out.String() != "no unknown errors in the last seven days\n" {
		t.Errorf("without any it writes %q, %v", out.String(), err)
	}
}
