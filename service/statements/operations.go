// Package statements has the operations of statements of billing periods.
package statements

import (
	"time"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
)

// Dependencies are what the operations need. The caller owns them.
type Dependencies struct {
	Store *store.Store
	Now   func() time.Time
}

// Operations are the operations of this package.
type Operations struct {
	ListStatements  *operation.Operation[operation.Nothing, StatementList]
	GetStatement    *operation.Operation[StatementInput, statement.Statement]
	ExportStatement *operation.Operation[ExportStatementInput, StatementTable]
}

// handlers run the operations.
type handlers struct {
	Dependencies
	*operation.Runner

	statements *statement.Compiler
}

// New defines the operations.
func New(r *operation.Runner, d Dependencies) *Operations {
	h := &handlers{Dependencies: d, Runner: r, statements: &statement.Compiler{Store: d.Store, Now: d.Now}}
	return &Operations{
		ListStatements:  h.listStatements(),
		GetStatement:    h.getStatement(),
		ExportStatement: h.exportStatement(),
	}
}
