package mcp

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
)

// The standard library's reader verifies the checksum and the length.
func TestZip_ValueCompressedOnceReadsBackInItsContext(t *testing.T) {
	t.Parallel()
	for _, plain := range []string{"", "{}", strings.Repeat(`{"name":"get_balances"},`, 20_000)} {
		d := newDeflated([]byte(plain))
		for _, opening := range []string{"", `{"jsonrpc":"2.0","id":7,"result":`, strings.Repeat("i", storedMost)} {
			zipped := d.between([]byte(opening), []byte("}"))
			r, err := gzip.NewReader(bytes.NewReader(zipped))
			if err != nil {
				t.Fatal(err)
			}
			r.Multistream(false)
			got, err := io.ReadAll(r)
			if err != nil || string(got) != opening+plain+"}" {
				t.Errorf("%d bytes after an opening of %d read back as %d bytes: %v", len(plain), len(opening),
					len(got), err)
			}
		}
	}
	if newDeflated(nil).between(make([]byte, storedMost+1), nil) != nil {
		t.Error("an opening that fits no block went into one")
	}
}
