package wire

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/messaging/alerts"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/store/maildb"
)

// newMailSender returns the sender of queued mails. Without SMTP_URL they stay queued.
func newMailSender(cfg config.Config, b *base, mails *outbox.Outbox, log *slog.Logger) (*outbox.Sender, error) {
	var sender outbox.Deliverer
	if cfg.SendsMail() {
		server, err := config.ParseSMTP(cfg.SMTPURL)
		if err != nil {
			return nil, fmt.Errorf("SMTP_URL %w", err)
		}
		if sender, err = notify.NewSender(notify.SenderOptions{Server: server, From: cfg.MailFrom}); err != nil {
			return nil, fmt.Errorf("MAIL_FROM: %w", err)
		}
	}
	figures := b.metrics.WatchMails(words(notify.Kinds()), words(outbox.Results()))
	return mails.NewSender(b.store, sender, outbox.SenderOptions{
		Logger: log, OnResult: func(kind string, r outbox.Result) {
			figures.Ended(kind, string(r))
		}, OnWaiting: countWaiting(figures, time.Now),
	}), nil
}

// newAlerts returns the watcher that tells users of packs that are about to expire and of chains
// that are down.
//
//nolint:gocritic // read once at the start
func newAlerts(cfg config.Config, b *base, mails *outbox.Outbox, log *slog.Logger) *alerts.Watcher {
	return alerts.New(alerts.Options{
		Record: b.store, Board: b.board, Chains: b.pool.Chains, Known: b.pool.Known(), Mails: mails,
		PublicURL: cfg.PublicURL, Now: time.Now, Logger: log,
	})
}

// countWaiting returns a callback that sets how many mails wait, by kind; a kind that is not in the
// list has none.
func countWaiting(figures *telemetry.Mails, now func() time.Time) func([]maildb.WaitingMails) {
	return func(waiting []maildb.WaitingMails) {
		for _, kind := range notify.Kinds() {
			figures.Waits(string(kind), 0, 0)
		}
		for _, w := range waiting {
			figures.Waits(w.Kind, w.Count, max(0, now().Sub(w.Oldest).Seconds()))
		}
	}
}

func words[T ~string](all []T) []string {
	texts := make([]string, len(all))
	for i, w := range all {
		texts[i] = string(w)
	}
	return texts
}
