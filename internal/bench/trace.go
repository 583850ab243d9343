package main

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/chainaccess/gateway/internal/bench/node"
)

const (
	traceName     = "trace_50mb"
	traceGzipName = "trace_50mb_gzip"
	traceRepeats  = 3 // the largest growth counts
)

var traceBar = bar{below, 8, 0}

// measureTrace streams a long answer to a client without gzip and to one with gzip, each through
// its own gateway.
func measureTrace(ctx context.Context, r *rig, o options, report *report) error {
	for _, side := range []struct{ name, encoding string }{{traceName, ""}, {traceGzipName, "gzip"}} {
		grown, err := r.growthByTraces(ctx, o, report, side.encoding)
		if err != nil {
			return err
		}
		report.add(result{side.name, residentKey, grown, 1, traceBar})
	}
	return nil
}

func (r *rig) growthByTraces(ctx context.Context, o options, report *report, encoding string) (float64, error) {
	s, err := r.inService(ctx, o, "trace")
	if err != nil {
		return 0, err
	}
	defer s.end()
	want, err := fetchTrace(ctx, &client{
		url: "http://" + s.nodes[0].address, keys: s.client.keys, http: s.client.http,
	}, "")
	if err != nil {
		return 0, fmt.Errorf("the node's own answer: %w", err)
	}
	return grownBy(s.gateway, report, func() error {
		for range traceRepeats {
			got, err := fetchTrace(ctx, s.client, encoding)
			if err != nil {
				return err
			}
			if got.sum != want.sum {
				return fmt.Errorf("the gateway's answer of %d bytes is not the node's of %d", got.bytes, want.bytes)
			}
			report.sayf("a trace of %.1f MB in %s, %.1f MB on the wire", float64(got.bytes)/megabyte,
				got.took.Round(time.Millisecond), float64(got.wire)/megabyte)
		}
		return nil
	})
}

// trace is the received answer to a request for a trace.
type trace struct {
	sum         [sha256.Size]byte
	bytes, wire int64
	took        time.Duration
}

func fetchTrace(ctx context.Context, c *client, encoding string) (trace, error) {
	started := time.Now()
	req, err := c.request(ctx, 0, `{"jsonrpc":"2.0","id":1,"method":"`+node.TraceMethod+`","params":["0x`+
		strings.Repeat("ab", 32)+`"]}`)
	if err != nil {
		return trace{}, err
	}
	if encoding != "" {
		req.Header.Set("Accept-Encoding", encoding)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return trace{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return trace{}, fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	wire := &counting{Reader: resp.Body}
	var body io.Reader = wire
	if resp.Header.Get("Content-Encoding") == "gzip" {
		if body, err = gzip.NewReader(wire); err != nil {
			return trace{}, err
		}
	}
	hash := sha256.New()
	n, err := io.Copy(hash, body) //nolint:gosec // from the bench's own node; it is only hashed
	if err == nil && n < node.TraceBytes {
		err = fmt.Errorf("it has %d bytes, want more than %d", n, node.TraceBytes)
	}
	return trace{[sha256.Size]byte(hash.Sum(nil)), n, wire.bytes, time.Since(started)}, err
}

type counting struct {
	io.Reader

	bytes int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.bytes += int64(n)
	return n, err
}
