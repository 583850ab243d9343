package mailbox

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// session is one SMTP connection.
type session struct {
	box   *Box
	known bool // logged in
	from  string
	to    []string
}

var _ smtp.AuthSession = (*session)(nil)

// AuthMechanisms returns PLAIN when a login is required.
func (s *session) AuthMechanisms() []string {
	if s.box.o.Username == "" {
		return nil
	}
	return []string{sasl.Plain}
}

// Auth checks the user name and the password.
func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, username, password string) error {
		if username != s.box.o.Username || password != s.box.o.Password {
			return smtp.ErrAuthFailed
		}
		s.known = true
		return nil
	}), nil
}

// Mail handles MAIL FROM.
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.box.o.Username != "" && !s.known {
		return Reply(530, "authentication required")
	}
	s.from = from
	return s.refused(StageFrom, from)
}

// Rcpt handles RCPT TO.
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if err := s.refused(StageRecipient, to); err != nil {
		return err
	}
	s.to = append(s.to, to)
	return nil
}

// Data receives the mail.
func (s *session) Data(r io.Reader) error {
	source, err := io.ReadAll(r)
	if errors.Is(err, smtp.ErrDataTooLarge) {
		return err
	}
	if err != nil {
		return fmt.Errorf("read a mail: %w", err)
	}
	if err := s.refused(StageData, s.from); err != nil {
		return err
	}
	m, err := read(source)
	if err != nil {
		return Reply(554, "not a mail: "+err.Error())
	}
	m.From, m.To, m.ReceivedAt = s.from, s.to, time.Now().UTC()
	s.box.keep(m)
	return nil
}

func (s *session) refused(at Stage, address string) error {
	if s.box.o.Refuse == nil {
		return nil
	}
	return s.box.o.Refuse(at, address)
}

// Reset discards an unfinished mail.
func (s *session) Reset() { s.from, s.to = "", nil }

// Logout ends the connection.
func (s *session) Logout() error { return nil }
