package wire

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/chainaccess/gateway/relay/price"
)

func TestWriteCosts_KeepsWhatCouldNotBeWritten(t *testing.T) {
	t.Parallel()
	l := price.NewLedger()
	l.Request(time.Now(), "eth_mainnet", "alchemy", []byte("eth_call"), price.Cost{Units: 26, Nanos: 11_700})
	failing := func(context.Context, price.Batch) error { return errors.New("PostgreSQL is down") }
	writeCosts(t.Context(), l, failing, slog.New(slog.DiscardHandler))
	var written []price.Batch
	writing := func(_ context.Context, b price.Batch) error {
		written = append(written, b)
		return nil
	}
	for range 2 { // the second pass has nothing to write
		writeCosts(t.Context(), l, writing, slog.New(slog.DiscardHandler))
	}
	if len(written) != 1 {
		t.Fatalf("%d batches were written, want one", len(written))
	}
	if got := written[0].Spent[0].Requests; got != 1 {
		t.Errorf("%d requests were written, want 1", got)
	}
}
