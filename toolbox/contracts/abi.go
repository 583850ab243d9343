package contracts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
)

// ABI is what is known of a contract's interface.
type ABI struct {
	Chain          chain.ID          `json:"chain"`
	Address        wallet.Address    `json:"address" doc:"the address that was asked for, in the capitals of EIP-55"`
	Verified       bool              `json:"verified" doc:"whether there are verified sources for the contract that the ABI is of; false: note says what to do"`
	Name           *string           `json:"name" nullable:"true" doc:"of that contract in its sources"`
	Match          *string           `json:"match" nullable:"true" doc:"exact_match when the metadata is the deployed one too, match when the code is"`
	ABI            []json.RawMessage `json:"abi" nullable:"true" doc:"the ABI in JSON, as its compiler wrote it; of a proxy, that of its implementation"`
	ABIAddress     *wallet.Address   `json:"abi_address" nullable:"true" doc:"the contract that name, match and abi are of: the implementation of a proxy where that is verified"`
	Source         string            `json:"source" enum:"sourcify" doc:"where it is from"`
	Proxy          *string           `json:"proxy" nullable:"true" doc:"the kind of proxy that the address is: EIP-1967, EIP-1967 beacon, EIP-1167, EIP-7702, or Sourcify's word for another; null when it is none" example:"EIP-1967"`
	Implementation *wallet.Address   `json:"implementation" nullable:"true" doc:"the contract whose code a proxy runs; null when the address is no proxy"`
	Facets         []wallet.Address  `json:"facets,omitempty" doc:"the contracts that a proxy of several (a diamond, EIP-2535) is made of; ask for the ABI of each"`
	Note           string            `json:"note,omitempty"`
}

// Source is the source of ABIs.
const Source = "sourcify"

// ABI returns the ABI of a contract, and how long to cache the answer. Failures are a *fault.Error.
func (s *Service) ABI(ctx context.Context, id chain.ID, address wallet.Address) (ABI, time.Duration, error) {
	c, err := s.find(ctx, id, address)
	if err != nil {
		return ABI{}, 0, err
	}
	return c.ABI, s.left(c.Until), nil
}

// left returns how long an answer derived from data that is valid until then may be cached. Cached
// for its own TTL it would outlive that data.
func (s *Service) left(until time.Time) time.Duration { return until.Sub(s.now()) }

// contract is a contract with what decoding needs in addition to its ABI.
type contract struct {
	ABI ABI
	// Own is the ABI of a proxy itself, if ABI has that of its implementation.
	Own []json.RawMessage `json:",omitempty"`
	// Open reports whether more may soon be known, because the code that a call runs is not
	// verified.
	Open bool
	Code bool // whether there is code at the address
	// Until is when it must be looked up again, together with every answer derived from it.
	Until time.Time
}

func (c *contract) keptFor() time.Duration {
	if c.Open {
		return ShortTTL
	}
	return LongTTL
}

// found is the result of a search.
type found struct {
	contract *contract
	err      error
}

var errUnfinished = errors.New("the search of a contract ended before its end")

// searchTimeout bounds a search, which may continue after its first caller has left.
const searchTimeout = 12 * time.Second

// find returns a contract from the cache, or from one search that is shared by concurrent callers.
func (s *Service) find(ctx context.Context, id chain.ID, address wallet.Address) (*contract, error) {
	chainID, _ := s.node.ChainID(id)
	// what was read before a deep reorg may no longer hold
	past := strconv.AppendUint(nil, s.node.Generation(id), 10)
	key := cache.NewKey([]byte("contract"), []byte(id), strconv.AppendUint(nil, chainID, 10), past, address[:])
	if text, tier := s.answers.Get(ctx, key); tier != cache.Nowhere {
		c := &contract{}
		if json.Unmarshal(text, c) == nil && s.left(c.Until) > 0 {
			return c, nil
		}
	}
	f, leads := s.flights.Join(key)
	if !leads {
		landed, ok := f.Wait(ctx, searchTimeout)
		if !ok {
			return nil, fmt.Errorf("wait for another's search of a contract: %w", context.DeadlineExceeded)
		}
		return landed.contract, landed.err
	}
	shared, end := f.Start(ctx)
	defer end()
	shared, cancel := context.WithTimeout(shared, searchTimeout)
	defer cancel()
	r := found{err: errUnfinished} // for followers, if the search panics
	defer f.Finish(func() found { return r })
	r.contract, r.err = s.search(shared, chainID, id, address)
	if r.err == nil {
		kept := r.contract.keptFor()
		r.contract.Until = s.now().Add(kept)
		text, err := json.Marshal(r.contract)
		if err != nil {
			return nil, fmt.Errorf("keep a contract: %w", err)
		}
		s.answers.Put(key, text, kept)
	}
	return r.contract, r.err
}

// look is what Sourcify and the chain know of an address.
type look struct {
	listing  *listing
	standing verification
	state    *state
}

// lookAt asks both in parallel. Slots are read only of the requested address, because the code that
// a proxy calls uses the proxy's storage.
func (s *Service) lookAt(ctx context.Context, r *chainReader, chainID uint64, address wallet.Address,
	slots bool,
) (*look, error) {
	var l look
	g, ctx := parallel.WithContext(ctx)
	g.Go(func() (err error) {
		l.listing, l.standing, err = s.contractOf(ctx, chainID, address)
		return err
	})
	g.Go(func() (err error) {
		if slots {
			l.state, err = r.state(ctx, address)
			return err
		}
		l.state = &state{}
		l.state.code, err = r.code(ctx, address)
		return err
	})
	return &l, g.Wait()
}

// search asks the chain and Sourcify for a contract and, if it is a proxy, for its target.
func (s *Service) search(ctx context.Context, chainID uint64, id chain.ID, address wallet.Address) (*contract, error) {
	r := &chainReader{s.node, id}
	own, err := s.lookAt(ctx, r, chainID, address, true)
	if err != nil {
		return nil, err
	}
	c := &contract{ABI: ABI{Chain: id, Address: address, Source: Source}, Code: len(own.state.code) > 0}
	to, err := own.state.target(ctx, r)
	if err != nil {
		return nil, err
	}
	if to.kind == "" {
		to = own.listing.target(&c.ABI)
	}
	if to.kind == "" || to.address == address {
		c.show(own, nil, chainID)
		return c, nil
	}
	inner, err := s.lookAt(ctx, r, chainID, to.address, false)
	if err != nil {
		return nil, err
	}
	// A minimal proxy may point to a contract that is a minimal proxy itself. Longer chains are not
	// in use.
	if next, ok := minimalProxy(inner.state.code); ok && next != address {
		to.address = next
		if inner, err = s.lookAt(ctx, r, chainID, next, false); err != nil {
			return nil, err
		}
	}
	c.ABI.Proxy, c.ABI.Implementation = &to.kind, &to.address
	c.show(own, inner, chainID)
	return c, nil
}

// target returns the proxy's target for the kinds that only Sourcify detects. A proxy of several
// contracts has no single target; then target sets Facets.
func (l *listing) target(a *ABI) target {
	if l == nil || l.Proxy == nil || !l.Proxy.IsProxy || l.Proxy.ProxyType == nil || len(l.Proxy.Implementations) == 0 {
		return target{}
	}
	kind := fmt.Sprintf("%.40s", *l.Proxy.ProxyType)
	if len(l.Proxy.Implementations) == 1 {
		return target{kind, l.Proxy.Implementations[0].Address}
	}
	a.Proxy = &kind
	for _, i := range l.Proxy.Implementations {
		a.Facets = append(a.Facets, i.Address)
	}
	return target{}
}

// show fills in the ABI: the implementation's if it is verified, else the address's own. inner is
// nil if the address is no proxy.
func (c *contract) show(own, inner *look, chainID uint64) {
	a := &c.ABI
	shown, of := own.listing, a.Address
	if inner != nil && inner.listing != nil {
		shown, of = inner.listing, *a.Implementation
		if own.listing != nil {
			c.Own = own.listing.ABI
		}
	}
	if shown != nil {
		a.Verified, a.Name, a.Match, a.ABI, a.ABIAddress = true, &shown.Name, &shown.Match, shown.ABI, &of
	}
	c.Open = shown == nil || (inner != nil && inner.listing == nil)
	a.Note = c.note(own, inner, chainID)
}
