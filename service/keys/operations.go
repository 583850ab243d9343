// Package keys has the operations of API keys: made by an account or without sign-up, limited,
// bound to wallets and revoked.
package keys

import (
	"io"
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/service/agents"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/workflows"
)

// Dependencies are what the operations need. The caller owns them.
type Dependencies struct {
	Store      *store.Store
	Limits     *limits.Limits
	Networks   *netlimit.Limits // limits per network
	Hasher     *account.Hasher
	Flows      *workflows.Client
	PublicURL  string // without a trailing slash
	Now        func() time.Time
	Random     io.Reader // crypto/rand.Reader in production
	Logger     *slog.Logger
	Doorways   *Doorways
	Challenges *agents.Challenges
}

// Operations are the operations of this package.
type Operations struct {
	GetKey            *operation.Operation[GetKeyInput, Welcome]
	CreateKey         *operation.Operation[CreateKeyInput, CreatedKey]
	ListKeys          *operation.Operation[ListKeysInput, KeyList]
	ConfigureKey      *operation.Operation[ConfigureKeyInput, ConfiguredKey]
	RevokeKey         *operation.Operation[RevokeKeyInput, RevokedKey]
	ConfigureServices *operation.Operation[ConfigureServicesInput, ConfiguredServices]
	BindKeyStart      *operation.Operation[BindStartInput, agents.Challenged]
	BindKeyComplete   *operation.Operation[BindInput, Welcome]
}

// handlers run the operations.
type handlers struct {
	Dependencies
	*operation.Runner
}

// New defines the operations.
func New(r *operation.Runner, d Dependencies) *Operations {
	h := &handlers{Dependencies: d, Runner: r}
	return &Operations{
		GetKey:            h.getKey(),
		CreateKey:         h.createKey(),
		ListKeys:          h.listKeys(),
		ConfigureKey:      h.configureKey(),
		RevokeKey:         h.revokeKey(),
		ConfigureServices: h.configureServices(),
		BindKeyStart:      h.bindKeyStart(),
		BindKeyComplete:   h.bindKeyComplete(),
	}
}
