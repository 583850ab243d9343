package toolbox

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/node"
)

// tokenPage is a result of alchemy_getTokenBalances for "erc20": the tokens that an owner ever
// received, at most a hundred. Entries are decoded one by one, so that an entry broken by a
// malicious contract does not hide the others.
type tokenPage struct {
	Address wallet.Address    `json:"address"`
	Tokens  []json.RawMessage `json:"tokenBalances"`
	PageKey string            `json:"pageKey"`
}

// tokenEntry has a null or missing balance if the index could not read it.
type tokenEntry struct {
	Contract string    `json:"contractAddress"`
	Balance  *quantity `json:"tokenBalance"`
}

// readToken returns the contract and the balance of an entry. The balance is nil if either cannot
// be read.
func readToken(raw json.RawMessage) (contract wallet.Address, balance *big.Int) {
	var t tokenEntry
	if err := json.Unmarshal(raw, &t); err != nil || t.Balance == nil {
		return contract, nil
	}
	contract, err := wallet.ParseAddress(t.Contract)
	if err != nil {
		return contract, nil
	}
	return contract, t.Balance.Int
}

const (
	maxTokenPages = 5
	maxPageKey    = 1 << 10 // bytes of a page key that is sent back
)

const (
	erc20Note = "ERC-20 tokens that an index of transfers saw this address receive, without those of balance 0. " +
		"Names are what contracts say of themselves."
	unreadNote  = " Left out, because their balance could not be read: %d."
	unnamedNote = " Some tokens could not be asked for their name this time."
)

// mirrors reports whether a token is the chain's own coin under another name, which would count it
// twice: the addresses that indexes use for it, and Polygon's contract that presents POL as a
// token.
func mirrors(id chain.ID, contract string) bool {
	switch contract {
	case "0x0000000000000000000000000000000000000000", "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE":
		return true
	case "0x0000000000000000000000000000000000001010":
		return id == chain.PolygonPoS
	}
	return false
}

// erc20 lists the tokens that an address holds. Pages of a hundred tokens are read one after the
// other, because each has the key of the next.
func (l *Ledger) erc20(ctx context.Context, id chain.ID, address string) ([]TokenBalance, string, error) {
	found, note, unread, key := map[wallet.Address]*big.Int{}, erc20Note, 0, ""
	for range maxTokenPages {
		var page tokenPage
		params := []any{address, "erc20"}
		if key != "" {
			params = append(params, map[string]string{"pageKey": key})
		}
		if err := askIndex(ctx, l.chains, &page, node.Query{
			Chain: id, Method: "alchemy_getTokenBalances", Params: params,
		}); err != nil {
			return nil, "", err
		}
		if page.Address.Checksummed() != address {
			return nil, "", noData(id, fmt.Errorf("asked for %s, balances of %s came", address, page.Address))
		}
		for _, raw := range page.Tokens {
			contract, balance := readToken(raw)
			switch {
			case balance == nil:
				unread++
			case balance.Sign() > 0 && !mirrors(id, contract.Checksummed()):
				found[contract] = balance
			}
		}
		if page.PageKey == "" || page.PageKey == key || len(page.PageKey) > maxPageKey {
			key = ""
			break
		}
		key = page.PageKey
	}
	if unread > 0 {
		note += fmt.Sprintf(unreadNote, unread)
	}
	contracts := slices.SortedFunc(maps.Keys(found), func(a, b wallet.Address) int {
		return slices.Compare(a[:], b[:])
	})
	if key != "" || len(contracts) > maxTokens {
		contracts, note = contracts[:min(len(contracts), maxTokens)], note+" "+cutNote
	}
	facts, all := l.facts.of(ctx, id, contracts)
	if !all {
		note += unnamedNote
	}
	tokens := make([]TokenBalance, len(contracts))
	for i, contract := range contracts {
		f, amount := facts[contract], found[contract]
		tokens[i] = TokenBalance{
			Contract: contract.Checksummed(), Standard: "erc20", Symbol: f.symbol, Name: f.name, Decimals: f.decimals,
			Balance: amount.String(), Formatted: formatted(amount, f.decimals),
		}
	}
	return tokens, note, nil
}
