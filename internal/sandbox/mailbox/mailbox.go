// Package mailbox is a mail catcher: an SMTP server that keeps the newest mails in memory, lets
// programs wait for them and shows them to people (/dev/mail). It delivers nothing. It is for
// gateway-dev and tests; production does not link it.
package mailbox

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-smtp"
)

// Stage is a step of SMTP at which the server may refuse.
type Stage string

// The stages.
const (
	StageFrom      Stage = "from"      // MAIL FROM
	StageRecipient Stage = "recipient" // RCPT TO
	StageData      Stage = "data"      // the end of the mail
)

// Options configure a Box.
type Options struct {
	Address string      // where to listen; default 127.0.0.1:0
	Keep    int         // how many of the newest mails are kept; default 200
	TLS     *tls.Config // offers STARTTLS; nil for none
	// TLSOnly requires TLS from the first byte.
	TLSOnly bool
	// Username and Password are required before a mail is accepted. An empty Username requires no
	// login.
	Username, Password string
	// Refuse is called at each stage with the address in question. The server answers with an error
	// that it returns; use Reply.
	Refuse func(at Stage, address string) error
	// Caught is called for each accepted mail, one at a time.
	Caught func(m Mail)
}

// Reply returns a refusal with an SMTP reply code, such as 451 or 550.
func Reply(code int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCodeNotSet, Message: text}
}

// Limits of a mail.
const (
	maxBytes      = 1 << 20
	maxRecipients = 10
	patience      = time.Minute // between two lines of a client
)

// Box is a running server. It is safe for concurrent use.
type Box struct {
	o        Options
	server   *smtp.Server
	listener net.Listener
	ended    chan struct{}

	mu      sync.Mutex    // guards what follows
	mails   []Mail        // oldest first
	taken   int           // since the start
	arrived chan struct{} // closed with the next mail
}

// Start listens and serves until Close.
func Start(ctx context.Context, o Options) (*Box, error) {
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	if o.Keep <= 0 {
		o.Keep = 200
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("listen for mails: %w", err)
	}
	b := &Box{o: o, listener: listener, ended: make(chan struct{}), arrived: make(chan struct{})}
	b.server = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{box: b}, nil }))
	b.server.Domain, b.server.MaxRecipients, b.server.MaxMessageBytes = "localhost", maxRecipients, maxBytes
	b.server.ReadTimeout, b.server.WriteTimeout, b.server.EnableSMTPUTF8 = patience, patience, true
	b.server.ErrorLog = log.New(io.Discard, "", 0)
	if o.TLSOnly {
		listener = tls.NewListener(listener, o.TLS)
	} else {
		b.server.TLSConfig = o.TLS
	}
	go func() {
		defer close(b.ended)
		_ = b.server.Serve(listener) // it returns only after Close
	}()
	return b, nil
}

// Close stops the server and its connections.
func (b *Box) Close() error {
	err := b.server.Close()
	_ = b.listener.Close() // the server may have closed it already
	<-b.ended
	if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, smtp.ErrServerClosed) {
		return fmt.Errorf("stop the mailbox: %w", err)
	}
	return nil
}

// Address returns the server's address, HOST:PORT.
func (b *Box) Address() string { return b.listener.Addr().String() }

// URL returns the server's address for SMTP_URL.
func (b *Box) URL() string { return "smtp://" + b.Address() }

// Mails returns the mails that are still kept, oldest first.
func (b *Box) Mails() []Mail {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Mail(nil), b.mails...)
}

// To returns the kept mails to an address, oldest first.
func (b *Box) To(address string) []Mail {
	var to []Mail
	for _, m := range b.Mails() {
		if m.isTo(address) {
			to = append(to, m)
		}
	}
	return to
}

// Await waits until n mails to an address were caught, and returns the n-th, counted from 1. When
// ctx ends first, the error lists what was caught instead.
func (b *Box) Await(ctx context.Context, address string, n int) (Mail, error) {
	for {
		b.mu.Lock()
		arrived := b.arrived
		b.mu.Unlock()
		if to := b.To(address); len(to) >= n {
			return to[n-1], nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			var others []string
			for _, m := range b.Mails() {
				others = append(others, strings.Join(m.To, ",")+": "+m.Subject)
			}
			return Mail{}, fmt.Errorf("wait for mail %d to %s, caught were %q: %w", n, address, others, ctx.Err())
		}
	}
}

// keep stores a mail and drops the oldest beyond the limit.
func (b *Box) keep(m Mail) { //nolint:gocritic // it is stored
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken++
	m.ID = fmt.Sprint(b.taken)
	b.mails = append(b.mails, m)
	if over := len(b.mails) - b.o.Keep; over > 0 {
		b.mails = append([]Mail(nil), b.mails[over:]...)
	}
	if b.o.Caught != nil {
		b.o.Caught(m)
	}
	close(b.arrived)
	b.arrived = make(chan struct{})
}
