package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

const (
	balancesName = "balances_100"
	balancesEach = 50 // answers of a kind per round

	coinTripsKey  = "coin_trips"
	indexTripsKey = "index_trips"
	nameTripsKey  = "name_trips_of_new_tokens"
	toReadKey     = "time_to_read"
	newToReadKey  = "time_to_read_of_new_tokens"
)

var (
	oneTrip = bar{atMost, 1, 0}
	// sideBySide is met only when the sources are asked concurrently: one after the other, they
	// take twice as long as one read.
	sideBySide = bar{atMost, 1.5, 0}
)

// timed holds the latencies of a kind of answer, and the node's requests for one answer.
type timed struct {
	took  []time.Duration
	trips trips
}

// measureBalances asks for the balances of owners of a hundred tokens, one after the other, and for
// their native coin alone as a comparison.
func measureBalances(ctx context.Context, r *rig, o options, report *report) error {
	s, err := r.inService(ctx, o, "balances")
	if err != nil {
		return err
	}
	defer s.end()
	all := map[string]*timed{onlyCoin: {}, sameTokens: {}, otherTokens: {}}
	n := 0
	for range o.rounds + 1 { // the first warms up: it fills the cache of tokens
		for owners, kind := range all {
			*kind, err = s.balances(ctx, owners, n, kind.took)
			if err != nil {
				return fmt.Errorf("%s: %w", balancesName, err)
			}
			n += balancesEach
		}
	}
	for _, kind := range all {
		kind.took = kind.took[balancesEach:]
	}
	p50 := func(owners string) float64 { return percentile(all[owners].took, median) }
	each := func(trips int64) float64 { return float64(trips) / balancesEach }
	known, fresh := all[sameTokens], all[otherTokens]
	report.sayf(
		"eth_getBalance %.1f ms, balances of known tokens %.1f ms, of new ones %.1f ms (p50; the node is %v away)",
		p50(onlyCoin), p50(sameTokens), p50(otherTokens), holdingsDistance)
	report.add(result{balancesName, coinTripsKey, max(each(known.trips.coin), each(fresh.trips.coin)), 2, oneTrip})
	report.add(result{balancesName, indexTripsKey, max(each(known.trips.index), each(fresh.trips.index)), 2, oneTrip})
	report.add(result{balancesName, nameTripsKey, each(fresh.trips.names), 2, oneTrip})
	report.add(result{balancesName, toReadKey, p50(sameTokens) / p50(onlyCoin), 2, sideBySide})
	report.add(result{balancesName, newToReadKey, p50(otherTokens) / p50(onlyCoin), 2, bar{}})
	return nil
}

// balances asks for the holdings of several owners and appends how long each answer took. trips
// counts the node's requests for these answers only.
func (s *service) balances(ctx context.Context, owners string, from int, took []time.Duration) (timed, error) {
	node := s.nodes[0].address
	before, err := readTrips(ctx, node)
	if err != nil {
		return timed{}, err
	}
	for n := from; n < from+balancesEach; n++ {
		owner := fmt.Sprintf("%s%038x", owners, n)
		begun := time.Now()
		if err := s.ownedBy(ctx, owners, owner, n); err != nil {
			return timed{}, err
		}
		took = append(took, time.Since(begun))
	}
	after, err := readTrips(ctx, node)
	return timed{
		slices.Clone(took), trips{after.coin - before.coin, after.index - before.index, after.names - before.names},
	}, err
}

// ownedBy asks for the holdings of one owner, and fails unless all of them are answered.
func (s *service) ownedBy(ctx context.Context, owners, owner string, n int) error {
	if owners == onlyCoin {
		_, err := s.client.call(ctx, n,
			fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"eth_getBalance","params":[%q,"latest"]}`, n, owner))
		return err
	}
	req, err := s.client.request(ctx, n, "")
	if err != nil {
		return err
	}
	req.Method, req.Body, req.ContentLength = http.MethodGet, http.NoBody, 0
	req.URL.Path = "/data/eth_mainnet/balances/" + owner
	resp, err := s.client.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var answer struct {
		Tokens []struct {
			Symbol string `json:"symbol"`
		} `json:"tokens"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || resp.StatusCode != http.StatusOK ||
		len(answer.Tokens) != holdingsTokens ||
		answer.Tokens[0].Symbol == "" {
		return fmt.Errorf("HTTP %d with %d tokens: %.300s", resp.StatusCode, len(answer.Tokens), body)
	}
	return nil
}
