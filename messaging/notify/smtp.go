package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"strings"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/chainaccess/gateway/internal/config"
)

// Class is why a delivery failed.
type Class string

// The classes. The first four are not the fault of the mail, so no mail is given up for them.
const (
	ServerUnreachable Class = "server_unreachable" // no connection, or it broke before the reply
	ServerTLS         Class = "server_tls"         // no STARTTLS, or an untrusted certificate
	ServerAuth        Class = "server_auth"        // user and password are rejected, or required
	SenderRefused     Class = "sender_refused"     // MAIL_FROM is rejected
	RecipientRefused  Class = "recipient_refused"
	ContentRefused    Class = "content_refused"
	Unreadable        Class = "unreadable" // this version cannot decrypt or render it
)

// Classes lists the classes.
func Classes() []Class {
	return []Class{
		ServerUnreachable, ServerTLS, ServerAuth, SenderRefused, RecipientRefused, ContentRefused, Unreadable,
	}
}

// DeliveryError is a failed delivery. Its text holds no address and nothing of the mail; it may
// name the SMTP server.
type DeliveryError struct {
	Class Class
	// Permanent reports that a retry is useless: the server refused the mail itself with a reply of
	// 500 to 599 (RFC 5321, section 4.2.1), or the mail cannot be composed.
	Permanent bool
	// Whole reports that every other mail would fail now as well.
	Whole bool
	Code  int // the server's reply; 0 without one

	cause error // nil when it could hold an address
}

// Error returns the class, the reply code, and the cause unless it could hold an address.
func (f *DeliveryError) Error() string {
	text := "mail not delivered: " + string(f.Class)
	if f.Code != 0 {
		text += fmt.Sprintf(" (SMTP reply %d)", f.Code)
	}
	if f.cause != nil {
		text += ": " + strings.Join(strings.Fields(f.cause.Error()), " ")
	}
	return text
}

// Unwrap returns the cause; nil when it could hold an address.
func (f *DeliveryError) Unwrap() error { return f.cause }

// Message is a mail to be delivered.
type Message struct {
	// ID is the first part of the Message-ID. A mail that is sent again, because the first delivery
	// was not recorded, has the same one, so that mail programs can deduplicate it.
	ID      string
	To      string
	Date    time.Time // when it was queued
	Content Content
}

// SenderOptions configures a Sender.
type SenderOptions struct {
	Server  config.SMTP
	From    string        // an address, or Name <address>
	Timeout time.Duration // timeout of one delivery; 30 s
	TLS     *tls.Config   // nil for the system's roots and the server's name
}

// Sender delivers mails to an SMTP server, each over a connection of its own. It is safe for
// concurrent use.
type Sender struct {
	o    SenderOptions
	from *mail.Address
	id   string // domain of Message-IDs
}

// NewSender validates the options.
func NewSender(o SenderOptions) (*Sender, error) {
	from, err := mail.ParseAddress(o.From)
	if err != nil {
		return nil, errors.New("the sender of mails must be an address, or Name <address>")
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.TLS == nil {
		o.TLS = &tls.Config{ServerName: o.Server.Host, MinVersion: tls.VersionTLS12}
	}
	return &Sender{o: o, from: from, id: from.Address[strings.LastIndexByte(from.Address, '@')+1:]}, nil
}

// Deliver hands a mail to the server. Nil means that the server accepted it. A failed delivery is a
// *DeliveryError; a failure after the server accepted the mail is ignored.
func (s *Sender) Deliver(ctx context.Context, p Message) error { //nolint:gocritic // a copy does no harm
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	msg, err := s.message(p)
	if err != nil {
		return &DeliveryError{Class: Unreadable, Permanent: true}
	}
	var line connection
	client, err := gomail.NewClient(s.o.Server.Host, s.options(&line)...)
	if err != nil {
		return fmt.Errorf("make an SMTP client: %w", err)
	}
	stop := context.AfterFunc(ctx, line.close) // abandons a server that hangs
	defer line.close()
	defer stop()
	err = client.DialAndSendWithContext(ctx, msg)
	if err == nil || msg.IsDelivered() {
		return nil
	}
	return deliveryError(err)
}

func (s *Sender) message(p Message) (*gomail.Msg, error) { //nolint:gocritic // a copy does no harm
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(s.from)
	if err := msg.To(p.To); err != nil {
		return nil, errors.New("not an address")
	}
	msg.Subject(p.Content.Subject)
	msg.SetDateWithValue(p.Date)
	msg.SetMessageIDWithValue(p.ID + "@" + s.id)
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: stops autoresponders
	if p.Content.Unsubscribe != "" {
		// RFC 8058: mail programs show a button that posts to the address without opening it.
		msg.SetGenHeader("List-Unsubscribe", "<"+p.Content.Unsubscribe+">")
		msg.SetGenHeader("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
	}
	msg.SetBodyString(gomail.TypeTextPlain, p.Content.Text)
	msg.AddAlternativeString(gomail.TypeTextHTML, p.Content.HTML)
	return msg, nil
}

func (s *Sender) options(line *connection) []gomail.Option {
	options := []gomail.Option{
		gomail.WithPort(s.o.Server.Port), gomail.WithTimeout(s.o.Timeout), gomail.WithTLSConfig(s.o.TLS.Clone()),
		gomail.WithoutNoop(),
		gomail.WithDialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
			return s.dial(ctx, network, address, line)
		}),
	}
	switch s.o.Server.TLS {
	case config.SMTPStartTLS:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	case config.SMTPImplicit:
		options = append(options, gomail.WithSSL())
	case config.SMTPOptional:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSOpportunistic))
	case config.SMTPPlain:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	}
	if s.o.Server.Username != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover),
			gomail.WithUsername(s.o.Server.Username), gomail.WithPassword(s.o.Server.Password))
	}
	return options
}

// dial connects and stores the connection, because the library leaves it open when the greeting
// fails.
func (s *Sender) dial(ctx context.Context, network, address string, line *connection) (net.Conn, error) {
	dialer := &net.Dialer{}
	if s.o.Server.TLS != config.SMTPImplicit {
		conn, err := dialer.DialContext(ctx, network, address)
		return line.keep(conn), err
	}
	conn, err := (&tls.Dialer{NetDialer: dialer, Config: s.o.TLS.Clone()}).DialContext(ctx, network, address)
	return line.keep(conn), err
}

// connection is the connection of one delivery.
type connection struct {
	mu     sync.Mutex // guards the fields below
	conn   net.Conn
	closed bool
}

func (c *connection) keep(conn net.Conn) net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn == nil {
		return nil
	}
	c.conn = conn
	if c.closed {
		_ = conn.Close()
	}
	return conn
}

func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.conn != nil {
		_ = c.conn.Close()
	}
}
