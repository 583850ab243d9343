// Package status has the operation that reports the state of the chains, now and in the past.
package status

import (
	"github.com/chainaccess/gateway/service/operation"
)

// Dependencies are what the operations need. The caller owns them.
type Dependencies struct {
	Status *Reader
}

// Operations are the operations of this package.
type Operations struct {
	GetStatus *operation.Operation[operation.Nothing, Status]
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
		GetStatus: h.getStatus(),
	}
}
