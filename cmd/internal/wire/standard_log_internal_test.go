package wire

import (
	"bytes"
	"log"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/telemetry"
)

func TestStandardLog_QuotesNoAnswer(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	to := newStandardLog(slog.New(slog.NewTextHandler(&out, nil)), time.Now)
	const answer = `{"jsonrpc":"2.0","id":1,"result":"canary"}`
	for range 10 * telemetry.LinesPerKind {
		log.New(to, "", 0).Printf("Unsolicited response received on idle HTTP channel starting with %q; err=%v",
			"HTTP/1.1 200 OK\r\n\r\n"+answer, nil)
	}
	if lines := strings.Count(out.String(), "\n"); lines != telemetry.LinesPerKind {
		t.Errorf("%d lines", lines)
	}
	if strings.Contains(out.String(), "canary") ||
		!strings.Contains(out.String(), "Unsolicited response received on idle HTTP channel") {
		t.Errorf("the log says %s", out.String())
	}
}
