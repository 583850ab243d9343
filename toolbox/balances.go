package toolbox

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/toolbox/node"
)

// Balances is what an address holds on a chain. Amounts are decimal strings.
type Balances struct {
	Chain      chain.ID       `json:"chain"`
	Address    string         `json:"address" doc:"with the capitals of EIP-55, or base58"`
	Native     NativeBalance  `json:"native" doc:"the chain's own coin"`
	Tokens     []TokenBalance `json:"tokens" nullable:"true" doc:"ERC-20 or SPL tokens of which it holds some, in the order of their addresses; null where they are not known, which tokens_note explains"`
	TokensNote string         `json:"tokens_note" doc:"what to know of the list of tokens"`
	CheckedAt  time.Time      `json:"checked_at"`
	UnitWeight plan.Units     `json:"unit_weight" doc:"weighted units of a call"`
}

// NativeBalance is an amount of a chain's coin.
type NativeBalance struct {
	Symbol    string `json:"symbol"`
	Decimals  int    `json:"decimals"`
	Balance   string `json:"balance" doc:"in the smallest unit: wei, or lamports on Solana"`
	Formatted string `json:"formatted" doc:"in whole coins, exactly"`
}

// TokenBalance is an amount of a token. Name and symbol are what the contract claims: anybody may
// deploy a token with another's name, and only the contract's address distinguishes them.
type TokenBalance struct {
	Contract  string  `json:"contract" doc:"address of the token's contract; on Solana of its mint"`
	Standard  string  `json:"standard" enum:"erc20,spl-token,spl-token-2022" doc:"what the token is; on Solana by the program that it belongs to"`
	Symbol    *string `json:"symbol" nullable:"true" doc:"what the contract calls itself, made fit to be shown, at most 32 characters; null where it says nothing readable, and on Solana"`
	Name      *string `json:"name" nullable:"true" doc:"as symbol, at most 64 characters"`
	Decimals  *int    `json:"decimals" nullable:"true" doc:"null where the contract does not say"`
	Balance   string  `json:"balance" doc:"in the token's smallest unit"`
	Formatted *string `json:"formatted" nullable:"true" doc:"in whole tokens, exactly; null where the decimals are not known, or are more than 77"`
	Accounts  int     `json:"accounts,omitempty" doc:"Solana: how many token accounts the balance is the sum of"`
}

// Ledger reads balances and transfers of addresses.
type Ledger struct {
	chains dataCaller
	known  *chain.Set
	facts  *tokenCache
	now    func() time.Time
}

// NewLedger returns a Ledger for the known chains that reads from chains.
func NewLedger(chains dataCaller, known *chain.Set, now func() time.Time) *Ledger {
	return &Ledger{chains, known, newTokenCache(chains, now), now}
}

const (
	maxTokens = 500 // of one answer
	cutNote   = "It holds more tokens than are listed in one answer; these are some of them."
)

var errNoIndex = errors.New("an upstream that has an index is known, and cannot be used")

// Balances returns what an address in canonical form (ParseAddress) holds: the native coin from any
// upstream, tokens from upstreams with an index of owners, in parallel. If no upstream has an
// index, Tokens is nil and the note says so. If one has but is not usable now, the error is
// fault.NoUpstream.
func (l *Ledger) Balances(ctx context.Context, id chain.ID, address string) (Balances, error) {
	on, ok := l.known.Lookup(string(id))
	if !ok {
		return Balances{}, fmt.Errorf("%s is not a chain of this gateway", id)
	}
	answer := Balances{Chain: id, Address: address, CheckedAt: stamp(l.now())}
	availability := l.chains.Availability(id, chain.Data)
	if availability == upstream.Away {
		return Balances{}, noData(id, errNoIndex)
	}
	native, tokens := l.evmCoin, l.erc20
	if id == chain.SolanaMainnet {
		native, tokens = l.lamports, l.spl
	}
	group, asking := parallel.WithContext(ctx)
	group.Go(func() error {
		amount, err := native(asking, id, address)
		if err == nil {
			symbol, decimals := on.Coin()
			answer.Native = NativeBalance{
				Symbol: symbol, Decimals: decimals, Balance: amount.String(), Formatted: decimal(amount, decimals),
			}
		}
		return err
	})
	if availability == upstream.Absent {
		answer.TokensNote = "No upstream of this chain keeps tokens by owner here, so tokens are not known; ask a " +
			"token's balanceOf through the relay."
	} else {
		group.Go(func() (err error) {
			answer.Tokens, answer.TokensNote, err = tokens(asking, id, address)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Balances{}, err
	}
	return answer, nil
}

// evmCoin returns the balance of the native coin in wei.
func (l *Ledger) evmCoin(ctx context.Context, id chain.ID, address string) (*big.Int, error) {
	var balance quantity
	if err := askAny(ctx, l.chains, &balance, node.Query{
		Chain: id, Method: "eth_getBalance", Params: []any{address, "latest"},
	}); err != nil {
		return nil, err
	}
	return balance.Int, nil
}
