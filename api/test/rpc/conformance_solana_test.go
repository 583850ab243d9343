package rpc_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/mr-tron/base58"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// solanaFacts are values of the live ledger that the samples use.
type solanaFacts struct {
	payer, mint, held string // an account, a token and the payer's account of it
	slot              uint64 // of a block that is kept and has a transaction
	signature         string
	blockhash         string
	early             uint64 // the slot before the first that is kept
	skipped           uint64 // a slot without a block
}

// transferWire returns a signed transfer of the system program, in a legacy message or in one of
// version 0.
func transferWire(from ed25519.PrivateKey, to, blockhash []byte, lamports uint64,
	versioned bool,
) (wire, message []byte) {
	if versioned {
		message = append(message, 0x80)
	}
	message = append(message, 1, 0, 1, 3)
	message = append(message, from[ed25519.SeedSize:]...)
	message = append(message, to...)
	message = append(message, make([]byte, ed25519.PublicKeySize)...) // the system program
	message = append(message, blockhash...)
	message = append(message, 1, 2, 2, 0, 1, 12, 2, 0, 0, 0)
	message = binary.LittleEndian.AppendUint64(message, lamports)
	if versioned {
		message = append(message, 0)
	}
	wire = append([]byte{1}, ed25519.Sign(from, message)...)
	return append(wire, message...), message
}

func (c *conformance) solanaFacts() solanaFacts {
	c.T.Helper()
	f := solanaFacts{payer: c.box.SolanaAccounts()[4].Address}
	var slot, first uint64
	c.read(&slot, "getSlot")
	c.read(&first, "getFirstAvailableBlock")
	f.early = first - 1
	var slots []uint64
	c.read(&slots, "getBlocks", slot-60, slot)
	for i, s := range slots {
		var block struct {
			Blockhash  string   `json:"blockhash"`
			Signatures []string `json:"signatures"`
		}
		c.read(&block, "getBlock", s, map[string]any{"transactionDetails": "signatures"})
		f.blockhash = block.Blockhash
		if len(block.Signatures) > 0 {
			f.slot, f.signature = s, block.Signatures[0]
		}
		if i > 0 && slots[i-1] != s-1 {
			f.skipped = s - 1
		}
	}
	var owned struct {
		Value []struct {
			Pubkey  string `json:"pubkey"`
			Account struct {
				Data struct {
					Parsed struct{ Info struct{ Mint string } }
				}
			}
		}
	}
	c.read(&owned, "getTokenAccountsByOwner", f.payer, map[string]string{"programId": tokenProgram},
		map[string]string{"encoding": "jsonParsed"})
	in := expect.In(c.T, "the ledger lacks what the samples need")
	require.NotEqual(in, f.signature, "")
	require.NotEqual(in, f.skipped, 0)
	require.NotEmpty(in, owned.Value)
	f.held, f.mint = owned.Value[0].Pubkey, owned.Value[0].Account.Data.Parsed.Info.Mint
	return f
}

const tokenProgram = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"

func (c *conformance) solanaSamples() catalogSamples {
	c.T.Helper()
	f := c.solanaFacts()
	var all []sample
	add := func(moving bool) adder {
		return func(method string, lists ...string) {
			for _, l := range lists {
				all = append(all, sample{method: method, params: l, moving: moving})
			}
		}
	}
	f.ledger(add(false), add(true))
	f.accounts(add(true))
	all = append(all, c.solanaSubmissions()...)
	return catalogSamples{samples: append(all, f.failures()...)}
}

// ledger adds reads of blocks, transactions and the cluster. Answers that contain the slot of the
// read are moving.
func (f *solanaFacts) ledger(still, moving adder) {
	whole := map[string]any{
		"encoding": "json", "maxSupportedTransactionVersion": 0, "transactionDetails": "full", "rewards": true,
	}
	still("getBlock", list(f.slot), list(f.slot, whole),
		list(f.slot, map[string]any{"transactionDetails": "signatures", "rewards": false}),
		list(f.slot, map[string]any{"encoding": "jsonParsed", "maxSupportedTransactionVersion": 0}),
		list(f.slot, map[string]any{"encoding": "base64", "transactionDetails": "accounts"}))
	for _, encoding := range []string{"json", "jsonParsed", "base58", "base64"} {
		still("getTransaction", list(f.signature, map[string]any{
			"encoding": encoding, "maxSupportedTransactionVersion": 0,
		}))
	}
	still("getTransaction", list(f.signature), list(base58.Encode(make([]byte, 64))))
	still("getBlockTime", list(f.slot), `[0]`)
	still("getBlocks", list(f.slot-9, f.slot))
	still("getBlocksWithLimit", list(f.slot-9, 5))
	moving("getSignaturesForAddress", list(f.payer, map[string]any{"limit": 5}))
	for _, method := range []string{
		"getEpochSchedule", "getGenesisHash", "getVersion", "getHealth", "getInflationGovernor",
	} {
		still(method, "[]")
	}
	still("getClusterNodes", "[]")
	still("getMinimumBalanceForRentExemption", `[165]`)
	still("getInflationReward", list([]string{f.payer}), list([]string{f.payer}, map[string]any{"epoch": 2}))
	still("getSlotLeaders", list(f.slot, 10))
	// three megabytes, so it is streamed
	still("getLeaderSchedule", "[]", list(f.slot), list(nil, map[string]any{"identity": f.payer}))
	for _, commitment := range []string{"processed", "confirmed", "finalized"} {
		at := list(map[string]string{"commitment": commitment})
		for _, method := range []string{
			"getSlot", "getBlockHeight", "getEpochInfo", "getLatestBlockhash", "getTransactionCount",
		} {
			moving(method, at)
		}
	}
	for _, method := range []string{
		"getSlot", "getBlockHeight", "getEpochInfo", "getFirstAvailableBlock", "minimumLedgerSlot", "getSlotLeader",
		"getMaxRetransmitSlot", "getMaxShredInsertSlot", "getHighestSnapshotSlot", "getInflationRate",
		"getRecentPerformanceSamples", "getVoteAccounts", "getBlockProduction", "getStakeMinimumDelegation",
		"getRecentPrioritizationFees",
	} {
		moving(method, "[]")
	}
	moving("getRecentPrioritizationFees", list([]string{f.payer}))
	moving("getRecentPerformanceSamples", `[2]`)
	moving("getBlockCommitment", list(f.slot), `[5]`)
	moving("getBlockProduction", list(map[string]any{
		"range": map[string]uint64{"firstSlot": f.slot - 20, "lastSlot": f.slot},
	}))
	moving("getSignatureStatuses", list([]string{f.signature, base58.Encode(make([]byte, 64))},
		map[string]bool{"searchTransactionHistory": true}))
	moving("isBlockhashValid", list(f.blockhash), list(f.payer))
}

// accounts adds reads of balances, accounts in every encoding, and tokens.
func (f *solanaFacts) accounts(moving adder) {
	unknown := base58.Encode([]byte(strings.Repeat("?", 32)))
	moving("getBalance", list(f.payer), list(unknown), list(f.payer, map[string]any{"commitment": "confirmed"}))
	for _, encoding := range []string{"base58", "base64", "base64+zstd", "jsonParsed"} {
		at := map[string]any{"encoding": encoding}
		moving("getAccountInfo", list(f.payer, at), list(unknown, at))
		moving("getMultipleAccounts", list([]string{f.payer, unknown}, at))
	}
	moving("getAccountInfo", list(f.held, map[string]any{"encoding": "jsonParsed"}),
		list(f.held, map[string]any{"encoding": "base64", "dataSlice": map[string]int{"offset": 0, "length": 32}}))
	moving("getTokenAccountBalance", list(f.held))
	moving("getTokenSupply", list(f.mint))
	moving("getTokenLargestAccounts", list(f.mint))
	for _, filter := range []map[string]string{{"mint": f.mint}, {"programId": tokenProgram}} {
		moving("getTokenAccountsByOwner", list(f.payer, filter, map[string]string{"encoding": "jsonParsed"}))
		moving("getTokenAccountsByDelegate", list(f.payer, filter, map[string]string{"encoding": "base64"}))
	}
	moving("getLargestAccounts", "[]", list(map[string]string{"filter": "circulating"}))
	moving("getSupply", "[]", list(map[string]bool{"excludeNonCirculatingAccountsList": true}))
}

// solanaSubmissions sends a transfer of each version in each encoding, and returns samples of the
// results.
func (c *conformance) solanaSubmissions() []sample {
	c.T.Helper()
	payer, to := c.box.SolanaAccounts()[4], c.box.SolanaAccounts()[5]
	target, err := base58.Decode(to.Address)
	c.Must(err)
	var latest struct{ Value struct{ Blockhash string } }
	c.read(&latest, "getLatestBlockhash", map[string]string{"commitment": "confirmed"})
	blockhash, err := base58.Decode(latest.Value.Blockhash)
	c.Must(err)
	var all []sample
	lamports := uint64(1_000_000)
	for _, versioned := range []bool{false, true} {
		for _, encoding := range []string{"base58", "base64"} {
			lamports++
			wire, message := transferWire(payer.Key, target, blockhash, lamports, versioned)
			text := base64.StdEncoding.EncodeToString(wire)
			if encoding == "base58" {
				text = base58.Encode(wire)
			}
			at := map[string]any{
				"encoding": encoding, "commitment": "confirmed", "preflightCommitment": "confirmed", "sigVerify": true,
			}
			all = append(all, sample{method: "simulateTransaction", params: list(text, at), moving: true},
				sample{
					method: "getFeeForMessage", params: list(base64.StdEncoding.EncodeToString(message), at),
					moving: true,
				})
			signature := base58.Encode(wire[1:65])
			if got := c.RPC(c.key, c.on.ID, apitest.Call("sendTransaction", list(text, at))).Result(); got != `"`+
				signature+`"` {
				c.T.Errorf("a submission is answered with %s, want its signature %s", got, signature)
			}
			testkit.Eventually(c.T, apitest.Timeout, func() bool {
				var found *struct{ Slot uint64 }
				c.read(&found, "getTransaction", signature, map[string]any{
					"commitment": "confirmed", "maxSupportedTransactionVersion": 0,
				})
				return found != nil
			}, "the transfer is confirmed")
			// Repeated, it fails the preflight, with the native code and data.
			all = append(all, sample{method: "sendTransaction", params: list(text, at), fails: true, data: true})
		}
	}
	spoilt, _ := transferWire(payer.Key, target, blockhash, 1, true)
	spoilt[9] ^= 1
	rich, _ := transferWire(payer.Key, target, blockhash, 1<<62, true)
	in64 := map[string]any{"encoding": "base64", "preflightCommitment": "confirmed", "commitment": "confirmed"}
	return append(all,
		sample{method: "sendTransaction", params: list(base64.StdEncoding.EncodeToString(spoilt), in64), fails: true},
		sample{
			method: "sendTransaction", params: list(base64.StdEncoding.EncodeToString(rich), in64), fails: true,
			data: true,
		},
		sample{
			method: "simulateTransaction", params: list(base64.StdEncoding.EncodeToString(rich), in64),
			moving: true,
		})
}

// failures are errors with their native codes and data. For some of them the gateway asks another
// node first, which answers the same.
func (f *solanaFacts) failures() []sample {
	var all []sample
	add := func(method string, lists ...string) {
		for _, l := range lists {
			all = append(all, sample{method: method, params: l, fails: true})
		}
	}
	other := strings.ToLower(f.payer) // base58 is case-sensitive, so this is another address or an invalid one
	add("getBalance", `[]`, `["0OIl"]`, `["abc"]`, list(other), list(f.payer, map[string]string{"commitment": "never"}))
	add("getAccountInfo", list(f.payer, map[string]string{"encoding": "rot13"}))
	add("getBlock", list(f.early), list(f.skipped), list(f.slot+1_000_000), `["x"]`,
		list(f.slot, map[string]string{"commitment": "processed"}))
	add("getTransaction", `["abc"]`, `[]`)
	add("getTokenAccountBalance", list(f.payer))
	add("getTokenSupply", list(f.payer))
	add("getTokenAccountsByOwner", list(f.payer), list(f.payer, map[string]string{"mint": f.payer}))
	add("getSignaturesForAddress", list(f.payer, map[string]any{"limit": 1_001}),
		list(f.payer, map[string]any{"before": "abc"}))
	add("getSlotLeaders", list(f.slot, 5_001))
	add("sendTransaction", `[]`, `["not base58: 0OIl"]`, `["AAAA",{"encoding":"base64"}]`, `["",{"encoding":"rot13"}]`)
	add("getRecentPerformanceSamples", `[721]`)
	return append(all, sample{
		method: "getBalance", params: list(f.payer, map[string]any{"minContextSlot": f.slot + 1_000_000}), moving: true,
		fails: true, data: true,
	})
}
