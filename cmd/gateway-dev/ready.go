package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/chainaccess/gateway/cmd/internal/wire"
	"github.com/chainaccess/gateway/config"
)

// tellAfter is how long waiting goes without a word.
const tellAfter = time.Second

// awaitReady waits until the API says that it can serve calls, and makes a key. It says what it waits for.
func awaitReady(ctx context.Context, cfg config.Config, say func(string)) (key string, err error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	last := "no answer yet"
	waiting := time.AfterFunc(tellAfter, func() { say("waiting for the chains' first heads") })
	defer waiting.Stop()
	for {
		body, ok := askReady(ctx, cfg.PublicURL+"/readyz")
		if ok {
			break
		}
		if body != "" {
			last = body
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return "", fmt.Errorf("not ready after %s: see gateway.log; the last state was %s", readyTimeout, last)
			}
			return "", ctx.Err()
		case <-tick.C:
		}
	}
	minted, err := wire.NewDoorKey(ctx, cfg)
	if err != nil {
		return "", err
	}
	return minted.Reveal(), nil
}

func askReady(ctx context.Context, url string) (body string, ok bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", false
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // for a message only
	return string(text), resp.StatusCode == http.StatusOK
}
