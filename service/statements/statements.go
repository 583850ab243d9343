package statements

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/operation"
)

// StatementInput identifies a period.
type StatementInput struct {
	Period string `json:"period,omitempty" format:"date" maxLength:"10" doc:"the date on which the period began, like 2026-11-01; the list of periods tells which there are, and the present one is meant when it is absent"`
}

// ExportStatementInput identifies a period.
type ExportStatementInput struct {
	Period string `json:"period" format:"date" maxLength:"10" doc:"the date on which the period began, like 2026-11-01; the list of periods tells which there are"`
}

// StatementList lists the billing periods of an account, newest first.
type StatementList struct {
	Scope   statement.Scope    `json:"scope" enum:"account,agent,key" doc:"agent: statements show only what the agent of the asking key used; key: only what the asking key used, which an owner adopted"`
	Periods []StatementSummary `json:"periods"`
}

// StatementSummary is a billing period.
type StatementSummary struct {
	Period   string           `json:"period" format:"date" doc:"its name: the date on which it began"`
	StartsAt time.Time        `json:"starts_at"`
	EndsAt   time.Time        `json:"ends_at" doc:"the first instant after it"`
	Status   statement.Status `json:"status" enum:"open,closing,closed" doc:"open: it goes on; closing: it is over, and its last usage is being recorded; closed: its statement never changes again"`
	Requests *int64           `json:"requests,omitempty" doc:"of a closed one, and of the scope account alone"`
	Units    *plan.Units      `json:"units,omitempty" doc:"weighted units of a closed one, and of the scope account alone"`
}

// StatementTable is a statement as a CSV file.
type StatementTable struct {
	FileName string `json:"file_name"`
	Media    string `json:"media"`
	Text     string `json:"text"`
}

// Document returns the file.
func (t StatementTable) Document() (name, media, text string) { return t.FileName, t.Media, t.Text }

func (h *handlers) listStatements() *operation.Operation[operation.Nothing, StatementList] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "list_statements", Title: "List billing periods", Access: operation.Holders, Reads: true,
		Route: operation.Route{Method: http.MethodGet, Path: "/api/statements", Status: http.StatusOK},
		Description: "Lists the account's billing periods, newest first: its subscription's cycle, or calendar " +
			"months. It costs nothing.",
		Fails: []fault.Reason{fault.DurableUnavailable},
	}, h.runListStatements)
}

func (h *handlers) runListStatements(ctx context.Context, c *operation.Call,
	_ operation.Nothing,
) (StatementList, error) {
	entries, err := h.statements.List(ctx, &c.Account)
	if err != nil {
		return StatementList{}, operation.ToFault(err, "statement")
	}
	scope, _ := c.Sees()
	list := StatementList{Scope: scope, Periods: make([]StatementSummary, len(entries))}
	for i := range entries {
		e := &entries[i]
		list.Periods[i] = StatementSummary{Period: e.Name, StartsAt: e.Start, EndsAt: e.End, Status: e.Status}
		if e.Status == statement.Closed && list.Scope == statement.OfAccount {
			list.Periods[i].Requests, list.Periods[i].Units = &e.Requests, &e.Units
		}
	}
	return list, nil
}

func (h *handlers) getStatement() *operation.Operation[StatementInput, statement.Statement] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_statement", Title: "Get the statement of a billing period", Access: operation.Holders, Reads: true,
		Route: operation.Route{Method: http.MethodGet, Path: "/api/statements/{period}", Status: http.StatusOK},
		Description: "Gives what was used in a billing period by key, chain and method class, with its invoices. " +
			"That of the present period is made now, from what is recorded; a closed one never changes, and what is " +
			"recorded of its period later stands as an adjustment on the next one. An agent's key sees its agent's " +
			"usage only, an adopted key its own, neither of them invoices. It costs nothing; the same as a table is " +
			"at the path with .csv.",
		Fails: []fault.Reason{fault.NotYours, fault.DurableUnavailable},
	}, func(ctx context.Context, c *operation.Call, in StatementInput) (statement.Statement, error) {
		return h.statementOf(ctx, c, in.Period)
	})
}

func (h *handlers) exportStatement() *operation.Operation[ExportStatementInput, StatementTable] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "export_statement", Title: "Get a statement as a table", Access: operation.Holders, Reads: true,
		Route: operation.Route{Method: http.MethodGet, Path: "/api/statements/{period}.csv", Status: http.StatusOK},
		Description: "Gives the usage of a statement as CSV: a row for each key, chain and method class; rows of " +
			"adjustments stand under the period that they are of. It costs nothing.",
		Fails: []fault.Reason{fault.NotYours, fault.DurableUnavailable},
	}, h.runExportStatement)
}

func (h *handlers) runExportStatement(ctx context.Context, c *operation.Call,
	in ExportStatementInput,
) (StatementTable, error) {
	s, err := h.statementOf(ctx, c, in.Period)
	if err != nil {
		return StatementTable{}, err
	}
	return StatementTable{FileName: s.FileName(), Media: statement.MediaType, Text: s.CSV()}, nil
}

// statementOf returns the statement of a period as the caller may see it. An empty name means the
// current period.
func (h *handlers) statementOf(ctx context.Context, c *operation.Call, period string) (statement.Statement, error) {
	if period == "" {
		period = h.statements.Current(&c.Account)
	}
	s, err := h.statements.Get(ctx, &c.Account, period)
	switch {
	case errors.Is(err, statement.ErrNoPeriod):
		return s, fault.New(fault.NotYours,
			"No billing period of yours began on this date. GET /api/statements lists those that there are.")
	case err != nil:
		return s, operation.ToFault(err, "statement")
	}
	switch scope, _ := c.Sees(); scope {
	case statement.OfAgent:
		return s.ForAgent(c.Key.Agent), nil
	case statement.OfKey:
		return s.ForKey(c.Key.ID), nil
	case statement.OfAccount:
	}
	return s, nil
}
