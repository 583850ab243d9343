// Package sandbox replaces the blockchains on one machine: five EVM chains run by go-ethereum in
// process, each with its real chain id, and a scripted Solana node, each behind two upstreams.
// gateway-dev and the tests use it; production never links it.
//
// The keys of the funded accounts are public (see EVMAccount and SolanaAccount): nothing here has
// any value.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"
	"golang.org/x/sync/errgroup"

	"github.com/chainaccess/gateway/internal/sandbox/internal/evm"
	"github.com/chainaccess/gateway/internal/sandbox/internal/genesis"
	"github.com/chainaccess/gateway/internal/sandbox/internal/solana"
	"github.com/chainaccess/gateway/relay/chain"
)

// Options configure a sandbox. The zero value runs all six chains in memory on 127.0.0.1.
type Options struct {
	// DataDir keeps the EVM chains between starts, even when the process is killed; about 90 MB per
	// chain and day. Empty means memory only. Solana is never stored: its slots follow the clock,
	// and its accounts start over.
	DataDir string
	// Listen is the host on whose free ports the upstreams listen. The default is 127.0.0.1.
	Listen string
	// Logger receives the sandbox's log. The default discards it.
	Logger *slog.Logger
	// Chains limits the chains that run. The default is all six.
	Chains []chain.ID
	// BlockTime is that of the EVM chains. The default is 2 s, and 1 s for Arbitrum. Below a
	// second, block timestamps run ahead of the clock.
	BlockTime time.Duration
	// NoData omits the methods of an indexing provider (alchemy_…), which the first upstream of
	// each EVM chain otherwise serves.
	NoData bool
	// SlotTime is that of Solana. The default is 400 ms. Only with the default are slot numbers
	// derived from the clock.
	SlotTime time.Duration
}

// Sandbox is a running set of chains.
type Sandbox struct {
	upstreams []*Upstream
	evm       map[chain.ID]*evm.Node
	services  []*Service
	settles   *Facilitator
	sourcify  *Service
	gateway   *Service
	placed    map[chain.ID][]genesis.Placed
	solana    *solana.Node
	accounts  accounts
	keys      keys
	closing   sync.Once
	closed    error
}

// world lists the chains in display order.
var world = []struct {
	id        chain.ID
	name      string
	chainID   uint64 // 0 for Solana
	blockTime time.Duration
	data      evm.Data
	baseFee   int64 // in wei, close to the real chain's
	tip       int64 // in wei, close to the real chain's; Arbitrum's sequencer takes none
}{
	{
		chain.EthMainnet, "eth", 1, 2 * time.Second,
		evm.Data{Coin: "ETH", Internal: true},
		2 * params.GWei,
		params.GWei / 2,
	},
	{chain.BaseMainnet, "base", 8453, 2 * time.Second, evm.Data{Coin: "ETH"}, params.GWei / 200, params.GWei / 1000},
	{chain.ArbitrumOne, "arbitrum", 42161, time.Second, evm.Data{Coin: "ETH"}, params.GWei / 80, 0},
	{
		chain.OptimismMainnet, "optimism", 10, 2 * time.Second,
		evm.Data{Coin: "ETH"},
		params.GWei / 1000,
		params.GWei / 1000,
	},
	{
		chain.PolygonPoS, "polygon", 137, 2 * time.Second,
		evm.Data{Coin: "POL", Internal: true},
		30 * params.GWei,
		30 * params.GWei,
	},
	{chain.SolanaMainnet, "solana", 0, 0, evm.Data{}, 0, 0},
}

// Start runs the chains and returns when every upstream listens and every chain has a finalized
// block. ctx bounds only the start; Close ends the sandbox.
func Start(ctx context.Context, o Options) (*Sandbox, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	funded, err := fundedAccounts()
	if err != nil {
		return nil, err
	}
	signing, err := serviceKeys()
	if err != nil {
		return nil, err
	}
	s := &Sandbox{
		keys: signing, evm: map[chain.ID]*evm.Node{}, placed: map[chain.ID][]genesis.Placed{}, accounts: funded,
	}
	if err := s.startCCIPGateway(ctx, o); err != nil {
		return nil, err
	}
	if err := s.startChains(ctx, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for _, w := range world {
		if s.handler(w.id, "") == nil {
			continue
		}
		for _, letter := range []string{indexing, "b"} {
			u, err := newUpstream(ctx, w.id, "sandbox-"+w.name+"-"+letter, o.Listen, s.handler(w.id, letter), o.Logger)
			if err != nil {
				return nil, errors.Join(err, s.Close())
			}
			s.upstreams = append(s.upstreams, u)
		}
	}
	if err := errors.Join(s.startSourcify(ctx, o), s.startFacilitator(ctx, o)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (o *Options) fill() error {
	if o.Listen == "" {
		o.Listen = "127.0.0.1"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	known := make([]string, 0, len(world))
	for _, w := range world {
		known = append(known, string(w.id))
	}
	for _, id := range o.Chains {
		if !slices.Contains(known, string(id)) {
			return fmt.Errorf("sandbox has no chain %q: choose from %s", id, strings.Join(known, ", "))
		}
	}
	return nil
}

func (o *Options) runs(id chain.ID) bool { return len(o.Chains) == 0 || slices.Contains(o.Chains, id) }

// startChains starts the chains concurrently. Those that started are stored in s even when another
// one failed.
func (s *Sandbox) startChains(ctx context.Context, o Options) (err error) {
	nodes, placed := make([]*evm.Node, len(world)), make([][]genesis.Placed, len(world))
	var group errgroup.Group
	for i, w := range world {
		if !o.runs(w.id) {
			continue
		}
		if w.chainID == 0 {
			if s.solana, err = solana.Start(ctx, solana.Config{
				SlotTime: o.SlotTime, Funded: s.accounts.solanaKeys(), Logger: o.Logger,
			}); err != nil {
				return errors.Join(err, group.Wait())
			}
			continue
		}
		cfg := evm.Config{
			Name: w.name, ChainID: w.chainID, BlockTime: w.blockTime, Funded: s.accounts.evmAddresses(),
			Logger: o.Logger, BaseFee: big.NewInt(w.baseFee), Tip: big.NewInt(w.tip),
		}
		if err := s.furnish(w.id, &cfg, s.keys, &placed[i]); err != nil {
			return errors.Join(err, group.Wait())
		}
		if !o.NoData {
			data := w.data
			data.Tokens = []common.Address{genesis.USDC(w.id)}
			cfg.Data = &data
		}
		if o.BlockTime > 0 {
			cfg.BlockTime = o.BlockTime
		}
		if o.DataDir != "" {
			cfg.DataDir = filepath.Join(o.DataDir, "sandbox", w.name)
		}
		group.Go(func() (err error) {
			nodes[i], err = evm.Start(ctx, cfg)
			return err
		})
	}
	err = group.Wait()
	for i, n := range nodes {
		if n != nil {
			s.evm[world[i].id] = n
			s.placed[world[i].id] = placed[i]
		}
	}
	return errors.Join(err, ctx.Err())
}

// indexing is the letter of the upstreams of EVM chains that serve an indexing provider's methods.
const indexing = "a"

// handler returns the handler of the upstream with a letter; nil when the chain does not run.
func (s *Sandbox) handler(id chain.ID, letter string) http.Handler {
	if n := s.evm[id]; n != nil && letter == indexing {
		return n.DataHandler()
	} else if n != nil {
		return n.Handler()
	}
	if id == chain.SolanaMainnet && s.solana != nil {
		return s.solana.Handler()
	}
	return nil
}

// Runs reports whether the sandbox runs a chain.
func (s *Sandbox) Runs(id chain.ID) bool { return s.handler(id, "") != nil }

// Upstreams returns two endpoints per chain, in the order of the chains.
func (s *Sandbox) Upstreams() []*Upstream { return slices.Clone(s.upstreams) }

// LogEmitter returns the address of a contract that is on every EVM chain from the first block and
// emits an ERC-20 Transfer log for any call, such as transfer(address,uint256); the zero address
// when the chain does not run.
func (s *Sandbox) LogEmitter(id chain.ID) common.Address {
	if n := s.evm[id]; n != nil {
		return n.EmitterAddress()
	}
	return common.Address{}
}

// Close stops all upstreams and chains and waits for them. It is idempotent.
func (s *Sandbox) Close() error {
	s.closing.Do(func() { s.closed = s.stop() })
	return s.closed
}

func (s *Sandbox) stop() error {
	var errs []error
	for _, u := range s.upstreams {
		errs = append(errs, u.Stop())
	}
	for _, service := range s.services {
		errs = append(errs, service.Stop())
	}
	if s.settles != nil {
		s.settles.handler.Close()
	}
	for _, n := range s.evm {
		errs = append(errs, n.Close())
	}
	if s.solana != nil {
		errs = append(errs, s.solana.Close())
	}
	return errors.Join(errs...)
}
