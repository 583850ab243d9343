package contracts

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/node"
)

// Node calls a chain; toolbox/node implements it.
type Node interface {
	Call(ctx context.Context, q node.Query) (json.RawMessage, error)
	ChainID(id chain.ID) (uint64, bool)
	Generation(id chain.ID) uint64
}

// Options configures a Service.
type Options struct {
	Node          Node
	SourcifyURL   string       // without a trailing slash, like SignaturesURL
	SignaturesURL string       // of the signature database
	Answers       *cache.Cache // nil disables caching
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

// How long answers are cached. Contracts rarely change, but one that is not verified may be
// verified any minute (docs/interface.md, 1.8; docs/decisions/0043).
const (
	LongTTL  = 24 * time.Hour
	ShortTTL = 5 * time.Minute
)

// New returns a service.
func New(o Options) *Service {
	return &Service{
		node: o.Node, answers: o.Answers, now: o.Now,
		sourcify:   newRemote("Sourcify, which knows verified contracts,", o.SourcifyURL, o.Now),
		signatures: newRemote("The database of signatures", o.SignaturesURL, o.Now),
	}
}
