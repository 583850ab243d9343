package toolbox

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/node"
)

// splPrograms are the programs that own Solana's tokens: the original one and Token-2022.
var splPrograms = [...]struct{ id, standard string }{
	{"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "spl-token"},
	{"TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb", "spl-token-2022"},
}

const (
	// commitment is what the cluster has voted for, the closest equivalent of an EVM chain's newest
	// block.
	commitment   = "confirmed"
	splAnswer    = 8 << 20 // of one program: an account is about 600 bytes
	maxSPLDigits = 20      // of a 64-bit amount
	splNote      = "SPL tokens of the Token and the Token-2022 program, those of several accounts of one mint added " +
		"up, without those of balance 0. Names are not part of them: look the mint up."
	splUnread = " Accounts left out, because they could not be read: %d."
)

// lamports returns the balance of SOL.
func (l *Ledger) lamports(ctx context.Context, id chain.ID, address string) (*big.Int, error) {
	var balance struct {
		Value *uint64 `json:"value"`
	}
	q := node.Query{
		Chain: id, Method: "getBalance", Params: []any{address, map[string]string{"commitment": commitment}},
	}
	if err := askAny(ctx, l.chains, &balance, q); err != nil {
		return nil, err
	}
	if balance.Value == nil {
		return nil, unusable(id, q.Method, errNull)
	}
	return new(big.Int).SetUint64(*balance.Value), nil
}

// splAccount is a token account of an owner in jsonParsed encoding.
type splAccount struct {
	Account struct {
		Data json.RawMessage `json:"data"` // another encoding if the node cannot parse it
	} `json:"account"`
}

type parsedAccount struct {
	Parsed struct {
		Info struct {
			Mint   string `json:"mint"`
			Owner  string `json:"owner"`
			Amount struct {
				Amount   string `json:"amount"`
				Decimals *int   `json:"decimals"`
			} `json:"tokenAmount"`
		} `json:"info"`
	} `json:"parsed"`
}

// holding is the sum of the accounts of one mint.
type holding struct {
	amount   *big.Int
	decimals *int
	accounts int
	standard string
}

// spl lists the tokens that an address holds, of both programs in parallel.
func (l *Ledger) spl(ctx context.Context, id chain.ID, address string) ([]TokenBalance, string, error) {
	var accounts [len(splPrograms)][]splAccount
	group, asking := parallel.WithContext(ctx)
	for i, program := range splPrograms {
		group.Go(func() error {
			var result struct {
				Value []splAccount `json:"value"`
			}
			err := askIndex(asking, l.chains, &result, node.Query{
				Chain: id, Method: "getTokenAccountsByOwner", MaxAnswer: splAnswer, Params: []any{
					address, map[string]string{"programId": program.id}, map[string]string{
						"encoding": "jsonParsed", "commitment": commitment,
					},
				},
			})
			accounts[i] = result.Value
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, "", err
	}
	held, unread, note := map[string]*holding{}, 0, splNote
	for i := range accounts {
		for _, a := range accounts[i] {
			if !hold(held, a, address, splPrograms[i].standard) {
				unread++
			}
		}
	}
	maps.DeleteFunc(held, func(_ string, h *holding) bool { return h.amount.Sign() == 0 })
	mints := slices.Sorted(maps.Keys(held))
	if unread > 0 {
		note += fmt.Sprintf(splUnread, unread)
	}
	if len(mints) > maxTokens {
		mints, note = mints[:maxTokens], note+" "+cutNote
	}
	tokens := make([]TokenBalance, len(mints))
	for i, mint := range mints {
		h := held[mint]
		tokens[i] = TokenBalance{
			Contract: mint, Standard: h.standard, Decimals: h.decimals, Balance: h.amount.String(),
			Formatted: formatted(h.amount, h.decimals), Accounts: h.accounts,
		}
	}
	return tokens, note, nil
}

// hold adds an account to its owner's holding of the mint; false if it cannot be read or has
// another owner.
func hold(held map[string]*holding, a splAccount, owner, standard string) bool {
	var parsed parsedAccount
	if json.Unmarshal(a.Account.Data, &parsed) != nil {
		return false
	}
	info := &parsed.Parsed.Info
	amount, ok := splAmount(info.Amount.Amount)
	if !ok || info.Owner != owner || !isSolanaKey(info.Mint) || info.Amount.Decimals == nil {
		return false
	}
	h := held[info.Mint]
	if h == nil {
		h = &holding{amount: new(big.Int), decimals: info.Amount.Decimals, standard: standard}
		held[info.Mint] = h
	}
	h.amount.Add(h.amount, amount)
	if amount.Sign() > 0 {
		h.accounts++
	}
	return true
}

func splAmount(text string) (*big.Int, bool) {
	if text == "" || len(text) > maxSPLDigits {
		return nil, false
	}
	amount, ok := new(big.Int).SetString(text, 10)
	return amount, ok && amount.Sign() >= 0
}
