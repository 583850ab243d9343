package accountdb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// Settings holds which notifications an account wants, and what it told about itself. An account
// without a row has the defaults.
type Settings struct {
	NotifyUsage80   bool
	NotifyUsage100  bool
	NotifyIncidents bool
	TimeZone        string // name in the IANA time zone database
	Insights        Insights
}

// Insights is what an account told about itself (docs/interface.md, 2.4, update_account).
// Unanswered fields are empty.
type Insights struct {
	UseCase          string   `json:"use_case,omitempty"`
	TeamSize         string   `json:"team_size,omitempty"`
	Volume           string   `json:"volume,omitempty"`
	Region           string   `json:"region,omitempty"`
	PreviousProvider string   `json:"previous_provider,omitempty"`
	ReferralSource   string   `json:"referral_source,omitempty"`
	Chains           []string `json:"chains,omitempty"`
	WishChains       []string `json:"wish_chains,omitempty"`
	WishChainOther   string   `json:"wish_chain_other,omitempty"`
}

func defaultSettings() Settings {
	return Settings{NotifyUsage80: true, NotifyUsage100: true, TimeZone: "UTC"}
}

// LoadSettings reads the settings of an account, or the defaults.
func (s *Store) LoadSettings(ctx context.Context, id account.ID) (Settings, error) {
	row, err := s.pool.Queries().GetSettings(ctx, id.UUID)
	if errors.Is(err, pgx.ErrNoRows) {
		return defaultSettings(), nil
	}
	if err != nil {
		return Settings{}, fmt.Errorf("load the settings of account %s: %w", id, err)
	}
	return settingsOf(row)
}

// ChangeSettings changes the settings of an account and writes an audit line; nothing is written
// when nothing changed. It returns ErrNotFound when there is no such account, or by may not change
// it.
func (s *Store) ChangeSettings(ctx context.Context, id account.ID, by Author,
	change func(*Settings),
) (Settings, error) {
	var after Settings
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		if !by.Within.IsZero() && by.Within != id {
			return pg.ErrNotFound
		}
		if _, err := q.LockAccount(ctx, id.UUID); err != nil {
			return pg.NotFound(err)
		}
		after = defaultSettings()
		row, err := q.GetSettings(ctx, id.UUID)
		switch {
		case err == nil:
			if after, err = settingsOf(row); err != nil {
				return err
			}
		case !errors.Is(err, pgx.ErrNoRows):
			return err
		}
		before := after.document()
		change(&after)
		if bytes.Equal(before, after.document()) {
			return nil
		}
		insights, err := json.Marshal(after.Insights)
		if err != nil {
			return err
		}
		err = q.PutSettings(ctx, db.PutSettingsParams{
			AccountID: id.UUID, NotifyUsage80: after.NotifyUsage80, NotifyUsage100: after.NotifyUsage100,
			NotifyIncidents: after.NotifyIncidents, TimeZone: after.TimeZone, Insights: insights,
		})
		if err != nil {
			return err
		}
		return audit(ctx, q, subject{account: id}, "update_account", by, before, after.document())
	})
	if err != nil {
		return Settings{}, fmt.Errorf("change the settings of account %s: %w", id, err)
	}
	return after, nil
}

// document is what the audit log shows of settings.
func (s *Settings) document() []byte {
	return pg.JSON(map[string]any{
		"notify_usage_80": s.NotifyUsage80, "notify_usage_100": s.NotifyUsage100, "notify_incidents": s.NotifyIncidents,
		"time_zone": s.TimeZone, "insights": s.Insights,
	})
}

func settingsOf(row db.AccountSetting) (Settings, error) {
	s := Settings{
		NotifyUsage80: row.NotifyUsage80, NotifyUsage100: row.NotifyUsage100, NotifyIncidents: row.NotifyIncidents,
		TimeZone: row.TimeZone,
	}
	if err := json.Unmarshal(row.Insights, &s.Insights); err != nil {
		return Settings{}, fmt.Errorf("insights: %w", err)
	}
	return s, nil
}
