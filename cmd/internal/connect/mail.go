package connect

import (
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/store"
)

// serviceName is the name of the service in mails.
const serviceName = "Chain Access Gateway"

// Outbox returns the outbox that prepares and queues mails.
func Outbox(cfg config.Config, s *store.Store) (*outbox.Outbox, error) {
	site := notify.Site{Name: serviceName, URL: cfg.PublicURL, Contact: cfg.Contact}
	return outbox.New(s, site, []byte(cfg.KeyPepper), time.Now)
}
