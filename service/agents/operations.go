// Package agents has the operations of agents: keys that owners adopt or that wallets claim, and
// the challenges by which a wallet proves itself.
package agents

import (
	"io"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/workflows"
)

// Dependencies are what the operations need. The caller owns them.
type Dependencies struct {
	Store      *store.Store
	Limits     *limits.Limits
	Hasher     *account.Hasher
	Flows      *workflows.Client
	Random     io.Reader // crypto/rand.Reader in production
	Challenges *Challenges
}

// Operations are the operations of this package.
type Operations struct {
	AdoptKey           *operation.Operation[AdoptKeyInput, AdoptedKey]
	ClaimAgentStart    *operation.Operation[ClaimAgentStartInput, Challenged]
	ClaimAgentComplete *operation.Operation[ClaimAgentInput, ClaimedAgent]
	ListAgents         *operation.Operation[operation.Nothing, AgentList]
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
		AdoptKey:           h.adoptKey(),
		ClaimAgentStart:    h.claimAgentStart(),
		ClaimAgentComplete: h.claimAgentComplete(),
		ListAgents:         h.listAgents(),
	}
}
