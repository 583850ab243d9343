package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/metering/plan"
)

// tellAfter is how long the program waits before it prints what it waits for.
const tellAfter = time.Second

// planNamed returns the plan of the printed key.
func planNamed(name string) (plan.Plan, error) {
	if p, ok := plan.Lookup(name); ok {
		return p, nil
	}
	var names []string
	for _, p := range plan.All() {
		names = append(names, p.Key)
	}
	return plan.Plan{}, fmt.Errorf("--plan: there is no plan %q: choose from %s", name, strings.Join(names, ", "))
}

// newKey creates a new key: an anonymous one, or one of an account on a plan.
func newKey(ctx context.Context, cfg config.Config, p plan.Plan) (account.Key, error) {
	if p.Key == plan.Door1 {
		return operator.NewDoorKey(ctx, cfg)
	}
	return operator.NewPlanKey(ctx, cfg, p)
}

// awaitReady waits until the API is ready and then creates a key. It prints what it waits for.
func awaitReady(ctx context.Context, cfg config.Config, keyPlan plan.Plan, say func(string)) (key string, err error) {
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
	minted, err := newKey(ctx, cfg, keyPlan)
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
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // only for an error message
	return string(text), resp.StatusCode == http.StatusOK
}
