package canonical_test

import (
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/canonical"
)

// Answers to the same question by different clients, shortened where they agree. Sources: the
// issues NethermindEth/nethermind 5921, 6391, 9329, 11096; paradigmxyz/reth 1777, 10463, 12659,
// 21002, 15126; erigontech/erigon 1110, 5856, 8686; ethereum/go-ethereum 3339; besu-eth/besu 4504,
// 9276.
const (
	blockOfGeth = `{"baseFeePerGas":"0x7","difficulty":"0x0","extraData":"0x",
		"hash":"0x898753d8fdd8d92c1907ca21e68c7970abd290c647a202091181deec3f30a0b2",
		"miner":"0x0000000000000000000000000000000000000000","number":"0x1","size":"0x2a8","timestamp":"0x64",
		"transactions":["0xdf66bea01c5cf47b48ec11453822d751a5daaf1d16959772c2196c5ab8cf8438"],"withdrawals":[]}`
	blockOfNethermind = `{"author":"0x0000000000000000000000000000000000000000","difficulty":"0x0","extraData":"0x",
		"hash":"0x898753d8fdd8d92c1907ca21e68c7970abd290c647a202091181deec3f30a0b2","totalDifficulty":"0x0",
		"miner":"0x0000000000000000000000000000000000000000","number":"0x1","size":"0x2a7","timestamp":"0x64",
		"transactions":["0xdf66bea01c5cf47b48ec11453822d751a5daaf1d16959772c2196c5ab8cf8438"],"withdrawals":[],
		"baseFeePerGas":"0x7","blobGasUsed":null}`

	depositOfOpReth = `{"hash":"0x0b92785af4d072cfec51bc16db4fe1e6f68fdb9d3bf0ce46376aed50d6b1e0e5","nonce":"0x0",
		"blockNumber":"0x1","transactionIndex":"0x0","from":"0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001",
		"to":"0x4200000000000000000000000000000000000015","value":"0x0","gasPrice":"0x0","gas":"0xf4240",
		"input":"0x440a5e20","r":"0x0","s":"0x0","v":"0x0","yParity":"0x0","type":"0x7e",
		"sourceHash":"0x43cf25ccb2c9355c81f9aed0572f1ebc88caf742c6df30c275efa2b8e32d7230",
		"depositReceiptVersion":"0x1"}`
	depositOfOpGeth = `{"hash":"0x0b92785af4d072cfec51bc16db4fe1e6f68fdb9d3bf0ce46376aed50d6b1e0e5","nonce":"0x0",
		"blockNumber":"0x1","transactionIndex":"0x0","from":"0xDeaDDEaDDeAdDeAdDEAdDEaddeAddEAdDEAd0001",
		"to":"0x4200000000000000000000000000000000000015","value":"0x0","gas":"0xf4240","isSystemTx":false,
		"input":"0x440a5e20","type":"0x7e","mint":"0x0",
		"sourceHash":"0x43cf25ccb2c9355c81f9aed0572f1ebc88caf742c6df30c275efa2b8e32d7230"}`

	legacyOfGeth = `{"type":"0x0","chainId":"0x1","nonce":"0x9f","gasPrice":"0x5763d65","value":"0x1","v":"0x25",
		"r":"0xec839e20","s":"0x7903b3","hash":"0xdf66"}`
	legacyOfParity = `{"chainId":null,"nonce":"0x9f","gasPrice":"0x5763d65","value":"0x1","v":"0x25","condition":null,
		"r":"0x00000000ec839e20","s":"0x007903b3","hash":"0xdf66","standardV":"0x0","publicKey":"0x04ab","creates":null}`
	dynamicOfNethermind = `{"type":"0x2","chainId":"0x1","nonce":"0x9f","v":"0x1","yParity":"0x1","r":"0xec","s":"0x79",
		"input":"0xab","data":"0xab","accessList":[]}`
	dynamicOfErigon = `{"type":"0x2","chainId":"0x1","nonce":"0x9f","v":"0x1","r":"0xec","s":"0x79","input":"0xab"}`

	logOfGeth = `[{"address":"0x7301cfa0e1756b71869e93d4e4dca5c7d0eb0aa6","blockNumber":"0x67c4b7","data":"0x",
		"logIndex":"0x0","removed":false,"blockTimestamp":"0x6525925c",
		"topics":["0x415557404d88a0c0b8e3b16967cafffc511213fd9c465c16832ee17ed57d7237"]}]`
	logOfNethermind = `[{"address":"0x7301cfa0e1756b71869e93d4e4dca5c7d0eb0aa6","blockNumber":"0x67c4b7","data":"0x",
		"logIndex":"0x0","transactionLogIndex":"0x0",
		"topics":["0x415557404d88a0c0b8e3b16967cafffc511213fd9c465c16832ee17ed57d7237"]}]`

	receiptOfReth = `{"type":"0x0","status":"0x1","cumulativeGasUsed":"0x9e39","contractAddress":null,
		"logs":[{"address":"0x2769","logIndex":"0x0","removed":false,"blockTimestamp":"0x5"}]}`
	receiptOfBesu = `{"status":"0x1","cumulativeGasUsed":"0x9e39","revertReason":null,"root":"0xab",
		"logs":[{"address":"0x2769","logIndex":"0x0","removed":false}]}`

	proofOfGeth = `{"balance":"0x0","storageProof":[{"key":"0x347","proof":["0xf9"],
		"value":"0x41337600e1179b05750a3490bd546ca1a0c5123"}]}`
	proofOfNethermind = `{"balance":"0x0","storageProof":[{"proof":["0xf9"],
		"key":"0x0000000000000000000000000000000000000000000000000000000000000347",
		"value":"0x041337600e1179b05750a3490bd546ca1a0c5123"}]}`
)

func TestResult_IgnoresWhatClientsWriteDifferently(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ method, one, other string }{
		"block":          {"eth_getBlockByNumber", blockOfGeth, blockOfNethermind},
		"deposit":        {"eth_getTransactionByHash", depositOfOpGeth, depositOfOpReth},
		"legacy":         {"eth_getTransactionByHash", legacyOfGeth, legacyOfParity},
		"dynamic fee":    {"eth_getTransactionByHash", dynamicOfErigon, dynamicOfNethermind},
		"logs":           {"eth_getLogs", logOfGeth, logOfNethermind},
		"receipt":        {"eth_getTransactionReceipt", receiptOfReth, receiptOfBesu},
		"block receipts": {"eth_getBlockReceipts", "[" + receiptOfReth + "]", "[" + receiptOfBesu + "]"},
		"full block": {
			"eth_getBlockByHash", `{"transactions":[` + legacyOfGeth + `]}`,
			`{"transactions":[` + legacyOfParity + `]}`,
		},
		"proof":     {"eth_getProof", proofOfGeth, proofOfNethermind},
		"storage":   {"eth_getStorageAt", `"0x5d"`, `"0x` + strings.Repeat("0", 62) + `5D"`},
		"no word":   {"eth_getStorageAt", `"0x"`, `"0x` + strings.Repeat("0", 64) + `"`},
		"case":      {"eth_call", `"0xABcd"`, ` "0xabCD" `},
		"escapes":   {"eth_call", `"0xab"`, `"\u0030xab"`},
		"fractions": {"eth_config", `[0.5,1.0]`, `[5e-1,1]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect.Equal(t, result(t, row.method, row.one), result(t, row.method, row.other))
		})
	}
}

func TestResult_DiffersInEverythingElse(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ method, one, other string }{
		"order of logs":       {"eth_getLogs", `[{"data":"0x0"},{"data":"0x1"}]`, `[{"data":"0x1"},{"data":"0x0"}]`},
		"a log less":          {"eth_getLogs", `[{"logIndex":"0x0"}]`, `[]`},
		"a removed log":       {"eth_getLogs", `[{"removed":true}]`, `[{"removed":false}]`},
		"null and a block":    {"eth_getBlockByHash", `null`, `{}`},
		"zeros of data":       {"eth_call", `"0x00"`, `"0x0000"`},
		"zeros of a balance":  {"eth_getBalance", `"0x01"`, `"0x1"`},
		"a value":             {"eth_getTransactionByHash", `{"value":"0x1"}`, `{"value":"0x2"}`},
		"a type":              {"eth_getTransactionByHash", `{"type":"0x2"}`, `{}`},
		"an access list":      {"eth_getTransactionByHash", `{"accessList":[{}]}`, `{"accessList":[]}`},
		"a transaction":       {"eth_getBlockByHash", `{"transactions":["0x1","0x2"]}`, `{"transactions":["0x1"]}`},
		"a log of a receipt":  {"eth_getTransactionReceipt", `{"logs":[{"data":"0x1"}]}`, `{"logs":[{"data":"0x2"}]}`},
		"size, but of a call": {"eth_call", `{"size":"0x1"}`, `{"size":"0x2"}`},
		"no hex":              {"eth_call", `"0xABxy"`, `"0xabxy"`},
		"text and number":     {"eth_call", `"1"`, `1`},
		"nested arrays":       {"eth_call", `[[1],2]`, `[1,[2]]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect.NotEqual(t, result(t, row.method, row.one), result(t, row.method, row.other))
		})
	}
}

func TestResult_OfSolanaKeepsCase(t *testing.T) {
	t.Parallel()
	one, err := canonical.Result(chain.Solana, "getTransaction", []byte(`{"data":["0xAB","base64"],"slot":5}`))
	expect.NoError(t, err)
	other, err := canonical.Result(chain.Solana, "getTransaction", []byte(`{"slot":5,"data":["0xab","base64"]}`))
	expect.NoError(t, err)
	expect.NotEqual(t, one, other)
}

func TestResult_HasNoDigestWhereReadersDiffer(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"hash":"0x1","hash":"0x2"}`, `{"hash":null,"hash":"0x2"}`, `{"size":"0x1","size":"0x2"}`,
		`["\ud800"]`, `{`, `1 2`, ``,
	} {
		_, err := canonical.Result(chain.EVM, "eth_getBlockByHash", []byte(text))
		if err == nil {
			t.Errorf("%s has a digest", text)
		}
	}
}

func TestFailure_ComparesWhatWasRevertedElseTheCode(t *testing.T) {
	t.Parallel()
	const geth = `{"code":3,"message":"execution reverted: no","data":"0x08C379a0"}`
	for name, row := range map[string]struct {
		one, other string
		same       bool
	}{
		"Nethermind":   {geth, `{"code":-32000,"message":"VM execution error","data":"0x08c379a0"}`, true},
		"OpenEthereum": {geth, `{"code":-32015,"message":"VM error","data":"Reverted 0x08c379a0"}`, true},
		"without data": {
			`{"code":3,"message":"execution reverted","data":"0x"}`,
			`{"code":-32000,"message":"execution reverted"}`, true,
		},
		"other data":    {geth, `{"code":3,"message":"execution reverted: no","data":"0x08c379a1"}`, false},
		"data and none": {geth, `{"code":3,"message":"execution reverted: no"}`, false},
		"out of gas":    {`{"code":-32000,"message":"out of gas"}`, `{"code":-32003,"message":"OutOfGas"}`, true},
		"another code":  {`{"code":-32602,"message":"invalid"}`, `{"code":-32000,"message":"invalid"}`, false},
		"another wording": {
			`{"code":-32602,"message":"invalid argument 0"}`,
			`{"code":-32602,"message":"Invalid params","data":"why"}`, true,
		},
		"revert and no gas": {
			`{"code":3,"message":"execution reverted"}`, `{"code":-32000,"message":"out of gas"}`, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, other := canonical.Failure([]byte(row.one)), canonical.Failure([]byte(row.other))
			expect.Equal(t, one == other, row.same)
		})
	}
}

func result(t *testing.T, method, text string) canonical.Digest {
	t.Helper()
	sum, err := canonical.Result(chain.EVM, method, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
