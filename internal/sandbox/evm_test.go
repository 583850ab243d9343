package sandbox

import (
	"bufio"
	"bytes"
	"io"
	"io/fs"
	"math/big"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/chainaccess/gateway/internal/sandbox/internal/evm"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

// connectionsReused repeats a call with one client and returns how many connections were reused.
func connectionsReused(t *testing.T, url, method string, times int) (reused int) {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if info.Reused {
			reused++
		}
	}})
	for range times {
		body := []byte(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":[]}`)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		must(t, err)
		r.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(r)
		must(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		must(t, err)
		must(t, resp.Body.Close())
	}
	return reused
}

type header struct {
	Number hexutil.Uint64 `json:"number"`
	Hash   common.Hash    `json:"hash"`
	Time   hexutil.Uint64 `json:"timestamp"`
}

func blockAt(t *testing.T, url, tag string) header {
	t.Helper()
	var h *header
	must(t, call(t, url, "eth_getBlockByNumber", &h, tag, false))
	if h == nil {
		t.Fatalf("no block %s", tag)
	}
	return *h
}

func TestEVM_ChainsAnswerTheirRealChainIDAndAdvance(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	for _, w := range world {
		if w.chainID == 0 {
			continue
		}
		for n := range 2 {
			u := s.upstream(t, w.id, n)
			var id hexutil.Uint64
			must(t, call(t, u.URL, "eth_chainId", &id))
			var network string
			must(t, call(t, u.URL, "net_version", &network))
			if uint64(id) != w.chainID || network != new(big.Int).SetUint64(w.chainID).String() {
				t.Errorf("%s is chain %d, network %s", u.Name, id, network)
			}
		}
		u := s.upstream(t, w.id, 0)
		first := blockAt(t, u.URL, "latest")
		eventually(t, "head of "+u.Name+" advances", func() bool {
			return blockAt(t, u.URL, "latest").Number > first.Number+2
		})
		var version string
		must(t, call(t, u.URL, "web3_clientVersion", &version))
	}
}

func TestEVM_ChainsHaveHistoryLogsTracesAndFinality(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.BaseMainnet}})
	u := s.upstream(t, chain.BaseMainnet, 0)
	final, safe, latest := blockAt(t, u.URL, "finalized"), blockAt(t, u.URL, "safe"), blockAt(t, u.URL, "latest")
	expect.Between(t, final.Number, 64, safe.Number)
	expect.AtMost(t, safe.Number, latest.Number)
	var logs []types.Log
	must(t, call(t, u.URL, "eth_getLogs", &logs, map[string]any{
		"fromBlock": "0x0", "toBlock": "latest", "address": s.LogEmitter(chain.BaseMainnet),
		"topics": []any{evm.TransferTopic},
	}))
	require.AtLeast(t, len(logs), 16, logs)
	require.Len(t, logs[0].Topics, 3)
	require.Len(t, logs[0].Data, 32)
	var trace struct {
		Type string         `json:"type"`
		To   common.Address `json:"to"`
		Gas  hexutil.Uint64 `json:"gasUsed"`
	}
	must(t, call(t, u.URL, "debug_traceTransaction", &trace, logs[0].TxHash, map[string]any{"tracer": "callTracer"}))
	expect.Equal(t, trace.Type, "CALL")
	expect.Equal(t, trace.To, s.LogEmitter(chain.BaseMainnet))
	expect.NotEqual(t, trace.Gas, 0)
	var steps struct {
		Steps []map[string]any `json:"structLogs"`
	}
	must(t, call(t, u.URL, "debug_traceTransaction", &steps, logs[0].TxHash))
	if len(steps.Steps) == 0 {
		t.Error("the struct log trace is empty")
	}
	var old hexutil.Big
	must(t, call(t, u.URL, "eth_getBalance", &old, s.Accounts()[0].Address, "0x1"))
	if old.ToInt().Cmp(new(big.Int).Mul(big.NewInt(10_000), big.NewInt(params.Ether))) != 0 {
		t.Errorf("balance at block 1 is %s", old.ToInt())
	}
}

func TestEVM_BlocksAreHalfFullOfTransactionsThatSucceed(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	for id, typical := range map[chain.ID]uint64{
		chain.EthMainnet: 2_000_000_000, chain.BaseMainnet: 5_000_000, chain.ArbitrumOne: 12_500_000,
		chain.OptimismMainnet: 1_000_000, chain.PolygonPoS: 30_000_000_000,
	} {
		t.Run(string(id), func(t *testing.T) {
			url := s.upstream(t, id, 0).URL
			const head = 128 + 6 // some blocks after the history
			eventually(t, "a few blocks", func() bool { return blockAt(t, url, "latest").Number >= head })
			for n := uint64(1); n <= head; n++ {
				if n > 3 && n < 110 { // all of the same form
					continue
				}
				var receipts []*types.Receipt
				must(t, call(t, url, "eth_getBlockReceipts", &receipts, hexutil.Uint64(n)))
				var used uint64
				for _, r := range receipts {
					used += r.GasUsed
					if r.Status != types.ReceiptStatusSuccessful {
						t.Errorf("%s: transaction %s in block %d failed", id, r.TxHash, n)
					}
				}
				if used < 3_000_000 {
					t.Errorf("%s: block %d used %d gas", id, n, used)
				}
			}
			var block struct {
				BaseFee hexutil.Uint64 `json:"baseFeePerGas"`
			}
			must(t, call(t, url, "eth_getBlockByNumber", &block, "latest", false))
			if fee := uint64(block.BaseFee); fee < typical/2 || fee > typical*2 {
				t.Errorf("%s: the base fee is %d, want about %d", id, fee, typical)
			}
		})
	}
}

func TestEVM_LiveTrafficKeepsMakingLogs(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.PolygonPoS}})
	u := s.upstream(t, chain.PolygonPoS, 0)
	from := blockAt(t, u.URL, "latest").Number
	eventually(t, "a log after the history", func() bool {
		var logs []types.Log
		must(t, call(t, u.URL, "eth_getLogs", &logs, map[string]any{
			"fromBlock": from, "topics": []any{evm.TransferTopic},
		}))
		return len(logs) > 0 && logs[len(logs)-1].BlockNumber > uint64(from)
	})
}

func TestEVM_SignedTransferOfAFundedAccountIsMined(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.OptimismMainnet}})
	a, b := s.upstream(t, chain.OptimismMainnet, 0), s.upstream(t, chain.OptimismMainnet, 1)
	from, to := s.Accounts()[1], common.HexToAddress("0x00000000000000000000000000000000c0ffee00")
	id := big.NewInt(10)
	tx, err := types.SignNewTx(from.Key, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, To: &to, Value: big.NewInt(params.Ether), Gas: params.TxGas,
		GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
	})
	must(t, err)
	raw, err := tx.MarshalBinary()
	must(t, err)
	var hash common.Hash
	must(t, call(t, a.URL, "eth_sendRawTransaction", &hash, hexutil.Bytes(raw)))
	if hash != tx.Hash() {
		t.Fatalf("sent %s, answered %s", tx.Hash(), hash)
	}
	eventually(t, "the transfer is mined", func() bool {
		var receipt *types.Receipt
		must(t, call(t, b.URL, "eth_getTransactionReceipt", &receipt, hash))
		return receipt != nil && receipt.Status == types.ReceiptStatusSuccessful
	})
	var balance hexutil.Big
	must(t, call(t, b.URL, "eth_getBalance", &balance, to, "latest"))
	if balance.ToInt().Cmp(big.NewInt(params.Ether)) != 0 {
		t.Errorf("balance %s", balance.ToInt())
	}
}

func TestEVM_UpstreamsServeNeitherAdminNorMiner(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.EthMainnet}})
	for _, method := range []string{"admin_nodeInfo", "miner_setExtra", "dev_addWithdrawal"} {
		err := call(t, s.upstream(t, chain.EthMainnet, 0).URL, method, nil)
		//nolint:errorlint // call returns it unwrapped
		if refused, ok := err.(*rpcError); !ok || refused.Code != -32601 {
			t.Errorf("%s answered %v", method, err)
		}
	}
}

func TestEVM_ChainResumesFromItsDataDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := Options{DataDir: dir, Chains: []chain.ID{chain.EthMainnet}, BlockTime: 20e6}
	s, err := Start(t.Context(), o)
	must(t, err)
	url := s.upstream(t, chain.EthMainnet, 0).URL
	begin := blockAt(t, url, "latest").Number
	eventually(t, "a few blocks", func() bool { return blockAt(t, url, "latest").Number > begin+5 })
	last := blockAt(t, url, "latest")
	if second, err := Start(t.Context(), o); err == nil {
		_ = second.Close()
		t.Error("two sandboxes share a data directory")
	}
	must(t, s.Close())

	s, err = Start(t.Context(), o)
	must(t, err)
	url = s.upstream(t, chain.EthMainnet, 0).URL
	if again := blockAt(t, url, hexutil.EncodeUint64(uint64(last.Number))); again.Hash != last.Hash {
		t.Errorf("block %d was %s and is %s", last.Number, last.Hash, again.Hash)
	}
	must(t, s.Close())
}

// TestEVM_RunUntilKilled is the child process of the next test; on its own it does nothing.
func TestEVM_RunUntilKilled(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SANDBOX_RUN_UNTIL_KILLED")
	if dir == "" {
		return
	}
	s, err := Start(t.Context(), Options{DataDir: dir, Chains: []chain.ID{chain.EthMainnet}, BlockTime: 20e6})
	must(t, err)
	_, err = os.Stdout.WriteString("\n" + s.upstream(t, chain.EthMainnet, 0).URL + "\n")
	must(t, err)
	_, err = io.Copy(io.Discard, os.Stdin) // ends when the parent does
	must(t, err)
	must(t, s.Close())
}

func TestEVM_ChainResumesWhereAKilledProcessLeftIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, err := os.Executable()
	must(t, err)
	child := exec.CommandContext(t.Context(), program, "-test.run=^TestEVM_RunUntilKilled$")
	child.Env = append(os.Environ(), "SANDBOX_RUN_UNTIL_KILLED="+dir)
	out, err := child.StdoutPipe()
	must(t, err)
	_, err = child.StdinPipe()
	must(t, err)
	must(t, child.Start())
	url := ""
	for lines := bufio.NewScanner(out); url == "" && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "http") {
			url = lines.Text()
		}
	}
	begin := blockAt(t, url, "latest").Number
	eventually(t, "a few blocks", func() bool { return blockAt(t, url, "latest").Number > begin+5 })
	last := blockAt(t, url, "latest")
	// The database writes its log shortly after a block becomes the newest, so wait for more
	// blocks.
	eventually(t, "more blocks", func() bool { return blockAt(t, url, "latest").Number > last.Number+5 })
	must(t, child.Process.Kill())
	_ = child.Wait() // it was killed

	s := start(t, Options{DataDir: dir, Chains: []chain.ID{chain.EthMainnet}})
	url = s.upstream(t, chain.EthMainnet, 0).URL
	if again := blockAt(t, url, hexutil.EncodeUint64(uint64(last.Number))); again.Hash != last.Hash {
		t.Errorf("block %d was %s and is %s", last.Number, last.Hash, again.Hash)
	}
}

func TestEVM_ChainStartsOverWhenItsDataDirectoryIsBroken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := Options{DataDir: dir, Chains: []chain.ID{chain.EthMainnet}, BlockTime: 50e6}
	s, err := Start(t.Context(), o)
	must(t, err)
	must(t, s.Close())
	breakDatabase(t, dir)
	s, err = Start(t.Context(), o)
	must(t, err)
	if n := blockAt(t, s.upstream(t, chain.EthMainnet, 0).URL, "latest").Number; n < 129 {
		t.Errorf("head %d", n)
	}
	must(t, s.Close())
}

// breakDatabase truncates the database's manifests, as a lost disk write would.
func breakDatabase(t *testing.T, dir string) {
	t.Helper()
	broken := 0
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(filepath.Base(path), "MANIFEST") {
			broken++
			return os.WriteFile(path, []byte("not a manifest"), 0o600)
		}
		return err
	}))
	if broken == 0 {
		t.Fatal("no manifest found")
	}
}
