package wire

import (
	"log"
	"log/slog"
	"strings"
	"time"

	"github.com/chainaccess/gateway/internal/telemetry"
)

// LogStandard redirects the output of package log, which libraries use, to our log, with a rate
// limit.
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

// quoting is what net/http writes before it quotes an unsolicited response, which may contain a
// customer's data.
const quoting = " starting with "

// Write logs a line.
func (s *standardLog) Write(line []byte) (int, error) {
	if leftOut, ok := s.limit.Let(struct{}{}); ok {
		said, _, _ := strings.Cut(strings.TrimSpace(string(line)), quoting)
		s.log.Warn("library", "said", said, "left_out", leftOut)
	}
	return len(line), nil
}
