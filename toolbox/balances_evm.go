package toolbox

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/toolbox/node"
	"github.com/chainaccess/gateway/wallet"
)

// tokenPage is a result of alchemy_getTokenBalances for "erc20": the tokens that an owner ever had to do with, a hundred at most. Of balance
// and error one is null or left out.
type tokenPage struct {
	Address wallet.Address `json:"address"`
	Tokens  []struct {
		Contract string    `json:"contractAddress"`
		Balance  *quantity `json:"tokenBalance"`
		Error    *string   `json:"error"`
	} `json:"tokenBalances"`
	PageKey string `json:"pageKey"`
}

const (
	mostTokenPages = 5
	mostPageKey    = 1 << 10 // bytes of one that are sent back
)

const (
	erc20Note   = "ERC-20 tokens that an index of transfers saw this address receive, without those of balance 0. Names are what contracts say of themselves."
	unreadNote  = " Left out, because their balance could not be read: %d."
	unnamedNote = " Some tokens could not be asked for their name this time."
)

// mirrors says whether a token is the chain's own coin under another name, which would count it twice: the addresses by which indexes mean
// it, and the contract that shows Polygon's as a token.
func mirrors(id chain.ID, contract string) bool {
	switch contract {
	case "0x0000000000000000000000000000000000000000", "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE":
		return true
	case "0x0000000000000000000000000000000000001010":
		return id == chain.PolygonPoS
	}
	return false
}

// erc20 lists the tokens that an address holds. The pages follow each other, because each names the next; a hundred tokens are one.
func (l *Ledger) erc20(ctx context.Context, id chain.ID, address string) ([]TokenBalance, string, error) {
	found, note, unread, key := map[wallet.Address]*quantity{}, erc20Note, 0, ""
	for range mostTokenPages {
		var page tokenPage
		params := []any{address, "erc20"}
		if key != "" {
			params = append(params, map[string]string{"pageKey": key})
		}
		if err := askIndex(ctx, l.chains, &page, node.Query{Chain: id, Method: "alchemy_getTokenBalances", Params: params}); err != nil {
			return nil, "", err
		}
		if page.Address.Checksummed() != address {
			return nil, "", noData(id, fmt.Errorf("asked for %s, balances of %s came", address, page.Address))
		}
		for _, t := range page.Tokens {
			contract, err := wallet.ParseAddress(t.Contract)
			switch {
			case err != nil || mirrors(id, contract.Checksummed()):
			case t.Balance == nil || t.Balance.Int == nil:
				unread++
			case t.Balance.Sign() > 0:
				found[contract] = t.Balance
			}
		}
		if page.PageKey == "" || page.PageKey == key || len(page.PageKey) > mostPageKey {
			key = ""
			break
		}
		key = page.PageKey
	}
	if unread > 0 {
		note += fmt.Sprintf(unreadNote, unread)
	}
	contracts := slices.SortedFunc(maps.Keys(found), func(a, b wallet.Address) int { return slices.Compare(a[:], b[:]) })
	if key != "" || len(contracts) > mostTokens {
		contracts, note = contracts[:min(len(contracts), mostTokens)], note+" "+cutNote
	}
	facts, all := l.facts.of(ctx, id, contracts)
	if !all {
		note += unnamedNote
	}
	tokens := make([]TokenBalance, len(contracts))
	for i, contract := range contracts {
		f, amount := facts[contract], found[contract].Int
		tokens[i] = TokenBalance{
			Contract: contract.Checksummed(), Standard: "erc20", Symbol: f.symbol, Name: f.name, Decimals: f.decimals,
			Balance: amount.String(), Formatted: formatted(amount, f.decimals),
		}
	}
	return tokens, note, nil
}
