package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/chainaccess/gateway/internal/bench/node"
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
	trips node.Trips
}

// measureBalances asks for the balances of owners of a hundred tokens, one after the other, and for
// their native coin alone as a comparison.
func measureBalances(ctx context.Context, r *rig, o options, report *report) error {
	s, err := r.inService(ctx, o, "balances")
	if err != nil {
		return err
	}
	defer s.end()
	all := map[string]*timed{node.OnlyCoin: {}, node.SameTokens: {}, node.OtherTokens: {}}
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
	known, fresh := all[node.SameTokens], all[node.OtherTokens]
	report.sayf(
		"eth_getBalance %.1f ms, balances of known tokens %.1f ms, of new ones %.1f ms (p50; the node is %v away)",
		p50(node.OnlyCoin), p50(node.SameTokens), p50(node.OtherTokens), node.Distance)
	report.add(result{balancesName, coinTripsKey, max(each(known.trips.Coin), each(fresh.trips.Coin)), 2, oneTrip})
	report.add(result{balancesName, indexTripsKey, max(each(known.trips.Index), each(fresh.trips.Index)), 2, oneTrip})
	report.add(result{balancesName, nameTripsKey, each(fresh.trips.Names), 2, oneTrip})
	report.add(result{balancesName, toReadKey, p50(node.SameTokens) / p50(node.OnlyCoin), 2, sideBySide})
	report.add(result{balancesName, newToReadKey, p50(node.OtherTokens) / p50(node.OnlyCoin), 2, bar{}})
	return nil
}

// balances asks for the holdings of several owners and appends how long each answer took. trips
// counts the node's requests for these answers only.
func (s *service) balances(ctx context.Context, owners string, from int, took []time.Duration) (timed, error) {
	address := s.nodes[0].address
	before, err := node.ReadTrips(ctx, address)
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
	after, err := node.ReadTrips(ctx, address)
	return timed{
		slices.Clone(took), node.Trips{
			Coin: after.Coin - before.Coin, Index: after.Index - before.Index, Names: after.Names - before.Names,
		},
	}, err
}

// ownedBy asks for the holdings of one owner, and fails unless all of them are answered.
func (s *service) ownedBy(ctx context.Context, owners, owner string, n int) error {
	if owners == node.OnlyCoin {
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
		len(answer.Tokens) != node.TokensOwned ||
		answer.Tokens[0].Symbol == "" {
		return fmt.Errorf("HTTP %d with %d tokens: %.300s", resp.StatusCode, len(answer.Tokens), body)
	}
	return nil
}
