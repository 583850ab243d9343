package config

import (
	"errors"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// SMTP is a mail server, as SMTP_URL describes it.
type SMTP struct {
	Host     string
	Port     int
	Username string // empty: the server requires no login
	Password string
	TLS      SMTPTLS
}

// SMTPTLS is how a connection to an SMTP server is encrypted.
type SMTPTLS uint8

// The encryption modes.
const (
	SMTPStartTLS SMTPTLS = iota // STARTTLS is required
	SMTPImplicit                // TLS from the first byte
	SMTPOptional                // STARTTLS when the server offers it; for a server on this machine
	SMTPPlain                   // none; for a mail catcher on a private network
)

// Ports of mail submission (RFC 6409, RFC 8314).
const (
	submissionPort  = 587
	submissionsPort = 465
)

var errSMTP = errors.New(
	"must be smtp://user:password@host:587, which needs STARTTLS, or smtps://user:password@host:465; " +
		"smtp://host:1025?tls=off for a server that catches mails on a private network, without user and password")

// ParseSMTP parses SMTP_URL. Its error does not quote the address, which may hold a password.
func ParseSMTP(address string) (SMTP, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || (u.Path != "" && u.Path != "/") || u.Fragment != "" || u.Opaque != "" {
		return SMTP{}, errSMTP
	}
	s := SMTP{Host: u.Hostname(), Username: u.User.Username()}
	s.Password, _ = u.User.Password()
	if (s.Username == "") != (s.Password == "") {
		return SMTP{}, errSMTP
	}
	switch u.Scheme + "?" + u.RawQuery {
	case "smtps?":
		s.Port, s.TLS = submissionsPort, SMTPImplicit
	case "smtp?":
		s.Port = submissionPort
		if loopback(s.Host) {
			s.TLS = SMTPOptional
		}
	case "smtp?tls=off":
		s.Port, s.TLS = submissionPort, SMTPPlain
	default:
		return SMTP{}, errSMTP
	}
	if u.Port() != "" {
		s.Port, err = strconv.Atoi(u.Port())
	}
	if err != nil || s.Port < 1 || s.Port > 65535 || (s.TLS == SMTPPlain && s.Username != "") {
		return SMTP{}, errSMTP
	}
	return s, nil
}

// Address returns host:port.
func (s SMTP) Address() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || (err == nil && address.Unmap().IsLoopback())
}

// SendsMail reports whether a mail server is configured. Without one, mails stay in the outbox.
func (c *Config) SendsMail() bool { return c.SMTPURL != "" }

// checkMail checks the mail server's address.
func (c *Config) checkMail(f *faults) {
	if !c.SendsMail() {
		return
	}
	_, err := ParseSMTP(c.SMTPURL)
	f.check(err == nil, "SMTP_URL", errSMTP.Error())
	f.need("MAIL_FROM", c.MailFrom, "give the sender of mails, as address or as Name <address>")
	_, err = mail.ParseAddress(c.MailFrom)
	f.check(c.MailFrom == "" || err == nil, "MAIL_FROM", "must be an e-mail address, or Name <address>")
}

func bareAddress(a string) bool {
	parsed, err := mail.ParseAddress(a)
	return err == nil && parsed.Address == a
}
