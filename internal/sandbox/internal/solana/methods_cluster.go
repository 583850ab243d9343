package solana

import (
	"math"
	"slices"
)

const (
	solanaVersion = "3.0.10"
	featureSet    = 3_604_001_754
	shredVersion  = 50_093
	// genesisHash is that of mainnet, which the sandbox replaces.
	genesisHash   = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
	slotsPerEpoch = 432_000
	stake         = 400_000_000 * lamportsPerSOL
	slotsPerYear  = 78_892_314.984
)

// methods are all methods of the scripted node.
var methods = map[string]method{
	"getAccountInfo": getAccountInfo, "getBalance": getBalance, "getMultipleAccounts": getMultipleAccounts,
	"getMinimumBalanceForRentExemption": getMinimumBalanceForRentExemption, "getLargestAccounts": getLargestAccounts,
	"getSupply": getSupply, "getTokenAccountBalance": getTokenAccountBalance, "getTokenSupply": getTokenSupply,
	"getTokenLargestAccounts": getTokenLargestAccounts, "getTokenAccountsByOwner": getTokenAccountsByOwner,
	"getTokenAccountsByDelegate": getTokenAccountsByDelegate,

	"getSlot": getSlot, "getBlockHeight": getBlockHeight, "getLatestBlockhash": getLatestBlockhash,
	"isBlockhashValid": isBlockhashValid, "getBlock": getBlock, "getBlockTime": getBlockTime, "getBlocks": getBlocks,
	"getBlocksWithLimit": getBlocksWithLimit, "getFirstAvailableBlock": getFirstAvailableBlock,
	"minimumLedgerSlot": getFirstAvailableBlock, "getTransactionCount": getTransactionCount,
	"getBlockCommitment": getBlockCommitment, "getRecentPrioritizationFees": getRecentPrioritizationFees,
	"getRecentPerformanceSamples": getRecentPerformanceSamples,

	"sendTransaction": sendTransaction, "simulateTransaction": simulateTransaction,
	"getFeeForMessage": getFeeForMessage, "getTransaction": getTransaction,
	"getSignatureStatuses": getSignatureStatuses, "getSignaturesForAddress": getSignaturesForAddress,

	"getHealth":      func(*Node, *params) (any, error) { return "ok", nil },
	"getGenesisHash": func(*Node, *params) (any, error) { return genesisHash, nil },
	"getVersion": func(*Node, *params) (any, error) {
		return map[string]any{"solana-core": solanaVersion, "feature-set": featureSet}, nil
	},
	"getIdentity": func(n *Node, _ *params) (any, error) {
		return map[string]key{"identity": n.identity}, nil
	},
	"getEpochInfo":          getEpochInfo,
	"getEpochSchedule":      getEpochSchedule,
	"getSlotLeader":         getSlotLeader,
	"getSlotLeaders":        getSlotLeaders,
	"getLeaderSchedule":     getLeaderSchedule,
	"getVoteAccounts":       getVoteAccounts,
	"getClusterNodes":       getClusterNodes,
	"getBlockProduction":    getBlockProduction,
	"getInflationGovernor":  getInflationGovernor,
	"getInflationRate":      getInflationRate,
	"getInflationReward":    getInflationReward,
	"getMaxRetransmitSlot":  getTipSlot,
	"getMaxShredInsertSlot": getTipSlot,
	"getHighestSnapshotSlot": func(n *Node, _ *params) (any, error) {
		final := n.ledger.behind(finalizedDepth).slot
		return map[string]any{"full": final - final%25_000, "incremental": final - final%100}, nil
	},
	"getStakeMinimumDelegation": func(n *Node, p *params) (any, error) {
		at, _, err := viewAt(n, p, 0)
		if err != nil {
			return nil, err
		}
		return inContext(at, 1), nil
	},
}

func getTipSlot(n *Node, _ *params) (any, error) { return n.ledger.tip().slot, nil }

func getEpochInfo(n *Node, p *params) (any, error) {
	at, _, err := viewAt(n, p, 0)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"absoluteSlot": at.slot, "blockHeight": at.height, "epoch": at.slot / slotsPerEpoch,
		"slotIndex": at.slot % slotsPerEpoch, "slotsInEpoch": slotsPerEpoch, "transactionCount": n.countAt(at),
	}, nil
}

func getEpochSchedule(*Node, *params) (any, error) {
	return map[string]any{
		"slotsPerEpoch": slotsPerEpoch, "leaderScheduleSlotOffset": slotsPerEpoch, "warmup": false,
		"firstNormalEpoch": 0, "firstNormalSlot": 0,
	}, nil
}

func getSlotLeader(n *Node, p *params) (any, error) {
	if _, _, err := viewAt(n, p, 0); err != nil {
		return nil, err
	}
	return n.identity, nil
}

func getSlotLeaders(n *Node, p *params) (any, error) {
	start, err := p.slot(0)
	if err != nil {
		return nil, err
	}
	limit, err := p.slot(1)
	if err != nil {
		return nil, err
	}
	if limit < 1 || limit > 5_000 {
		return nil, invalidParams("Invalid limit; max 5000")
	}
	if epochs := n.ledger.tip().slot/slotsPerEpoch + 2; start >= epochs*slotsPerEpoch {
		return nil, invalidParams("Invalid slot range: leader schedule for epoch %d is unavailable",
			start/slotsPerEpoch)
	}
	return slices.Repeat([]key{n.identity}, int(limit)), nil //nolint:gosec // at most 5000
}

func getLeaderSchedule(n *Node, p *params) (any, error) {
	slot, next := n.ledger.tip().slot, 1
	if p.has(0) {
		if p.values[0][0] == '{' {
			next = 0
		} else if s, err := p.slot(0); err != nil {
			return nil, err
		} else {
			slot = s
		}
	}
	o, err := p.options(next)
	if err != nil {
		return nil, err
	}
	if slot/slotsPerEpoch > n.ledger.tip().slot/slotsPerEpoch+1 {
		return nil, nil //nolint:nilnil // null is the documented answer for an epoch that is not known yet
	}
	if o.Identity != "" && o.Identity != n.identity.String() {
		return map[key][]int{}, nil
	}
	all := make([]int, slotsPerEpoch)
	for i := range all {
		all[i] = i
	}
	return map[key][]int{n.identity: all}, nil
}

func getVoteAccounts(n *Node, p *params) (any, error) {
	at, o, err := viewAt(n, p, 0)
	if err != nil {
		return nil, err
	}
	current := []map[string]any{}
	if o.Vote == "" || o.Vote == n.vote.String() {
		epoch := at.slot / slotsPerEpoch
		current = append(current, map[string]any{
			"votePubkey": n.vote, "nodePubkey": n.identity, "activatedStake": uint64(stake), "epochVoteAccount": true,
			"commission": 5, "lastVote": at.slot, "rootSlot": n.ledger.behind(finalizedDepth).slot,
			"epochCredits": [][3]uint64{{epoch, at.slot, epoch * slotsPerEpoch}},
		})
	}
	return map[string]any{"current": current, "delinquent": []any{}}, nil
}

// getClusterNodes returns the single node; it has no ports, so they are null.
func getClusterNodes(n *Node, _ *params) (any, error) {
	return []map[string]any{{
		"pubkey": n.identity, "version": solanaVersion, "featureSet": featureSet, "shredVersion": shredVersion,
		"gossip": nil, "tpu": nil, "tpuQuic": nil, "tpuForwards": nil, "tpuForwardsQuic": nil, "tpuVote": nil,
		"tvu": nil, "serveRepair": nil, "rpc": nil, "pubsub": nil,
	}}, nil
}

// getBlockProduction counts over the slots that are kept.
func getBlockProduction(n *Node, p *params) (any, error) {
	at, o, err := viewAt(n, p, 0)
	if err != nil {
		return nil, err
	}
	first, last := n.ledger.blocks[0].slot, at.slot
	if o.Range != nil {
		if o.Range.First < first {
			return nil, invalidParams("Invalid first_slot: %d is before the first available slot %d", o.Range.First,
				first)
		}
		if first = o.Range.First; o.Range.Last != nil {
			last = min(last, *o.Range.Last)
		}
		if first > last {
			return nil, invalidParams("Invalid slot range: %d is after %d", first, last)
		}
	}
	produced, err := n.slots(first, last, options{})
	if err != nil {
		return nil, err
	}
	by := map[key][2]uint64{}
	if o.Identity == "" || o.Identity == n.identity.String() {
		by[n.identity] = [2]uint64{last - first + 1, uint64(len(produced))}
	}
	return inContext(at, map[string]any{
		"byIdentity": by, "range": map[string]uint64{"firstSlot": first, "lastSlot": last},
	}), nil
}

const (
	inflationInitial  = 0.08
	inflationTerminal = 0.015
	inflationTaper    = 0.15
)

func getInflationGovernor(n *Node, p *params) (any, error) {
	if _, _, err := viewAt(n, p, 0); err != nil {
		return nil, err
	}
	return map[string]float64{
		"initial": inflationInitial, "terminal": inflationTerminal, "taper": inflationTaper, "foundation": 0,
		"foundationTerm": 0,
	}, nil
}

func getInflationRate(n *Node, _ *params) (any, error) {
	slot := n.ledger.tip().slot
	rate := max(inflationInitial*math.Pow(1-inflationTaper, float64(slot)/slotsPerYear), inflationTerminal)
	return map[string]any{"total": rate, "validator": rate, "foundation": 0, "epoch": slot / slotsPerEpoch}, nil
}

// getInflationReward returns null for each address: there are no stakes in the sandbox.
func getInflationReward(_ *Node, p *params) (any, error) {
	keys, err := p.keys(0, 1_005)
	if err != nil {
		return nil, err
	}
	return make([]any, len(keys)), nil
}
