package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/chainaccess/gateway/cmd/internal/wire"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/sandbox/mailbox"
)

// catchMail starts an SMTP server that catches all mails, prints a line for each, and shows them at
// /dev/mail. It writes its address into cfg.
func catchMail(ctx context.Context, cfg *config.Config, out io.Writer) (*mailbox.Box, wire.Route, error) {
	//nolint:gocritic // a copy does no harm
	box, err := mailbox.Start(ctx, mailbox.Options{Caught: func(m mailbox.Mail) {
		fmt.Fprintf(out, "mail to=%s subject=%q link=%s code=%s\n", strings.Join(m.To, ","), m.Subject,
			cmp.Or(m.Link(), "none"), cmp.Or(m.Code, "none"))
	}})
	if err != nil {
		return nil, wire.Route{}, err
	}
	cfg.SMTPURL, cfg.MailFrom = box.URL(), "Chain Access Gateway <no-reply@chainaccess.example>"
	return box, wire.Route{Prefix: mailbox.Path, Handler: box.Handler()}, nil
}
