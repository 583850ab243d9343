package indexer

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
)

// Balances is the result of alchemy_getTokenBalances.
type Balances struct {
	Address lowerAddress  `json:"address"`
	Tokens  []TokenAmount `json:"tokenBalances"`
	PageKey *lowerAddress `json:"pageKey,omitempty"`
}

// TokenAmount is the balance of one token, or the error of reading it. As at the provider, error is
// omitted when there is none.
type TokenAmount struct {
	Contract lowerAddress `json:"contractAddress"`
	Balance  *common.Hash `json:"tokenBalance"`
	Error    *string      `json:"error,omitempty"`
}

// BalanceOptions is the third parameter.
type BalanceOptions struct {
	PageKey  *common.Address `json:"pageKey"`
	MaxCount *int            `json:"maxCount"`
}

const maxTokens = 100 // per page, and in a requested list

// GetTokenBalances implements alchemy_getTokenBalances. The second parameter is "erc20" (the
// default, also for the obsolete "DEFAULT_TOKENS"), "NATIVE_TOKEN", or a list of contracts.
func (x *Indexer) GetTokenBalances(ctx context.Context, owner common.Address, spec *json.RawMessage,
	o *BalanceOptions,
) (*Balances, error) {
	answer := &Balances{Address: lowerAddress(owner), Tokens: []TokenAmount{}}
	contracts, listed, err := requested(spec)
	if err != nil {
		return nil, err
	}
	if !listed {
		if contracts, err = x.held(ctx, owner); err != nil {
			return nil, err
		}
		limit := maxTokens
		if o != nil && o.MaxCount != nil {
			limit = min(max(*o.MaxCount, 1), maxTokens)
		}
		if o != nil && o.PageKey != nil {
			after := *o.PageKey
			contracts = slices.DeleteFunc(contracts, func(a common.Address) bool { return a.Cmp(after) <= 0 })
		}
		if len(contracts) > limit {
			contracts = contracts[:limit]
			answer.PageKey = (*lowerAddress)(&contracts[limit-1])
		}
	}
	for _, contract := range contracts {
		answer.Tokens = append(answer.Tokens, x.amount(ctx, contract, owner))
	}
	return answer, nil
}

// requested parses the second parameter. listed is false for all tokens that the owner ever held.
func requested(spec *json.RawMessage) (contracts []common.Address, listed bool, err error) {
	if spec == nil || string(*spec) == "null" {
		return nil, false, nil
	}
	var name string
	if json.Unmarshal(*spec, &name) == nil {
		switch name {
		case "erc20", "DEFAULT_TOKENS":
			return nil, false, nil
		case "NATIVE_TOKEN":
			return nil, true, nil
		}
		return nil, false,
			invalid("Invalid token spec %q: choose erc20, NATIVE_TOKEN, DEFAULT_TOKENS or a list of contract addresses",
				name)
	}
	if err := json.Unmarshal(*spec, &contracts); err != nil {
		return nil, false, invalid("Invalid token spec: %v", err)
	}
	if len(contracts) > maxTokens {
		return nil, false, invalid("At most %d contract addresses may be asked for in one call", maxTokens)
	}
	return contracts, true, nil
}

// held lists all tokens of which an address was ever party to a transfer, sorted by address.
func (x *Indexer) held(ctx context.Context, owner common.Address) ([]common.Address, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.catchUp(ctx, x.cfg.Chain.CurrentBlock().Number.Uint64()); err != nil {
		return nil, err
	}
	all := slices.Concat(x.cfg.Tokens, x.tokens[owner])
	slices.SortFunc(all, common.Address.Cmp)
	return slices.Compact(all), nil
}

func (x *Indexer) amount(ctx context.Context, contract, owner common.Address) TokenAmount {
	raw, err := x.call(ctx, contract, "balanceOf(address)", common.LeftPadBytes(owner[:], word))
	if err == nil && len(raw) < word {
		err = fmt.Errorf("balanceOf gave %d bytes", len(raw))
	}
	if err != nil {
		words := err.Error()
		return TokenAmount{Contract: lowerAddress(contract), Error: &words}
	}
	balance := common.BytesToHash(raw[:word])
	return TokenAmount{Contract: lowerAddress(contract), Balance: &balance}
}

// Metadata is the result of alchemy_getTokenMetadata; null for what the token does not provide.
type Metadata struct {
	Decimals *uint8  `json:"decimals"`
	Logo     *string `json:"logo"`
	Name     *string `json:"name"`
	Symbol   *string `json:"symbol"`
}

// GetTokenMetadata implements alchemy_getTokenMetadata.
func (x *Indexer) GetTokenMetadata(ctx context.Context, contract common.Address) (*Metadata, error) {
	facts, err := x.metadata(ctx, contract)
	return &facts, err
}

func (x *Indexer) metadata(ctx context.Context, contract common.Address) (Metadata, error) {
	x.mu.Lock()
	facts, known := x.facts[contract]
	x.mu.Unlock()
	if known {
		return facts, nil
	}
	for signature, into := range map[string]**string{"name()": &facts.Name, "symbol()": &facts.Symbol} {
		if raw, err := x.call(ctx, contract, signature, nil); err == nil {
			*into = text(raw)
		}
	}
	if raw, err := x.call(ctx, contract, "decimals()", nil); err == nil && len(raw) >= word &&
		bytes.Count(raw[:word-1], []byte{0}) == word-1 {
		facts.Decimals = &raw[word-1]
	}
	if err := ctx.Err(); err != nil {
		return facts, fmt.Errorf("read the metadata of %s: %w", contract, err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.facts) < maxFacts {
		x.facts[contract] = facts
	}
	return facts, nil
}

func (x *Indexer) call(ctx context.Context, to common.Address, signature string, argument []byte) ([]byte, error) {
	var result hexutil.Bytes
	data := slices.Concat(crypto.Keccak256([]byte(signature))[:4], argument)
	err := x.cfg.Node.CallContext(ctx, &result, "eth_call", map[string]any{"to": to, "data": hexutil.Bytes(data)},
		"latest")
	if err != nil {
		return nil, fmt.Errorf("call %s of %s: %w", signature, to, err)
	}
	return result, nil
}

// text decodes an ABI string, or the bytes32 that some old tokens return instead; nil for anything
// else and for the empty string.
func text(raw []byte) *string {
	if len(raw) >= 2*word {
		at := binary.BigEndian.Uint64(raw[word-8 : word])
		if at > uint64(len(raw)-word) || at < word {
			return nil
		}
		size := binary.BigEndian.Uint64(raw[at+word-8 : at+word])
		if size > uint64(len(raw))-at-word {
			return nil
		}
		raw = raw[at+word : at+word+size]
	}
	found := strings.TrimRight(string(raw), "\x00")
	if found == "" || !utf8.ValidString(found) || strings.ContainsFunc(found, func(r rune) bool { return r < ' ' }) {
		return nil
	}
	return &found
}
