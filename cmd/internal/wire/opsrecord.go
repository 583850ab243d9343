package wire

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chainaccess/gateway/audit"
	"github.com/chainaccess/gateway/config"
	"github.com/chainaccess/gateway/fences"
	"github.com/chainaccess/gateway/meter"
	"github.com/chainaccess/gateway/store"
)

// withRecord lends the record and the fences over it for one command.
func withRecord(ctx context.Context, cfg config.Config, use func(*store.Store, *meter.Meter, *fences.Fences) error) error {
	s, err := store.Open(ctx, cfg.DatabaseURL)
	if err != nil {
		return unreachable("DATABASE_URL", "PostgreSQL", err)
	}
	defer s.Close()
	m, err := meter.OpenTLS(ctx, cfg.RedisURL, cfg.RedisCertificates())
	if err != nil {
		return unreachable("REDIS_URL", "Redis", err)
	}
	defer func() { _ = m.Close() }()
	return use(s, m, fences.New(s, m, nil, time.Now))
}

// OpsAudit proves the books and tells each difference. An error says that nothing is proven, and what to check.
func OpsAudit(ctx context.Context, cfg config.Config, o audit.Options, tell func(audit.Difference)) (audit.Summary, error) {
	var done audit.Summary
	err := withRecord(ctx, cfg, func(s *store.Store, _ *meter.Meter, f *fences.Fences) (err error) {
		if done, err = audit.Run(ctx, s, f, o, tell); err != nil {
			err = fmt.Errorf("the audit ended early and proves nothing: %s", strings.Join(strings.Fields(err.Error()), " "))
		}
		return err
	})
	return done, err
}
