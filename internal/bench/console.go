package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/store"
)

const (
	consoleName   = "console_pages"
	consoleRounds = 10
	// consolePause between rounds is longer than answers about usage are cached, so that none is
	// served twice.
	consolePause = 10*time.Second + 500*time.Millisecond

	slowestP50Key   = "slowest_p50_ms"
	slowestP95Key   = "slowest_p95_ms"
	largestPageKey  = "largest_kb"
	kilobyte        = 1000.0
	pageP95, median = 95, 50
)

// The limits of a page of an account with a million rows of usage: its time in milliseconds, and
// its size with all that it loads in kB, compressed.
var (
	consoleBar     = bar{below, 100, 0}
	consoleSizeBar = bar{below, 150, 0}
)

// pages returns the addresses that are measured. No two of them share a cached answer about usage.
func (v *visited) pages() []string {
	key := v.keys[7].String()
	return []string{
		"/overview", "/usage?range=24h", "/usage?range=7d", "/usage?range=30d", "/usage?range=period",
		"/usage?range=30d&key=" + key, "/usage?chain=base_mainnet&range=30d", "/keys", "/keys/" + key, "/agents",
		"/billing", "/statements", "/statements/" + v.open, "/statements/" + v.closed, "/tickets",
		"/tickets?status=closed", "/tickets/" + v.ticket, "/tickets/new",
		"/support/new?request_id=" + v.request.String(), "/feedback", "/settings", "/settings/audit", "/", "/pricing",
		"/status", "/toolbox",
	}
}

// measureConsole requests every page of the console in turn as a signed-in browser, for an account
// with a million rows of usage.
func measureConsole(ctx context.Context, r *rig, _ options, report *report) (err error) {
	if err := r.servers(ctx); err != nil {
		return err
	}
	node, err := r.startNode(ctx, "console")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Stop(ctx)) }()
	report.sayf("%s: recording a million rows of usage", consoleName)
	v, err := r.consoleAccount(ctx)
	if err != nil {
		return err
	}
	g, err := r.freshGateway(ctx, node)
	if err != nil {
		return err
	}
	b := &browser{base: g.url, session: v.session, assets: map[string]int{}}
	pages := v.pages()
	took, weight, failed := make([][]time.Duration, len(pages)), make([]int, len(pages)), make([]error, len(pages))
	for round := range consoleRounds + 1 {
		for i, page := range pages {
			d, size, err := b.open(ctx, page)
			if err != nil { // reported once the others are measured
				failed[i] = err
				continue
			}
			if round > 0 { // the first warms up
				took[i], weight[i] = append(took[i], d), max(weight[i], size)
			}
		}
		if err := pause(ctx, consolePause); err != nil {
			return err
		}
	}
	var p50, p95, largest float64
	for i, page := range pages {
		if failed[i] != nil {
			continue
		}
		report.sayf("%-45.45s p50 %6.1f ms  p95 %6.1f ms  %6.1f kB", page, percentile(took[i], median),
			percentile(took[i], pageP95), float64(weight[i])/kilobyte)
		p50, p95 = max(p50, percentile(took[i], median)), max(p95, percentile(took[i], pageP95))
		largest = max(largest, float64(weight[i])/kilobyte)
	}
	report.add(result{consoleName, slowestP50Key, p50, 1, consoleBar})
	report.add(result{consoleName, slowestP95Key, p95, 1, consoleBar})
	report.add(result{consoleName, largestPageKey, largest, 1, consoleSizeBar})
	return errors.Join(failed...)
}

func (r *rig) consoleAccount(ctx context.Context) (v *visited, err error) {
	s, err := store.Open(ctx, r.stack.DatabaseURL)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	conn, err := pgx.Connect(ctx, r.stack.DatabaseURL)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	return fillConsole(ctx, s, conn, time.Now())
}

// browser is a client with a session.
type browser struct {
	base, session string
	assets        map[string]int // bytes of what pages load, by address
}

var loaded = regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"`)

// open requests a page. It returns the time to the last byte of the answer, and its size as sent
// including all that the page loads.
func (b *browser) open(ctx context.Context, page string) (took time.Duration, size int, err error) {
	begun := time.Now()
	sent, err := b.get(ctx, page)
	took = time.Since(begun)
	if err != nil {
		return 0, 0, err
	}
	body, err := unzipped(sent)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", page, err)
	}
	size = len(sent)
	for _, match := range loaded.FindAllSubmatch(body, -1) {
		address := string(match[1])
		if _, known := b.assets[address]; !known {
			asset, err := b.get(ctx, address)
			if err != nil {
				return 0, 0, err
			}
			b.assets[address] = len(asset)
		}
		size += b.assets[address]
	}
	return took, size, nil
}

// unzipped decompresses an answer if it is compressed.
func unzipped(sent []byte) (body []byte, err error) {
	if !bytes.HasPrefix(sent, []byte{0x1f, 0x8b}) {
		return sent, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(sent))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return io.ReadAll(r)
}

func (b *browser) get(ctx context.Context, path string) (body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/html")
	req.Header.Set("Accept-Encoding", "gzip")
	req.AddCookie(&http.Cookie{Name: "session", Value: b.session}) //nolint:gosec // on this machine
	resp, err := http.DefaultTransport.RoundTrip(req)              // follows no redirect
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	body, err = io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s is HTTP %d: %.300s", path, resp.StatusCode, body)
	}
	return body, err
}
