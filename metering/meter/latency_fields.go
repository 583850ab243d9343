package meter

import (
	"context"
	_ "embed" // for the script
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
)

//go:embed latency.lua
var latencySource string

var latencyScript = redis.NewScript(latencySource)

const (
	// latencyField is the prefix of a bucket's fields that are not usage. A usage line begins with
	// its period, which is a date.
	latencyField = "l|"
	latencyBars  = 5 // separators in the rest of such a field
)

// addLatencies writes counts of one shard, sorted by account, into the open buckets. With an error
// they may or may not have been written.
func (m *Meter) addLatencies(ctx context.Context, counts []latencyCount) error {
	args := []any{evalSHA, latencyScript.Hash(), 1, tag(counts[0].shard) + "dirty", nonce()}
	var lines []byte
	var key string
	for i := range counts {
		c := &counts[i]
		if i == 0 || c.key != counts[i-1].key {
			key = c.key.String()
		}
		lines = c.append(lines, key)
		if i+1 == len(counts) || counts[i+1].account != c.account {
			args = append(args, c.account.String(), string(lines))
			lines = lines[:0]
		}
	}
	cmd := redis.NewCmd(ctx, args...)
	err := m.scripts.do(ctx, cmd, noShard)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") { // nothing ran
		args[0], args[1] = "eval", latencySource
		err = m.scripts.do(ctx, redis.NewCmd(ctx, args...), noShard)
	}
	if err != nil {
		return fmt.Errorf("add latencies: %w", err)
	}
	return nil
}

func (c *latencyCount) append(to []byte, key string) []byte {
	outcome := OutcomeOK
	if c.hit {
		outcome = OutcomeHit
	}
	for _, word := range [...]string{key, c.chain, c.service, c.class, outcome} {
		to = append(append(to, word...), '|')
	}
	to = append(strconv.AppendUint(to, uint64(c.bucket), 10), ' ')
	return append(strconv.AppendInt(to, c.calls, 10), ' ')
}

// takeLatencies reads and removes the latency fields of a bucket. A field that latency.lua did not
// write stays, and is refused as a usage line.
func takeLatencies(fields map[string]string) []account.LatencyLine {
	var lines []account.LatencyLine
	for field, value := range fields {
		words, ok := strings.CutPrefix(field, latencyField)
		if !ok {
			continue
		}
		line, err := parseLatency(words, value)
		if err != nil {
			continue
		}
		lines = append(lines, line)
		delete(fields, field)
	}
	return lines
}

// parseLatency reads <key>|<chain>|<service>|<class>|<outcome>|<bucket>.
func parseLatency(words, value string) (account.LatencyLine, error) {
	w := strings.Split(words, "|")
	if len(w) != latencyBars+1 {
		return account.LatencyLine{}, fmt.Errorf("%d words", len(w))
	}
	key, err1 := uuid.Parse(w[0])
	bucket, err2 := strconv.ParseUint(w[5], 10, 7)
	calls, err3 := strconv.ParseInt(value, 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		return account.LatencyLine{}, err
	}
	if bucket >= account.LatencyBuckets || calls < 1 {
		return account.LatencyLine{}, fmt.Errorf("%d calls in bucket %d", calls, bucket)
	}
	return account.LatencyLine{
		Key: account.KeyID{UUID: key}, Chain: w[1], Service: w[2], Class: w[3], Outcome: w[4], Bucket: int(bucket),
		Calls: calls,
	}, nil
}
