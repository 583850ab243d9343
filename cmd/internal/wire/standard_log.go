package wire

import (
	"log"
	"log/slog"
	"strings"
	"time"

	"github.com/chainaccess/gateway/internal/telemetry"
)

// LogStandard puts what libraries print through package log into ours, a few lines at a time.
func LogStandard(to *slog.Logger) {
	log.SetFlags(0)
	log.SetOutput(newStandardLog(to, time.Now))
}

type standardLog struct {
	log   *slog.Logger
	limit *telemetry.LogLimit[struct{}]
}

func newStandardLog(to *slog.Logger, now func() time.Time) *standardLog {
	return &standardLog{to, telemetry.NewLogLimit[struct{}](telemetry.LinesPerKind, telemetry.LogInterval, now)}
}

// quoting is what net/http says before it quotes an answer that nobody asked for, which may be a
// customer's.
const quoting = " starting with "

// Write takes a line.
func (s *standardLog) Write(line []byte) (int, error) {
	if leftOut, ok := s.limit.Let(struct{}{}); ok {
		said, _, _ := strings.Cut(strings.TrimSpace(string(line)), quoting)
		s.log.Warn("library", "said", said, "left_out", leftOut)
	}
	return len(line), nil
}
