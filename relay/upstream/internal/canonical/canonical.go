// Package canonical compares the answers of different nodes to the same call. Its digests ignore
// what clients (geth, Erigon, Nethermind, Besu, Reth and their forks for rollups) write differently
// about the same thing, and nothing else.
package canonical

import (
	"crypto/sha256"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/jsonrpc"
)

// Digest identifies an answer.
type Digest = jsonrpc.Digest

// Result returns the digest of a method's result. The error is that of a result that is no JSON, or
// that readers take in different ways.
func Result(family chain.Family, method string, result []byte) (Digest, error) {
	if family == chain.Solana { // base58 and base64 have case
		return jsonrpc.NewDigest(result, nil, false)
	}
	return jsonrpc.NewDigest(result, shapes[method], true)
}

type members map[string]*jsonrpc.Shape

var (
	ignored  = &jsonrpc.Shape{Ignored: true}
	quantity = &jsonrpc.Shape{Quantity: true}
)

// absentIf is the shape of a scalar that some clients leave out when it has this value.
func absentIf(value string) *jsonrpc.Shape { return &jsonrpc.Shape{Absent: value} }

func object(m members) *jsonrpc.Shape { return &jsonrpc.Shape{Members: m} }

// What differs between clients. A member that is left out here is compared.
var (
	logShape = object(members{
		"blockTimestamp":      ignored, // since geth 1.16, Besu 25.11
		"removed":             absentIf("false"),
		"transactionLogIndex": ignored, // Nethermind
		"logType":             ignored, // Nethermind's predecessors
	})

	transactionShape = object(members{
		"type":           absentIf(`"0x0"`),
		"accessList":     absentIf("[]"),
		"blockTimestamp": ignored,
		"chainId":        ignored, // of legacy transactions; a signature covers it
		"data":           ignored, // Nethermind's second name for input
		"yParity":        ignored, // Erigon has v alone
		"r":              {Quantity: true, Absent: `"0x0"`},
		"s":              {Quantity: true, Absent: `"0x0"`},
		"v":              {Quantity: true, Absent: `"0x0"`},
		"publicKey":      ignored, // Besu
		"raw":            ignored,
		"creates":        ignored,
		"condition":      ignored,
		"standardV":      ignored,
		// deposits of the OP Stack: op-geth and op-reth
		"depositReceiptVersion": ignored,
		"isSystemTx":            absentIf("false"),
		"mint":                  absentIf(`"0x0"`),
		"gasPrice":              absentIf(`"0x0"`),
	})

	receiptShape = object(members{
		"logs":         logShape,
		"type":         absentIf(`"0x0"`),
		"root":         ignored, // before Byzantium, and not by Reth
		"error":        ignored, // Nethermind
		"revertReason": ignored, // Besu
		// fees of L1, which op-reth has for deposits too
		"l1Fee":               absentIf(`"0x0"`),
		"l1GasPrice":          ignored,
		"l1GasUsed":           ignored,
		"l1FeeScalar":         ignored,
		"l1BaseFeeScalar":     ignored,
		"l1BlobBaseFee":       ignored,
		"l1BlobBaseFeeScalar": ignored,
	})

	blockShape = object(members{
		"transactions":    transactionShape,
		"totalDifficulty": ignored, // not by geth any more, 0x0 by Nethermind
		"size":            ignored, // computed in different ways
		"author":          ignored, // Nethermind's second name for miner
		"sealFields":      ignored,
	})

	proofShape = object(members{
		"storageProof": object(members{"key": quantity, "value": quantity}), // 0x1 and 0x01
	})
)

// shapes are the shapes of results, by method.
var shapes = map[string]*jsonrpc.Shape{
	"eth_getBlockByHash":                      blockShape,
	"eth_getBlockByNumber":                    blockShape,
	"eth_getUncleByBlockHashAndIndex":         blockShape,
	"eth_getUncleByBlockNumberAndIndex":       blockShape,
	"eth_getTransactionByHash":                transactionShape,
	"eth_getTransactionByBlockHashAndIndex":   transactionShape,
	"eth_getTransactionByBlockNumberAndIndex": transactionShape,
	"eth_getTransactionReceipt":               receiptShape,
	"eth_getBlockReceipts":                    receiptShape,
	"eth_getLogs":                             logShape,
	"eth_getProof":                            proofShape,
	"eth_getStorageAt":                        quantity, // always a word, padded or not
}

// Failure returns the digest of a node's error object: of what a contract reverted with, else of
// the code. Clients word the same failure differently, and number failures of execution
// differently.
func Failure(object []byte) Digest {
	var e struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
	_ = json.Unmarshal(object, &e) // what cannot be read is compared as absent
	data := revertData(e.Data)
	if e.Code == codeReverted || data != "" || reverted.MatchString(e.Message) {
		return sha256.Sum256([]byte("revert " + data))
	}
	if e.Code == codeExecution || e.Code == codeParity {
		e.Code = codeGeneral
	}
	return sha256.Sum256([]byte("code " + strconv.Itoa(e.Code)))
}

// The codes of failures of execution. geth and Reth have 3 for a revert and -32000 for the rest,
// Nethermind -32000 and -32003, the OpenEthereum family -32015 for both.
const (
	codeReverted  = 3
	codeGeneral   = -32000
	codeExecution = -32003
	codeParity    = -32015
)

var reverted = regexp.MustCompile(`(?i)revert`)

// revertData returns what a contract reverted with, in lower case; empty if the data shows none.
// OpenEthereum puts a word before it.
func revertData(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	text = strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(text, "Reverted "), "revert: "))
	if !strings.HasPrefix(text, "0x") || len(text) == len("0x") {
		return ""
	}
	return text
}
