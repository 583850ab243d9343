package accounts

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/accountdb"
)

// ListAuditInput selects a page of the audit log.
type ListAuditInput struct {
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"500" default:"100" doc:"how many lines, newest first; 1 to 500"`
	Cursor string `json:"cursor,omitempty" pattern:"^[1-9][0-9]{0,17}$" patternDescription:"next_cursor of the page before, digits" doc:"next_cursor of the page before; absent for the first"`
}

// AuditLog is a page of the audit log, newest change first.
type AuditLog struct {
	Lines      []AuditLine `json:"lines"`
	NextCursor string      `json:"next_cursor,omitempty" doc:"cursor of the next page; absent on the last one"`
}

// AuditLine is one change.
type AuditLine struct {
	At    time.Time `json:"at"`
	Actor string    `json:"actor" doc:"who: a user by id, a key by its prefix, an operator"`
	// ActorEmail is looked up when the log is read. The lines themselves contain only ids.
	ActorEmail string `json:"actor_email,omitempty" format:"email" doc:"the user's address, when the actor is one"`

	Origin string          `json:"origin" doc:"from where: console, api, mcp, ops"`
	Action string          `json:"action"`
	Reason string          `json:"reason"`
	KeyID  string          `json:"key_id,omitempty" format:"uuid" doc:"the key that was changed; absent when it was the account"`
	Before json.RawMessage `json:"before" doc:"what the change changed, before it"`
	After  json.RawMessage `json:"after" doc:"and after it"`
}

const defaultAuditLines = 100

func (h *handlers) listAudit() *operation.Operation[ListAuditInput, AuditLog] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "list_audit_log", Title: "List changes", Access: operation.Users, Reads: true,
		Description: "Lists the changes of the account and its keys: who, when, from where, what, newest first, by " +
			"pages. It costs nothing.",
		Fails: []fault.Reason{fault.DurableUnavailable},
	}, h.runListAudit)
}

func (h *handlers) runListAudit(ctx context.Context, c *operation.Call, in ListAuditInput) (AuditLog, error) {
	if in.Limit == 0 {
		in.Limit = defaultAuditLines
	}
	before := int64(math.MaxInt64)
	if in.Cursor != "" {
		before, _ = strconv.ParseInt(in.Cursor, 10, 64) // the schema checked the format
	}
	lines, err := h.Store.ListAuditBefore(ctx, c.Account.ID, before, in.Limit+1)
	if err != nil {
		return AuditLog{}, operation.ToFault(err, "change")
	}
	next := ""
	if len(lines) > in.Limit {
		lines = lines[:in.Limit]
		next = strconv.FormatInt(lines[in.Limit-1].ID, 10)
	}
	emails, err := h.Store.EmailsOf(ctx, actors(lines))
	if err != nil {
		return AuditLog{}, operation.ToFault(err, "change")
	}
	log := AuditLog{Lines: make([]AuditLine, len(lines)), NextCursor: next}
	for i, l := range lines {
		log.Lines[i] = AuditLine{
			At: l.At, Actor: l.Actor, ActorEmail: emails[l.Actor], Origin: l.Origin, Action: l.Action, Reason: l.Reason,
			Before: l.Before, After: l.After,
		}
		if !l.Key.IsZero() {
			log.Lines[i].KeyID = l.Key.String()
		}
	}
	return log, nil
}

// actors returns the actors of lines without duplicates.
func actors(lines []accountdb.AuditLine) []string {
	all := make([]string, len(lines))
	for i := range lines {
		all[i] = lines[i].Actor
	}
	slices.Sort(all)
	return slices.Compact(all)
}
