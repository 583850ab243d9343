package contracts

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/node"
)

// Node asks a chain; toolbox/node has it.
type Node interface {
	Call(ctx context.Context, q node.Query) (json.RawMessage, error)
	ChainID(id chain.ID) (uint64, bool)
	Generation(id chain.ID) uint64
}

// Options are what a service is made of.
type Options struct {
	Node          Node
	SourcifyURL   string       // without a slash at its end, as SignaturesURL
	SignaturesURL string       // of the database of signatures
	Answers       *cache.Cache // nil keeps none
	Now           func() time.Time
}

// Service is safe for concurrent use.
type Service struct {
	node       Node
	sourcify   *remote
	signatures *remote
	answers    *cache.Cache
	now        func() time.Time
	flights    cache.Group[cache.Key, found]
}

// How long an answer holds: contracts do not change often, but one that is not verified may be in a
// minute (docs/interface.md, 1.8; docs/decisions/0043).
const (
	Settled   = 24 * time.Hour
	Unsettled = 5 * time.Minute
)

// New makes a service.
func New(o Options) *Service {
	return &Service{
		node: o.Node, answers: o.Answers, now: o.Now,
		sourcify:   newRemote("Sourcify, which knows verified contracts,", o.SourcifyURL, o.Now),
		signatures: newRemote("The database of signatures", o.SignaturesURL, o.Now),
	}
}
