package supportdb

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/internal/pg"
	"github.com/chainaccess/gateway/store/peopledb"
)

// TicketWriter is the writer of a customer's message, with current names.
type TicketWriter struct {
	User      account.UserID
	Email     string          // of a user; empty when the user no longer exists
	Key       account.KeyID   // zero for a user
	Prefix    string          // the key's public prefix; empty when the key no longer exists
	Agent     account.AgentID // of an agent's key
	AgentName string
}

// WritersOf looks up who wrote messages, by the Writer.Actor of each. Writers that are neither
// users nor keys are omitted.
func (s *Store) WritersOf(ctx context.Context, messages []TicketMessage) (map[string]TicketWriter, error) {
	actors := make([]string, len(messages))
	for i := range messages {
		actors[i] = messages[i].Writer
	}
	return s.writersOf(ctx, actors)
}

// NamesOf looks up the names of users and keys, by their Writer.Actor: a user's address, a key's
// public prefix. Others, and those that no longer exist, are omitted.
func (s *Store) NamesOf(ctx context.Context, actors []string) (map[string]string, error) {
	writers, err := s.writersOf(ctx, actors)
	names := make(map[string]string, len(writers))
	for actor, w := range writers {
		switch {
		case w.Email != "":
			names[actor] = w.Email
		case w.Prefix != "":
			names[actor] = actorKey + w.Prefix
		}
	}
	return names, err
}

func (s *Store) writersOf(ctx context.Context, actors []string) (map[string]TicketWriter, error) {
	writers := map[string]TicketWriter{}
	var keys []uuid.UUID
	var users []string
	for _, actor := range actors {
		if _, known := writers[actor]; known {
			continue
		}
		if id, ok := account.ParseActor(actor); ok {
			writers[actor], users = TicketWriter{User: id}, append(users, actor)
		} else if text, ok := strings.CutPrefix(actor, actorKey); ok {
			if id, err := account.ParseKeyID(text); err == nil {
				writers[actor], keys = TicketWriter{Key: id}, append(keys, id.UUID)
			}
		}
	}
	emails, err := peopledb.EmailsOf(ctx, s.pool.Queries(), users)
	if err != nil {
		return nil, err
	}
	for _, actor := range users {
		w := writers[actor]
		w.Email = emails[actor]
		writers[actor] = w
	}
	if len(keys) == 0 {
		return writers, nil
	}
	rows, err := s.pool.Queries().ListKeyWriters(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("look up %d keys that wrote: %w", len(keys), err)
	}
	for _, row := range rows {
		id := account.KeyID{UUID: row.ID}
		writers[actorKey+id.String()] = TicketWriter{
			Key: id, Prefix: row.Prefix, Agent: account.AgentID{UUID: pg.IDOrZero(row.AgentID)},
			AgentName: row.AgentName,
		}
	}
	return writers, nil
}
