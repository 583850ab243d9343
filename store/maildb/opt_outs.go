package maildb

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// ListOptOuts reads the topics about which a user wants no mails.
func (s *Store) ListOptOuts(ctx context.Context, user account.UserID) ([]account.Topic, error) {
	names, err := s.pool.Queries().ListOptOuts(ctx, user.UUID)
	if err != nil {
		return nil, fmt.Errorf("list what user %s wants no mails about: %w", user, err)
	}
	topics := make([]account.Topic, len(names))
	for i, name := range names {
		topics[i] = account.Topic(name)
	}
	return topics, nil
}

// ListOptedOut reads the members of an account who want no mails about a topic.
func (s *Store) ListOptedOut(ctx context.Context, id account.ID, topic account.Topic) ([]account.UserID, error) {
	rows, err := s.pool.Queries().ListOptedOut(ctx, db.ListOptedOutParams{AccountID: id.UUID, Topic: string(topic)})
	if err != nil {
		return nil, fmt.Errorf("list who of account %s wants no mails about %s: %w", id, topic, err)
	}
	users := make([]account.UserID, len(rows))
	for i, row := range rows {
		users[i] = account.UserID{UUID: row}
	}
	return users, nil
}

// OptOut records that a user wants no mails about a topic. It is idempotent. It returns ErrNotFound
// when there is no such user.
func (s *Store) OptOut(ctx context.Context, user account.UserID, topic account.Topic) error {
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		if _, err := q.GetUserEmail(ctx, user.UUID); err != nil {
			return pg.NotFound(err)
		}
		return q.OptOut(ctx, db.OptOutParams{UserID: user.UUID, Topic: string(topic)})
	})
	if err != nil {
		return fmt.Errorf("note that user %s wants no mails about %s: %w", user, topic, err)
	}
	return nil
}

// ChooseTopics records the topics about which a user wants mails, and opts the user out of all
// others.
func (s *Store) ChooseTopics(ctx context.Context, user account.UserID, wanted map[account.Topic]bool) error {
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		for _, topic := range account.Topics() {
			var err error
			if wanted[topic] {
				err = q.OptIn(ctx, db.OptInParams{UserID: user.UUID, Topic: string(topic)})
			} else {
				err = q.OptOut(ctx, db.OptOutParams{UserID: user.UUID, Topic: string(topic)})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("note what user %s wants mails about: %w", user, err)
	}
	return nil
}

// UserEmail reads the address of a user. It returns ErrNotFound when there is none.
func (s *Store) UserEmail(ctx context.Context, user account.UserID) (account.Email, error) {
	row, err := s.pool.Queries().GetUserEmail(ctx, user.UUID)
	if err != nil {
		return account.Email{}, fmt.Errorf("read the address of user %s: %w", user, pg.NotFound(err))
	}
	return account.RecordedEmail(row.Email, row.EmailKey), nil
}
