package toolbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/toolbox/node"
)

// History is a page of the transfers from and to an address.
type History struct {
	Chain      chain.ID   `json:"chain"`
	Address    string     `json:"address" doc:"with the capitals of EIP-55"`
	Transfers  []Transfer `json:"transfers" doc:"the newest first; inside a block those that logs tell of by their place, the last first, then those of the coin"`
	NextCursor *string    `json:"next_cursor" nullable:"true" doc:"send it as cursor for the transfers before these; null when there are none"`
	CheckedAt  time.Time  `json:"checked_at"`
	UnitWeight plan.Units `json:"unit_weight" doc:"weighted units of a call"`
}

// Transfer is one movement of a coin or a token. An ERC-1155 event that moves several tokens is
// several transfers.
type Transfer struct {
	Hash        string     `json:"hash" doc:"hash of the transaction"`
	BlockNumber uint64     `json:"block_number"`
	Timestamp   *time.Time `json:"timestamp" nullable:"true" doc:"of the block; null where the index does not say"`
	From        string     `json:"from"`
	To          *string    `json:"to" nullable:"true" doc:"null where the transaction creates a contract"`
	Direction   string     `json:"direction" enum:"in,out,self" doc:"seen from the address; self is from it to itself"`
	Category    string     `json:"category" enum:"external,internal,erc20,erc721,erc1155" doc:"external: a transaction's own value of the coin, which may be 0; internal: coin that a contract sent, on Ethereum and Polygon only; else the standard of the token"`
	Asset       *string    `json:"asset" nullable:"true" doc:"symbol of the coin, or what the token calls itself, made fit to be shown; anybody may call a token so"`
	Contract    *string    `json:"contract" nullable:"true" doc:"of the token; null for the coin"`
	Decimals    *int       `json:"decimals" nullable:"true" doc:"null where they are not known, and for tokens that are not fungible"`
	Value       *string    `json:"value" nullable:"true" doc:"in whole coins or tokens, exactly; null where the decimals are not known"`
	ValueRaw    *string    `json:"value_raw" nullable:"true" doc:"in the smallest unit; 1 for a token of ERC-721"`
	TokenID     *string    `json:"token_id" nullable:"true" doc:"a decimal string, of ERC-721 and ERC-1155; else null"`
	ID          string     `json:"id" doc:"tells this transfer from all others of the chain"`
}

// HistoryPage selects the transfers to list.
type HistoryPage struct {
	Chain   chain.ID
	Address string // in canonical form
	Cursor  string // empty for the newest
	Limit   int    // at most MaxTransfers
}

// Limits of a page, and its default size.
const (
	UsualTransfers = 50
	MaxTransfers   = 100
)

var errOtherHead = errors.New("the head is no number")

// History lists transfers of an address of an EVM chain. Cursors are positions in the chain, not an
// upstream's: they never expire, work with any upstream, and are stable when new transfers arrive.
func (l *Ledger) History(ctx context.Context, p HistoryPage) (History, error) {
	owner, err := wallet.ParseAddress(p.Address)
	if err != nil {
		return History{}, fmt.Errorf("history of %s: %w", p.Address, err)
	}
	after, refusal := parseCursor(p.Chain, p.Address, p.Cursor)
	if refusal != nil {
		return History{}, refusal
	}
	if availability := l.chains.Availability(p.Chain, chain.Data); availability == upstream.Away ||
		availability == upstream.Absent {
		return History{}, noData(p.Chain, errNoIndex)
	}
	// Both directions are read up to the same block: a later one could be seen in one direction
	// only.
	until := after.block
	if p.Cursor == "" {
		if until, err = l.indexedHead(ctx, p.Chain); err != nil {
			return History{}, err
		}
	}
	m := merge{owner: owner, after: after, limit: p.Limit, until: until}
	m.sides = [2]side{
		{field: "fromAddress", size: p.Limit + roomForBlock}, {field: "toAddress", size: p.Limit + roomForBlock},
	}
	if err := l.fill(ctx, p, &m); err != nil {
		return History{}, err
	}
	answer := History{
		Chain: p.Chain, Address: p.Address, Transfers: make([]Transfer, min(p.Limit, len(m.ready))),
		CheckedAt: stamp(l.now()),
	}
	for i := range answer.Transfers {
		answer.Transfers[i] = m.ready[i].Transfer
	}
	if len(m.ready) > p.Limit {
		next := newCursor(p.Chain, owner, m.ready[p.Limit-1].position)
		answer.NextCursor = &next
	}
	return answer, nil
}

// indexedHead returns the head of an upstream that has an index.
func (l *Ledger) indexedHead(ctx context.Context, id chain.ID) (uint64, error) {
	var head quantity
	if err := askIndex(ctx, l.chains, &head, node.Query{Chain: id, Method: "eth_blockNumber"}); err != nil {
		return 0, err
	}
	if !head.IsUint64() {
		return 0, noData(id, errOtherHead)
	}
	return head.Uint64(), nil
}

// fill reads more of the side that holds up the merge, until the page is full or both sides have
// ended. At first it reads both sides in parallel.
func (l *Ledger) fill(ctx context.Context, p HistoryPage, m *merge) error {
	for range maxRounds {
		group, asking := parallel.WithContext(ctx)
		for _, s := range m.behind() {
			group.Go(func() error {
				var page transferPage
				q := node.Query{
					Chain: p.Chain, Method: "alchemy_getAssetTransfers", MaxAnswer: transfersAnswer,
					Params: []any{s.query(p.Chain, m)},
				}
				err := askIndex(asking, l.chains, &page, q)
				if err == nil {
					if err = s.take(&page, m); err != nil {
						err = noData(p.Chain, err)
					}
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		if m.full() {
			return nil
		}
	}
	return noData(p.Chain, errCrowdedBlock)
}

// Limits of one page. Both sides are first asked for somewhat more than the page, because the block
// in which it ends must be complete. If that is not enough, they are asked for an upstream's
// maximum.
const (
	roomForBlock    = 25
	maxAtOnce       = 1_000
	maxRounds       = 10
	transfersAnswer = 4 << 20
)

var errCrowdedBlock = errors.New("one block has more transfers of the address than are read for a page")

// query returns the parameters for the next transfers of a side.
func (s *side) query(id chain.ID, m *merge) map[string]any {
	q := map[string]any{
		s.field: m.owner.Checksummed(), "fromBlock": "0x0", "toBlock": hexutil.EncodeUint64(m.until),
		"category": categoriesOf(id), "order": "desc", //nolint:gosec // positive
		"withMetadata": true, "excludeZeroValue": false, "maxCount": hexutil.EncodeUint64(uint64(s.size)),
	}
	if s.pageKey != "" {
		q["pageKey"] = s.pageKey
	}
	return q
}

// categoriesOf returns the kinds of transfers that providers list on a chain. Internal transfers
// need traces, which they have for two chains.
func categoriesOf(id chain.ID) []string {
	if id == chain.EthMainnet || id == chain.PolygonPoS {
		return []string{"external", "internal", "erc20", "erc721", "erc1155"}
	}
	return []string{"external", "erc20", "erc721", "erc1155"}
}
