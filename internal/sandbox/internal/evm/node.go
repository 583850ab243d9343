// Package evm runs a development chain with go-ethereum in process: its database, its JSON-RPC
// handler, its block producer, its initial history and light background traffic. It opens no port;
// the sandbox serves the handler.
package evm

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/eth/tracers"
	gethlog "github.com/ethereum/go-ethereum/log"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"

	// The tracers of debug_trace* ("callTracer", "prestateTracer", …) register themselves.
	_ "github.com/ethereum/go-ethereum/eth/tracers/native"
)

const (
	gasLimit      = 30_000_000
	cacheMiB      = 16
	batchItems    = 1_000
	batchBytes    = 25 << 20
	clientVersion = "1.17.10-sandbox"
)

// Config configures a chain.
type Config struct {
	Name      string // for logs
	ChainID   uint64
	BlockTime time.Duration // whole seconds keep block timestamps in step with the clock
	DataDir   string        // empty: in memory
	Funded    []common.Address
	Traffic   *ecdsa.PrivateKey // sends the history and the background traffic; also funded
	Data      *Data             // nil: no methods of an indexing provider
	Logger    *slog.Logger
	// Lay returns the chain's genesis allocation. It is deterministic.
	Lay func(config *params.ChainConfig, time uint64) (types.GenesisAlloc, error)
	// BaseFee is the typical base fee and Tip the typical tip, both in wei. Workload is a contract
	// with a function use(uint256) that uses gas, which keeps the base fee near BaseFee.
	BaseFee, Tip *big.Int
	Workload     common.Address
	// Calls returns the calls of a turn, in addition to plain transfers and logs; there is a turn
	// every few blocks. Nil for none.
	Calls func(turn uint64) ([]Call, error)
	// Upkeep is called in the first block after each start, and then every ten minutes of the
	// chain's time.
	Upkeep []Call
}

// Node is a running chain.
type Node struct {
	cfg     Config
	stack   *node.Node
	eth     *eth.Ethereum
	beacon  *catalyst.SimulatedBeacon
	rpc     *rpc.Server
	data    *rpc.Server // nil without data methods
	self    *rpc.Client // a client of rpc for the data methods
	traffic *traffic
	kept    uint64 // time of the block with the last upkeep; used only by the loop once it runs

	cancel context.CancelFunc
	done   chan struct{}
}

// Start opens or creates the chain and begins to produce blocks. A data directory that cannot be
// resumed is emptied and the chain starts over; one in use by another process is an error. The
// chain runs until Close; only values of ctx are used.
func Start(ctx context.Context, cfg Config) (*Node, error) {
	genesisTime, resume := uint64(0), false
	if cfg.DataDir != "" {
		genesisTime, resume = readMarker(cfg.DataDir)
	}
	if resume {
		n, err := open(ctx, cfg, genesisTime, true)
		if err == nil || errors.Is(err, node.ErrDatadirUsed) {
			return n, explainUsed(cfg, err)
		}
		cfg.Logger.Warn("sandbox chain cannot be resumed and begins anew", "chain", cfg.Name, "error", err)
	}
	if cfg.DataDir != "" {
		if err := clearDir(cfg.DataDir); err != nil {
			return nil, explainUsed(cfg, err)
		}
	}
	start := time.Now().Add(-historyBlocks * blockSeconds(cfg.BlockTime))
	n, err := open(ctx, cfg, uint64(start.Unix()), false) //nolint:gosec // a date after 1970
	return n, explainUsed(cfg, err)
}

func explainUsed(cfg Config, err error) error {
	if errors.Is(err, node.ErrDatadirUsed) {
		return fmt.Errorf(
			"sandbox chain %s: %s is in use by another process: stop it or choose another data directory: %w",
			cfg.Name, cfg.DataDir, err)
	}
	return err
}

func open(ctx context.Context, cfg Config, genesisTime uint64, resume bool) (n *Node, err error) {
	stack, err := node.New(&node.Config{
		Name:     "geth",
		Version:  clientVersion,
		DataDir:  cfg.DataDir,
		P2P:      p2p.Config{NoDiscovery: true, NoDial: true},
		Logger:   gethlog.NewLogger(gethlog.DiscardHandler()),
		DBEngine: "pebble",
		// not used; without it, every in-memory node leaves a directory behind when it is killed
		KeyStoreDir: os.TempDir(),
	})
	if err != nil {
		return nil, fmt.Errorf("sandbox chain %s: create node: %w", cfg.Name, err)
	}
	n = &Node{cfg: cfg, stack: stack, done: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, stack.Close())
		}
	}()
	genesis, err := newGenesis(cfg, genesisTime)
	if err != nil {
		return nil, fmt.Errorf("sandbox chain %s: %w", cfg.Name, err)
	}
	if n.eth, err = eth.New(stack, ethConfig(genesis)); err != nil {
		return nil, fmt.Errorf("sandbox chain %s: create backend: %w", cfg.Name, err)
	}
	// Layer 2 sequencers accept transactions without a tip.
	n.eth.TxPool().SetGasTip(new(big.Int))
	if err := n.eth.Miner().SetGasTip(new(big.Int)); err != nil {
		return nil, fmt.Errorf("sandbox chain %s: take free transactions: %w", cfg.Name, err)
	}
	n.traffic = newTraffic(cfg)
	if !resume {
		if err := n.writeHistory(genesis); err != nil {
			return nil, fmt.Errorf("sandbox chain %s: write history: %w", cfg.Name, err)
		}
	}
	if n.rpc, err = newRPC(n.eth); err != nil {
		return nil, fmt.Errorf("sandbox chain %s: %w", cfg.Name, err)
	}
	if err := n.serveData(); err != nil {
		return nil, fmt.Errorf("sandbox chain %s: %w", cfg.Name, err)
	}
	if err := stack.Start(); err != nil {
		return nil, fmt.Errorf("sandbox chain %s: start node: %w", cfg.Name, err)
	}
	if err := n.produce(ctx); err != nil {
		return nil, fmt.Errorf("sandbox chain %s: %w", cfg.Name, err)
	}
	if cfg.DataDir != "" && !resume {
		if err := writeMarker(cfg.DataDir, genesisTime); err != nil {
			return nil, errors.Join(err, n.stopProducing())
		}
	}
	return n, nil
}

// Handler returns the handler of the chain's JSON-RPC: eth, net, web3 and debug.
func (n *Node) Handler() http.Handler { return n.rpc }

// EmitterAddress returns the address of the contract that emits a Transfer log for every call.
func (n *Node) EmitterAddress() common.Address { return n.traffic.emitter }

// Close stops producing blocks and closes the database. Listeners that use Handler must be closed
// first.
func (n *Node) Close() error {
	err := n.stopProducing()
	n.stopData()
	n.rpc.Stop()
	if closeErr := n.stack.Close(); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("sandbox chain %s: close node: %w", n.cfg.Name, closeErr))
	}
	return err
}

func newGenesis(cfg Config, at uint64) (*core.Genesis, error) {
	traffic := crypto.PubkeyToAddress(cfg.Traffic.PublicKey)
	g := core.DeveloperGenesisBlock(gasLimit, &traffic)
	g.Config.ChainID = new(big.Int).SetUint64(cfg.ChainID)
	g.Config.BogotaTime = nil // not active on any real chain yet: storage costs several times as much gas
	g.Timestamp = at
	g.BaseFee = cfg.BaseFee
	// These two contracts write state in every block; without them, an idle chain's archive stays
	// small.
	delete(g.Alloc, params.BeaconRootsAddress)
	delete(g.Alloc, params.HistoryStorageAddress)
	laid, err := cfg.Lay(g.Config, at)
	if err != nil {
		return nil, err
	}
	maps.Copy(g.Alloc, laid)
	balance := new(big.Int).Mul(big.NewInt(10_000), big.NewInt(params.Ether))
	for _, address := range cfg.Funded {
		account := g.Alloc[address]
		account.Balance = balance
		g.Alloc[address] = account
	}
	return g, nil
}

// ethConfig configures an archive node with the hash scheme: every block's state is on disk before
// the block becomes the head, so a killed process resumes there, and reads of old state work.
func ethConfig(genesis *core.Genesis) *ethconfig.Config {
	c := ethconfig.Defaults
	c.Genesis = genesis
	c.SyncMode = ethconfig.FullSync
	c.StateScheme = rawdb.HashScheme
	c.NoPruning = true
	c.LogNoHistory = true // a chain this short is scanned quickly without an index
	c.DatabaseCache = cacheMiB
	c.TrieCleanCache = cacheMiB
	c.TrieDirtyCache = 0
	c.SnapshotCache = 0
	c.TxPool.NoLocals = true
	c.TxPool.Journal = ""
	c.BlobPool.Datadir = ""
	c.Miner.GasCeil = gasLimit
	c.Miner.GasPrice = big.NewInt(1)
	return &c
}

// newRPC serves only what public providers serve: neither admin nor miner methods.
func newRPC(backend *eth.Ethereum, more ...rpc.API) (*rpc.Server, error) {
	server := rpc.NewServer()
	server.SetBatchLimits(batchItems, batchBytes)
	apis := append(backend.APIs(), tracers.APIs(backend.APIBackend)...)
	apis = append(apis,
		rpc.API{
			Namespace: "eth",
			Service: filters.NewFilterAPI(filters.NewFilterSystem(backend.APIBackend,
				filters.Config{LogQueryLimit: 1_000})),
		},
		rpc.API{Namespace: "web3", Service: web3{}},
	)
	apis = append(apis, more...)
	served := map[string]bool{
		"eth": true, "net": true, "web3": true, "debug": true, "txpool": true, dataNamespace: true,
	}
	for _, api := range apis {
		if !served[api.Namespace] {
			continue
		}
		if err := server.RegisterName(api.Namespace, api.Service); err != nil {
			return nil, fmt.Errorf("register %s methods: %w", api.Namespace, err)
		}
	}
	return server, nil
}

// web3 implements the namespace that go-ethereum does not export.
type web3 struct{}

// ClientVersion implements web3_clientVersion.
func (web3) ClientVersion() string {
	return "Geth/v" + clientVersion + "/" + runtime.GOOS + "-" + runtime.GOARCH + "/" + runtime.Version()
}

// Sha3 implements web3_sha3.
func (web3) Sha3(input hexutil.Bytes) hexutil.Bytes { return crypto.Keccak256(input) }
