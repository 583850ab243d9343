package indexer

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// TransferQuery is the parameter of alchemy_getAssetTransfers.
type TransferQuery struct {
	FromBlock         *blockNumber     `json:"fromBlock"`
	ToBlock           *blockNumber     `json:"toBlock"`
	FromAddress       *common.Address  `json:"fromAddress"`
	ToAddress         *common.Address  `json:"toAddress"`
	ContractAddresses []common.Address `json:"contractAddresses"`
	Category          []string         `json:"category"`
	ExcludeZeroValue  *bool            `json:"excludeZeroValue"`
	WithMetadata      bool             `json:"withMetadata"`
	Order             string           `json:"order"`
	MaxCount          *hexutil.Uint64  `json:"maxCount"`
	PageKey           string           `json:"pageKey"`
}

// blockNumber is a hexadecimal number or a tag. For tags of the head, number is zero and head is
// true.
type blockNumber struct {
	number uint64
	head   bool
}

// UnmarshalJSON parses "0x1f", 31, or a tag.
func (b *blockNumber) UnmarshalJSON(raw []byte) error {
	var n hexutil.Uint64
	switch text := strings.Trim(string(raw), `"`); text {
	case "latest", "indexed", "pending", "safe", "finalized":
		b.head = true
		return nil
	case "earliest":
		return nil
	default:
		if !strings.HasPrefix(text, "0x") {
			return json.Unmarshal(raw, &b.number)
		}
		if err := n.UnmarshalText([]byte(text)); err != nil {
			return err
		}
		b.number = uint64(n)
		return nil
	}
}

// MarshalJSON encodes it for the comparison of queries.
func (b *blockNumber) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `[%d,%t]`, b.number, b.head), nil
}

// Transfers is the result of alchemy_getAssetTransfers.
type Transfers struct {
	Transfers []TransferView `json:"transfers"`
	PageKey   string         `json:"pageKey,omitempty"`
}

// TransferView is a transfer in the method's result.
type TransferView struct {
	BlockNum    hexutil.Uint64  `json:"blockNum"`
	UniqueID    string          `json:"uniqueId"`
	Hash        common.Hash     `json:"hash"`
	From        lowerAddress    `json:"from"`
	To          *lowerAddress   `json:"to"`
	Value       *float64        `json:"value"`
	ERC721ID    *hexutil.Big    `json:"erc721TokenId"`
	ERC1155     []batchItem     `json:"erc1155Metadata"`
	TokenID     *hexutil.Big    `json:"tokenId"`
	Asset       *string         `json:"asset"`
	Category    string          `json:"category"`
	RawContract rawContract     `json:"rawContract"`
	Metadata    *blockTimestamp `json:"metadata,omitempty"`
}

type rawContract struct {
	Value   *hexutil.Big    `json:"value"`
	Address *lowerAddress   `json:"address"`
	Decimal *hexutil.Uint64 `json:"decimal"`
}

type blockTimestamp struct {
	BlockTimestamp string `json:"blockTimestamp"`
}

// lowerAddress is encoded in lower case, without EIP-55's checksum.
type lowerAddress common.Address

// MarshalText returns 0x and 40 lower-case digits.
func (a lowerAddress) MarshalText() ([]byte, error) { return hexutil.Bytes(a[:]).MarshalText() }

const (
	maxCount    = 1_000
	coinDecimal = 18
	timeLayout  = "2006-01-02T15:04:05.000Z"
)

var categories = []string{
	categoryExternal, categoryInternal, categoryERC20, categoryERC721, categoryERC1155, categorySpecial,
}

// GetAssetTransfers implements alchemy_getAssetTransfers.
func (x *Indexer) GetAssetTransfers(ctx context.Context, q TransferQuery) (*Transfers, error) {
	if err := x.check(&q); err != nil {
		return nil, err
	}
	at := page{head: x.cfg.Chain.CurrentBlock().Number.Uint64()}
	if q.PageKey != "" {
		var ok bool
		if at, ok = x.pages.open(q); !ok {
			return nil, invalid("pageKey is invalid or has expired, please try again with a valid page key")
		}
	}
	found, more, err := x.find(ctx, q, at)
	if err != nil {
		return nil, err
	}
	answer := &Transfers{Transfers: make([]TransferView, len(found))}
	for i := range found {
		answer.Transfers[i] = x.view(ctx, &found[i], q.WithMetadata)
	}
	if more {
		answer.PageKey = x.pages.mark(q, page{place: at.place + len(found), head: at.head})
	}
	return answer, nil
}

func (x *Indexer) check(q *TransferQuery) error {
	if len(q.Category) == 0 || slices.ContainsFunc(q.Category, func(c string) bool {
		return !slices.Contains(categories, c)
	}) {
		return invalid("Invalid category param: category must be a non-empty list containing the possible values: {%s}",
			strings.Join(categories, ", "))
	}
	if slices.Contains(q.Category, categoryInternal) && !x.cfg.Internal {
		return &refusal{
			-32600, fmt.Sprintf(`Provided network %s does not support these requested categories: ["internal"]`,
				x.cfg.Network),
		}
	}
	switch q.Order {
	case "", "asc", "desc":
	default:
		return invalid(`Invalid order param: order must be one of "asc", "desc"`)
	}
	if q.MaxCount != nil && (*q.MaxCount == 0 || *q.MaxCount > maxCount) {
		return invalid("Invalid maxCount param: maxCount must be between 0x1 and 0x3e8")
	}
	return nil
}

// find returns a page of the matching transfers, and whether there are more.
func (x *Indexer) find(ctx context.Context, q TransferQuery, at page) (found []transfer, more bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	from, to := uint64(0), at.head
	if b := q.FromBlock; b != nil && b.head {
		from = at.head
	} else if b != nil {
		from = b.number
	}
	if b := q.ToBlock; b != nil && !b.head {
		to = min(b.number, at.head)
	}
	if err := x.catchUp(ctx, to); err != nil {
		return nil, false, err
	}
	limit := maxCount
	if q.MaxCount != nil {
		limit = int(*q.MaxCount) //nolint:gosec // checked
	}
	skipped := 0
	for i := range x.transfers {
		t := &x.transfers[i]
		if q.Order == "desc" {
			t = &x.transfers[len(x.transfers)-1-i]
		}
		switch {
		case t.block < from || t.block > to || !q.matches(t):
		case skipped < at.place:
			skipped++
		case len(found) == limit:
			return found, true, nil
		default:
			found = append(found, *t)
		}
	}
	return found, false, nil
}

func (q *TransferQuery) matches(t *transfer) bool {
	switch {
	case !slices.Contains(q.Category, t.category):
	case q.FromAddress != nil && *q.FromAddress != t.from:
	case q.ToAddress != nil && (t.to == nil || *q.ToAddress != *t.to):
	case len(q.ContractAddresses) > 0 && t.contract != nil && !slices.Contains(q.ContractAddresses, *t.contract):
	case (q.ExcludeZeroValue == nil || *q.ExcludeZeroValue) && t.value != nil && t.value.Sign() == 0:
	default:
		return true
	}
	return false
}

// view returns a transfer as the method shows it. The method itself defines value as a
// floating-point number; rawContract has the exact value.
func (x *Indexer) view(ctx context.Context, t *transfer, withMetadata bool) TransferView {
	v := TransferView{
		BlockNum: hexutil.Uint64(t.block), UniqueID: t.id, Hash: t.hash, From: lowerAddress(t.from),
		To: (*lowerAddress)(t.to), Category: t.category, ERC1155: t.batch, RawContract: rawContract{
			Address: (*lowerAddress)(t.contract), Value: (*hexutil.Big)(t.value),
		},
	}
	if t.tokenID != nil {
		v.ERC721ID, v.TokenID = (*hexutil.Big)(t.tokenID), (*hexutil.Big)(t.tokenID)
	}
	decimals := hexutil.Uint64(coinDecimal)
	if t.contract == nil {
		v.Asset, v.RawContract.Decimal = &x.cfg.Coin, &decimals
	} else if facts, err := x.metadata(ctx, *t.contract); err == nil {
		v.Asset = facts.Symbol
		if t.category == categoryERC20 && facts.Decimals != nil {
			decimals = hexutil.Uint64(*facts.Decimals)
			v.RawContract.Decimal = &decimals
		}
	}
	if t.value != nil && v.RawContract.Decimal != nil {
		//nolint:gosec // below 256
		value, _ := new(big.Rat).SetFrac(t.value, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)),
			nil)).Float64()
		v.Value = &value
	}
	if withMetadata {
		v.Metadata = &blockTimestamp{time.Unix(int64(t.at), 0).UTC().Format(timeLayout)} //nolint:gosec // a date
	}
	return v
}
