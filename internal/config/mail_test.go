package config

import (
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func TestMailServer_AddressDecidesItsEncryption(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]SMTP{
		"smtp://u:p%40w@smtp.example": {
			Host: "smtp.example", Port: 587, Username: "u", Password: "p@w", TLS: SMTPStartTLS,
		},
		"smtp://u:p@smtp.example:2525/": {
			Host: "smtp.example", Port: 2525, Username: "u", Password: "p", TLS: SMTPStartTLS,
		},
		"smtp://10.0.0.7": {Host: "10.0.0.7", Port: 587, TLS: SMTPStartTLS},
		"smtps://u:p@smtp.example": {
			Host: "smtp.example", Port: 465, Username: "u", Password: "p", TLS: SMTPImplicit,
		},
		"smtp://127.0.0.1:1025":              {Host: "127.0.0.1", Port: 1025, TLS: SMTPOptional},
		"smtp://[::1]:1025":                  {Host: "::1", Port: 1025, TLS: SMTPOptional},
		"smtp://localhost:1025":              {Host: "localhost", Port: 1025, TLS: SMTPOptional},
		"smtp://localhost.evil.example:1025": {Host: "localhost.evil.example", Port: 1025, TLS: SMTPStartTLS},
		"smtp://mail:1025?tls=off":           {Host: "mail", Port: 1025, TLS: SMTPPlain},
		"smtp://u%40buyer.example:p@smtp.example": {
			Host: "smtp.example", Port: 587, Username: "u@buyer.example", Password: "p", TLS: SMTPStartTLS,
		},
	} {
		t.Run(address, func(t *testing.T) {
			if got, err := ParseSMTP(address); err != nil || got != want {
				t.Errorf("%+v, %v, want %+v", got, err, want)
			}
		})
	}
	for _, address := range []string{
		"", "smtp.example:587", "http://canary.example", "smtp://", "smtp://u:canary@mail:1025?tls=off",
		"smtps://canary.example?tls=off", "smtp://canary.example?tls=maybe", "smtp://canary.example?verify=no",
		"smtp://canary.example/path", "smtp://canary.example:0", "smtp://canary.example:99999",
		"smtp://canary@smtp.example", "smtp://:canary@smtp.example", "smtp://u:canary@smtp.example:port",
	} {
		if got, err := ParseSMTP(address); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %+v, %v, want an error that does not repeat it", address, got, err)
		}
	}
}

func TestMailServer_NeedsASender(t *testing.T) {
	t.Parallel()
	e := environment(map[string]string{"SMTP_URL": "smtp://u:canary@smtp.example"})
	if _, err := fromMap(Worker, e); err == nil || !strings.HasPrefix(err.Error(), "MAIL_FROM is not set: ") {
		t.Errorf("without a sender: %v", err)
	}
	for _, from := range []string{"canary", "a@b.example, canary@b.example", "Canary <>"} {
		e["MAIL_FROM"] = from
		_, err := fromMap(Worker, e)
		in := expect.In(t, "from %s", from)
		require.Error(in, err)
		expect.HasPrefix(in, err.Error(), "MAIL_FROM must be")
		expect.NotContains(in, err.Error(), "anary")
	}
	for _, from := range []string{"no-reply@gateway.example", "Chain Access Gateway <no-reply@gateway.example>"} {
		e["MAIL_FROM"] = from
		if c, err := fromMap(Worker, e); err != nil || !c.SendsMail() {
			t.Errorf("from %s: %v", from, err)
		}
	}
}
