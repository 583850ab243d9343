package toolbox

import (
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/chainaccess/gateway/identity/wallet"
)

// transferPage is a result of alchemy_getAssetTransfers.
type transferPage struct {
	Transfers []assetTransfer `json:"transfers"`
	PageKey   string          `json:"pageKey"`
}

// assetTransfer is one of its transfers. Its floating-point value is not decoded: rawContract has
// the exact one.
type assetTransfer struct {
	Block    hexutil.Uint64  `json:"blockNum"`
	ID       string          `json:"uniqueId"` // "<hash>:external", "<hash>:log:<number>", …
	Hash     common.Hash     `json:"hash"`
	From     wallet.Address  `json:"from"`
	To       *wallet.Address `json:"to"`
	Category string          `json:"category"`
	Asset    *string         `json:"asset"`
	TokenID  *quantity       `json:"tokenId"`
	ERC721ID *quantity       `json:"erc721TokenId"`
	ERC1155  []struct {
		TokenID *quantity `json:"tokenId"`
		Value   *quantity `json:"value"`
	} `json:"erc1155Metadata"`
	Raw struct {
		Value    *quantity       `json:"value"`
		Address  *wallet.Address `json:"address"`
		Decimals *quantity       `json:"decimal"`
	} `json:"rawContract"`
	Metadata struct {
		Timestamp string `json:"blockTimestamp"`
	} `json:"metadata"`
}

const (
	maxTransferID = 256 // bytes
	assetLength   = 32
)

var (
	errNoID    = errors.New("it has no id that tells it from others")
	errNotMine = errors.New("it is neither from the address nor to it")
	errKind    = errors.New("its category was not asked for")
)

// read returns the transfer in the form for clients; several for an ERC-1155 event that moves
// several tokens.
func (a *assetTransfer) read(owner wallet.Address) ([]placed, error) {
	if a.ID == "" || len(a.ID) > maxTransferID {
		return nil, errNoID
	}
	t := Transfer{
		Hash: a.Hash.Hex(), BlockNumber: uint64(a.Block), From: a.From.Checksummed(), To: checksummed(a.To),
		Category: a.Category, Contract: checksummed(a.Raw.Address), ID: a.ID,
	}
	if a.Asset != nil {
		t.Asset = label(*a.Asset, assetLength)
	}
	if at, err := time.Parse(time.RFC3339, a.Metadata.Timestamp); err == nil {
		at = at.UTC()
		t.Timestamp = &at
	}
	out, in := a.From == owner, a.To != nil && *a.To == owner
	switch {
	case out && in:
		t.Direction = "self"
	case out:
		t.Direction = "out"
	case in:
		t.Direction = "in"
	default:
		return nil, errNotMine
	}
	switch a.Category {
	case "external", "internal":
		t.Contract = nil
		t.setAmount(a.Raw.Value, a.Raw.Decimals)
	case "erc20":
		t.setAmount(a.Raw.Value, a.Raw.Decimals)
	case "erc721":
		t.setToken(firstOf(a.ERC721ID, a.TokenID), &quantity{big.NewInt(1)})
	case "erc1155":
		return a.readBatch(t), nil
	default:
		return nil, fmt.Errorf("%w: %.40q", errKind, a.Category)
	}
	return []placed{{t, positionOf(t.BlockNumber, a.ID, 0)}}, nil
}

// readBatch returns one transfer per token that an ERC-1155 event moves.
func (a *assetTransfer) readBatch(t Transfer) []placed {
	if len(a.ERC1155) == 0 {
		t.setToken(a.TokenID, a.Raw.Value)
		return []placed{{t, positionOf(t.BlockNumber, a.ID, 0)}}
	}
	all := make([]placed, len(a.ERC1155))
	for i, item := range a.ERC1155 {
		one := t
		one.setToken(item.TokenID, item.Value)
		if len(all) > 1 {
			one.ID = fmt.Sprintf("%s:%d", a.ID, i)
		}
		all[i] = placed{one, positionOf(t.BlockNumber, a.ID, i)}
	}
	return all
}

// setAmount sets the amount of fungible assets.
func (t *Transfer) setAmount(value, decimals *quantity) {
	if decimals != nil && decimals.Int != nil && decimals.IsInt64() && decimals.Int64() < 256 {
		n := int(decimals.Int64())
		t.Decimals = &n
	}
	if value != nil && value.Int != nil {
		t.ValueRaw, t.Value = text(value), formatted(value.Int, t.Decimals)
	}
}

// setToken sets the token and the count of non-fungible assets.
func (t *Transfer) setToken(id, pieces *quantity) {
	t.TokenID, t.Value, t.ValueRaw = text(id), text(pieces), text(pieces)
}

func text(q *quantity) *string {
	if q == nil || q.Int == nil {
		return nil
	}
	digits := q.String()
	return &digits
}

func firstOf(a, b *quantity) *quantity {
	if a != nil && a.Int != nil {
		return a
	}
	return b
}

func checksummed(a *wallet.Address) *string {
	if a == nil {
		return nil
	}
	shown := a.Checksummed()
	return &shown
}
