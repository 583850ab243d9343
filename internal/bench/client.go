package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// client calls the gateway with its keys in turn.
type client struct {
	url  string
	keys []string
	http *http.Client
}

var resultMember = []byte(`"result":`)

// call makes the n-th call. An answer without a result is an error.
func (c *client) call(ctx context.Context, n int, body string) (http.Header, error) {
	req, err := c.request(ctx, n, body)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK || !bytes.Contains(answer, resultMember) {
		return nil, fmt.Errorf("HTTP %d: %.300s", resp.StatusCode, answer)
	}
	return resp.Header, nil
}

func (c *client) request(ctx context.Context, n int, body string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.keys[n%len(c.keys)])
	req.Header.Set("Content-Type", "application/json")
	return req, nil
}

// sample is one call of a generated load.
type sample struct {
	ended time.Duration // since the load began
	took  time.Duration
	err   error
}

// generate makes distinct reads on a number of connections, each as soon as the last was answered,
// until ctx ends. It waits for the calls in flight.
func (c *client) generate(ctx context.Context, connections int, began time.Time) []sample {
	var wg sync.WaitGroup
	all := make([][]sample, connections)
	for i := range all {
		wg.Go(func() {
			for n := i; ctx.Err() == nil; n += connections {
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"eth_getBalance","params":["0x%040x","latest"]}`,
					n, n)
				started := time.Now()
				_, err := c.call(context.WithoutCancel(ctx), n, body)
				ended := time.Now()
				all[i] = append(all[i], sample{ended.Sub(began), ended.Sub(started), err})
			}
		})
	}
	wg.Wait()
	var samples []sample
	for _, some := range all {
		samples = append(samples, some...)
	}
	return samples
}

// firstCalls makes a call with every key, so that the gateway has loaded and cached each of them.
func (c *client) firstCalls(ctx context.Context) error {
	for n := range c.keys {
		if _, err := c.call(ctx, n,
			`{"jsonrpc":"2.0","id":1,"method":"eth_getBalance",`+
				`"params":["0x00000000000000000000000000000000000000aa","latest"]}`); err != nil {
			return fmt.Errorf("first calls: %w", err)
		}
	}
	return nil
}
