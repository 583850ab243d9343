// Package mailbox catches mails in place of the outside: an SMTP server that keeps the newest in
// memory and lets programs wait for them and people read them (/dev/mail). It delivers nothing. For
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

// Stage is a step of SMTP at which a server may refuse.
type Stage string

// The stages.
const (
	StageFrom      Stage = "from"      // MAIL FROM
	StageRecipient Stage = "recipient" // RCPT TO
	StageData      Stage = "data"      // the end of the mail
)

// Options of a Box. Zero values take the defaults named here.
type Options struct {
	Address string      // where to listen; 127.0.0.1:0
	Keep    int         // how many mails are kept, the newest; 200
	TLS     *tls.Config // offers STARTTLS, or none when nil
	// TLSOnly speaks TLS from the first byte.
	TLSOnly bool
	// Username and Password are asked for before a mail is taken; nothing is when Username is
	// empty.
	Username, Password string
	// Refuse is asked at each stage, with the address in question; an error of Reply is the
	// server's answer.
	Refuse func(at Stage, address string) error
	// Caught is told of each mail that was taken, one at a time.
	Caught func(m Mail)
}

// Reply is a refusal with the code of SMTP, such as 451 or 550.
func Reply(code int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCodeNotSet, Message: text}
}

// Bounds of a mail.
const (
	maxBytes      = 1 << 20
	maxRecipients = 10
	patience      = time.Minute // between two lines of a client
)

// Box is a server that runs. It is safe for concurrent use.
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
		_ = b.server.Serve(listener) // it ends with Close only
	}()
	return b, nil
}

// Close stops the server, and connections with it.
func (b *Box) Close() error {
	err := b.server.Close()
	_ = b.listener.Close() // closed already, when the server had it
	<-b.ended
	if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, smtp.ErrServerClosed) {
		return fmt.Errorf("stop the mailbox: %w", err)
	}
	return nil
}

// Address is where the server listens, HOST:PORT.
func (b *Box) Address() string { return b.listener.Addr().String() }

// URL is the address for SMTP_URL.
func (b *Box) URL() string { return "smtp://" + b.Address() }

// Mails lists what was caught and is still kept, oldest first.
func (b *Box) Mails() []Mail {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Mail(nil), b.mails...)
}

// To lists what was caught for an address, oldest first.
func (b *Box) To(address string) []Mail {
	var to []Mail
	for _, m := range b.Mails() {
		if m.isTo(address) {
			to = append(to, m)
		}
	}
	return to
}

// Await waits until n mails were caught for an address, counted from 1, and gives the n-th. The
// error, when ctx ends before, says what was caught instead.
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

// keep takes a mail in, and forgets the oldest.
func (b *Box) keep(m Mail) { //nolint:gocritic // it is kept
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
