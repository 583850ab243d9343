package solana

import (
	"slices"
)

const (
	maxSlotRange   = 500_000
	maxFeeSamples  = 150
	sampleBlocks   = 145 // non-skipped slots in about a minute
	sampleSeconds  = 60
	maxPerfSamples = 720
)

func getSlot(n *Node, p *params) (any, error) {
	at, _, err := viewAt(n, p, 0)
	if err != nil {
		return nil, err
	}
	return at.slot, nil
}

func getBlockHeight(n *Node, p *params) (any, error) {
	at, _, err := viewAt(n, p, 0)
	if err != nil {
		return nil, err
	}
	return at.height, nil
}

func getLatestBlockhash(n *Node, p *params) (any, error) {
	at, _, err := viewAt(n, p, 0)
	if err != nil {
		return nil, err
	}
	return inContext(at, blockhashView{at.hash, at.height + maxAge}), nil
}

type blockhashView struct {
	Blockhash            key    `json:"blockhash"`
	LastValidBlockHeight uint64 `json:"lastValidBlockHeight"`
}

func isBlockhashValid(n *Node, p *params) (any, error) {
	hash, at, _, err := keyAndView(n, p)
	if err != nil {
		return nil, err
	}
	return inContext(at, n.ledger.valid(hash, at.height)), nil
}

// lookup returns a block that the commitment includes, or one of the documented errors.
func (n *Node) lookup(slot uint64, o options) (*block, error) {
	if o.Commitment == processed {
		return nil, invalidParams("Method does not support commitment below `confirmed`")
	}
	at, err := n.atCommitment(o.Commitment)
	if err != nil {
		return nil, err
	}
	first := n.ledger.blocks[0].slot
	switch b, _ := n.ledger.find(slot); {
	case slot > at.slot:
		return nil, blockNotAvailable(slot)
	case slot < first:
		return nil, blockCleanedUp(slot, first)
	case b == nil:
		return nil, slotSkipped(slot)
	default:
		return b, nil
	}
}

func getBlock(n *Node, p *params) (any, error) {
	slot, err := p.slot(0)
	if err != nil {
		return nil, err
	}
	o, err := p.options(1)
	if err != nil {
		return nil, err
	}
	b, err := n.lookup(slot, o)
	if err != nil {
		return nil, err
	}
	view := map[string]any{
		"blockHeight": b.height, "blockTime": b.time, "blockhash": b.hash, "parentSlot": b.parentSlot,
		"previousBlockhash": b.previousHash,
	}
	switch o.TransactionPart {
	case "", "full", "accounts":
		all := make([]map[string]any, len(b.transactions))
		for i, tx := range b.transactions {
			if all[i], err = tx.view(o); err != nil {
				return nil, err
			}
		}
		view["transactions"] = all
	case "signatures":
		all := make([]signature, len(b.transactions))
		for i, tx := range b.transactions {
			all[i] = tx.signatures[0]
		}
		view["signatures"] = all
	case "none":
	default:
		return nil, invalidParams(
			"Invalid params: unknown variant `%s`, expected one of `full`, `signatures`, `none`, `accounts`.",
			o.TransactionPart)
	}
	if o.Rewards == nil || *o.Rewards {
		view["rewards"] = []map[string]any{{
			"pubkey": n.identity, "lamports": b.reward, "postBalance": b.leaderBalance, "rewardType": "Fee",
			"commission": nil,
		}}
		view["numRewardPartitions"] = nil
	}
	return view, nil
}

func getBlockTime(n *Node, p *params) (any, error) {
	slot, err := p.slot(0)
	if err != nil {
		return nil, err
	}
	if slot == 0 {
		return genesisUnix, nil
	}
	b, err := n.lookup(slot, options{Commitment: confirmed})
	if err != nil {
		return nil, err
	}
	return b.time, nil
}

func (n *Node) slots(from, to uint64, o options) ([]uint64, error) {
	if o.Commitment == processed {
		return nil, invalidParams("Method does not support commitment below `confirmed`")
	}
	at, err := n.view(o)
	if err != nil {
		return nil, err
	}
	found := []uint64{}
	_, i := n.ledger.find(from)
	for _, b := range n.ledger.blocks[i:] {
		if b.slot > min(to, at.slot) {
			break
		}
		found = append(found, b.slot)
	}
	return found, nil
}

func getBlocks(n *Node, p *params) (any, error) {
	from, err := p.slot(0)
	if err != nil {
		return nil, err
	}
	to, next := n.ledger.tip().slot, 1
	if p.has(1) && p.values[1][0] != '{' {
		if to, err = p.slot(1); err != nil {
			return nil, err
		}
		next = 2
	} else if len(p.values) > 2 {
		next = 2
	}
	o, err := p.options(next)
	if err != nil {
		return nil, err
	}
	if to >= from && to-from > maxSlotRange {
		return nil, invalidParams("Slot range too large; max %d", maxSlotRange)
	}
	return n.slots(from, to, o)
}

func getBlocksWithLimit(n *Node, p *params) (any, error) {
	from, err := p.slot(0)
	if err != nil {
		return nil, err
	}
	limit, err := p.slot(1)
	if err != nil {
		return nil, err
	}
	if limit > maxSlotRange {
		return nil, invalidParams("Limit too large; max %d", maxSlotRange)
	}
	o, err := p.options(2)
	if err != nil {
		return nil, err
	}
	found, err := n.slots(from, n.ledger.tip().slot, o)
	if err != nil {
		return nil, err
	}
	return found[:min(uint64(len(found)), limit)], nil
}

func getFirstAvailableBlock(n *Node, _ *params) (any, error) { return n.ledger.blocks[0].slot, nil }

func getTransactionCount(n *Node, p *params) (any, error) {
	at, _, err := viewAt(n, p, 0)
	if err != nil {
		return nil, err
	}
	return n.countAt(at), nil
}

// countAt returns the number of transactions up to a block.
func (n *Node) countAt(at *block) uint64 {
	count := n.ledger.count
	for _, b := range slices.Backward(n.ledger.blocks) {
		if b.slot <= at.slot {
			break
		}
		count -= uint64(len(b.transactions))
	}
	return count
}

func getBlockCommitment(n *Node, p *params) (any, error) {
	slot, err := p.slot(0)
	if err != nil {
		return nil, err
	}
	view := map[string]any{"commitment": nil, "totalStake": stake}
	if b, i := n.ledger.find(slot); b != nil {
		depth := min(len(n.ledger.blocks)-1-i, finalizedDepth)
		votes := make([]uint64, finalizedDepth+1)
		votes[depth] = stake
		view["commitment"] = votes
	}
	return view, nil
}

func getRecentPrioritizationFees(n *Node, p *params) (any, error) {
	var accounts []key
	if p.has(0) {
		var err error
		if accounts, err = p.keys(0, 128); err != nil {
			return nil, err
		}
	}
	type fee struct {
		Slot uint64 `json:"slot"`
		Fee  uint64 `json:"prioritizationFee"`
	}
	blocks := n.ledger.blocks[max(0, len(n.ledger.blocks)-maxFeeSamples):]
	fees := make([]fee, len(blocks))
	for i, b := range blocks {
		fees[i] = fee{b.slot, b.leastFee(accounts)}
	}
	return fees, nil
}

// leastFee returns the lowest price per unit of the block's transactions that write-lock all the
// accounts.
func (b *block) leastFee(accounts []key) uint64 {
	least, found := uint64(0), false
	for _, tx := range b.transactions {
		locks := true
		for _, k := range accounts {
			i := slices.Index(tx.keys, k)
			locks = locks && i >= 0 && tx.isWritable(i)
		}
		if locks && (!found || tx.unitPrice < least) {
			least, found = tx.unitPrice, true
		}
	}
	return least
}

func getRecentPerformanceSamples(n *Node, p *params) (any, error) {
	limit := uint64(maxPerfSamples)
	if p.has(0) {
		var err error
		if limit, err = p.slot(0); err != nil {
			return nil, err
		}
		if limit > maxPerfSamples {
			return nil, invalidParams("Invalid limit; max %d", maxPerfSamples)
		}
	}
	samples := []map[string]any{}
	for end := len(n.ledger.blocks); end >= sampleBlocks && uint64(len(samples)) < limit; end -= sampleBlocks {
		window := n.ledger.blocks[end-sampleBlocks : end]
		count := 0
		for _, b := range window {
			count += len(b.transactions)
		}
		samples = append(samples, map[string]any{
			"slot": window[len(window)-1].slot, "numTransactions": count, "numNonVoteTransactions": count,
			"numSlots": window[len(window)-1].slot - window[0].slot + 1, "samplePeriodSecs": sampleSeconds,
		})
	}
	return samples, nil
}
