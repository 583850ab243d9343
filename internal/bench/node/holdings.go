package node

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// The node's data about owners of tokens. It delays these answers like a distant node, so that
// round trips dominate.
const (
	Distance    = 20 * time.Millisecond
	TokensOwned = 100

	// The start of an owner's address determines what the owner holds.
	SameTokens  = "0xaa" // all of them hold the same tokens
	OtherTokens = "0xbb" // each holds tokens that no other owner has
	OnlyCoin    = "0xcc" // only the native coin is requested

	tokensMethod  = "alchemy_getTokenBalances"
	sourcesTarget = "/sources"
)

// sources counts requests about owners of tokens, by source.
type sources struct{ coin, index, names atomic.Int64 }

// Trips is a reading of sources.
type Trips struct{ Coin, Index, Names int64 }

func (s *sources) write(w io.Writer) {
	_, _ = fmt.Fprintln(w, s.coin.Load(), s.index.Load(), s.names.Load()) // the caller asks again
}

// ReadTrips asks the node at an address for its counts.
func ReadTrips(ctx context.Context, node string) (t Trips, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+node+sourcesTarget, http.NoBody)
	if err != nil {
		return t, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return t, err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = fmt.Fscan(resp.Body, &t.Coin, &t.Index, &t.Names)
	return t, err
}

// answer returns the node's delayed result for an owner of tokens and counts the request. It
// returns nil for requests that are not about holdings.
func (s *sources) answer(ctx context.Context, req rpcRequest) any {
	owner := strings.ToLower(first(req)) // the gateway sends checksummed addresses
	held := strings.HasPrefix(owner, SameTokens) || strings.HasPrefix(owner, OtherTokens)
	var result any
	switch {
	case req.Method == "eth_getBalance" && (held || strings.HasPrefix(owner, OnlyCoin)):
		s.coin.Add(1)
		result = "0x" + hex.EncodeToString(digest(owner)[:8])
	case req.Method == tokensMethod && held:
		s.index.Add(1)
		result = tokensOf(owner)
	case req.Method == "eth_call":
		n := namesAsked(req)
		if n == 0 {
			return nil
		}
		s.names.Add(1)
		result = namesOf(n)
	default:
		return nil
	}
	timer := time.NewTimer(Distance)
	defer timer.Stop()
	select {
	case <-ctx.Done(): // the client disconnected
	case <-timer.C:
	}
	return result
}

// tokenList is a result of alchemy_getTokenBalances.
type tokenList struct {
	Address string       `json:"address"`
	Tokens  []tokenOwned `json:"tokenBalances"`
}

type tokenOwned struct {
	Contract string `json:"contractAddress"`
	Balance  string `json:"tokenBalance"`
}

func tokensOf(owner string) tokenList {
	list := tokenList{Address: owner}
	seed := ""
	if strings.HasPrefix(owner, OtherTokens) {
		seed = owner
	}
	for i := range TokensOwned {
		d := digest(fmt.Sprintf("%s token %d", seed, i))
		list.Tokens = append(list.Tokens, tokenOwned{
			"0x" + hex.EncodeToString(d[:20]), "0x" + strings.Repeat("0", 48) + hex.EncodeToString(d[20:28]),
		})
	}
	return list
}

// namesAsked returns the number of tokens whose names an eth_call without a destination asks for:
// its code ends with the list of tokens as a constructor argument.
func namesAsked(req rpcRequest) int {
	if len(req.Params) == 0 {
		return 0
	}
	message, _ := req.Params[0].(map[string]any)
	data, _ := message["data"].(string)
	if _, deployed := message["to"]; deployed {
		return 0
	}
	code, err := hex.DecodeString(strings.TrimPrefix(data, "0x"))
	if err != nil {
		return 0
	}
	for n := 1; n <= TokensOwned && (n+2)*abiWord <= len(code); n++ {
		list := code[len(code)-(n+2)*abiWord:]
		if wordOf(list) == abiWord && wordOf(list[abiWord:]) == uint64(n) {
			return n
		}
	}
	return 0
}

const abiWord = 32 // bytes

func wordOf(b []byte) uint64 { return binary.BigEndian.Uint64(b[abiWord-8 : abiWord]) }

// namesOf returns the answer of toolbox/solidity/TokenFacts.sol for n tokens with the same name.
func namesOf(n int) string {
	answer := []byte{1}
	for range n {
		answer = append(answer, "\x02\x12\x03TOK\x05Token"...)
	}
	return "0x" + hex.EncodeToString(answer)
}
