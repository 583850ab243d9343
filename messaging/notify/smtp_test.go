package notify_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/sandbox/mailbox"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/messaging/notify"
)

const (
	testTimeout = 30 * time.Second
	reader      = "reader-canary@buyer.example"
)

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

func catcher(t *testing.T, o mailbox.Options) *mailbox.Box {
	t.Helper()
	box, err := mailbox.Start(testContext(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	return box
}

// sender delivers to an address without TLS, unless change says otherwise.
func sender(t *testing.T, address string, change func(*notify.SenderOptions)) *notify.Sender {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	o := notify.SenderOptions{
		Server: config.SMTP{Host: host, TLS: config.SMTPPlain}, From: "Gateway <no-reply@gateway.example>",
		Timeout: testTimeout,
	}
	if o.Server.Port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&o)
	}
	s, err := notify.NewSender(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parcel(t *testing.T) notify.Message {
	t.Helper()
	return notify.Message{
		ID: "01a1fa08-fab9-74fb-8624-15f495b06326", To: reader, Date: time.Date(2026, 11, 20, 13, 5, 0, 0, time.UTC),
		Content: render(t, notify.SignIn{
			Link: site.URL + "/sign-in?token=cagl_" + strings.Repeat("ab=", 60),
			Code: "604213", Minutes: 15, Origin: "Zürich — 203.0.113.7",
		}, ""),
	}
}

func TestSMTP_BothFormsArriveAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	box := catcher(t, mailbox.Options{})
	p := parcel(t)
	p.Content.Subject = "Grüße an “Ann”"
	if err := sender(t, box.Address(), nil).Deliver(testContext(t), p); err != nil {
		t.Fatal(err)
	}
	m, err := box.Await(testContext(t), reader, 1)
	if err != nil {
		t.Fatal(err)
	}
	in := expect.In(t, "arrived")
	expect.Equal(in, m.Text, p.Content.Text)
	expect.Equal(in, m.HTML, p.Content.HTML)
	expect.Equal(in, m.Subject, p.Content.Subject)
	expect.Equal(in, m.From, "no-reply@gateway.example")
	if m.Code != "604213" || m.Link() != site.URL+"/sign-in?token=cagl_"+strings.Repeat("ab=", 60) {
		t.Errorf("code %q, link %q", m.Code, m.Link())
	}
	for name, want := range map[string]string{
		"Message-Id": "<" + p.ID + "@gateway.example>", "From": `"Gateway" <no-reply@gateway.example>`,
		"To": "<" + reader + ">", "Date": "Fri, 20 Nov 2026 13:05:00 +0000", "Auto-Submitted": "auto-generated",
		"Bcc": "", "User-Agent": "", "X-Mailer": "", "List-Unsubscribe": "", "List-Unsubscribe-Post": "",
	} {
		t.Run(name, func(t *testing.T) {
			if got := m.Header(name); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// TestSMTP_UnsubscribeHeadersAreSetWhereAMailCanBeStopped checks the two headers of RFC 8058,
// section 3.1.
func TestSMTP_UnsubscribeHeadersAreSetWhereAMailCanBeStopped(t *testing.T) {
	t.Parallel()
	box := catcher(t, mailbox.Options{})
	p := parcel(t)
	p.Content = render(t, samples["incident_began"], "")
	if err := sender(t, box.Address(), nil).Deliver(testContext(t), p); err != nil {
		t.Fatal(err)
	}
	m, err := box.Await(testContext(t), reader, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"List-Unsubscribe": "<" + p.Content.Unsubscribe + ">", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
	} {
		if got := m.Header(name); got != want || p.Content.Unsubscribe == "" {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// certified returns a server's TLS configuration with a certificate, and a client's that trusts it.
func certified(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	files := testkit.NewCertificates(t, "smtp.gateway.example")
	pair, err := tls.LoadX509KeyPair(files.CertFile, files.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile(files.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	//nolint:gosec // the default versions of Go
	return &tls.Config{Certificates: []tls.Certificate{pair}}, &tls.Config{
		RootCAs: roots, ServerName: "smtp.gateway.example",
	}
}

func TestSMTP_UsesOnlyTheConnectionThatWasAskedFor(t *testing.T) {
	t.Parallel()
	server, client := certified(t)
	for _, c := range []struct {
		name    string
		box     mailbox.Options
		mode    config.SMTPTLS
		trusted bool
		class   notify.Class // of the failure; empty when the mail arrives
	}{
		{"STARTTLS", mailbox.Options{TLS: server}, config.SMTPStartTLS, true, ""},
		{"STARTTLS is not offered", mailbox.Options{}, config.SMTPStartTLS, true, notify.ServerTLS},
		{"STARTTLS of a stranger", mailbox.Options{TLS: server}, config.SMTPStartTLS, false, notify.ServerTLS},
		{"TLS at once", mailbox.Options{TLS: server, TLSOnly: true}, config.SMTPImplicit, true, ""},
		{
			"TLS at once of a stranger",
			mailbox.Options{TLS: server, TLSOnly: true},
			config.SMTPImplicit, false,
			notify.ServerTLS,
		},
		{"TLS at once where there is none", mailbox.Options{}, config.SMTPImplicit, true, notify.ServerTLS},
		{"offered on this machine", mailbox.Options{TLS: server}, config.SMTPOptional, true, ""},
		{"not offered on this machine", mailbox.Options{}, config.SMTPOptional, true, ""},
		{
			"with a password",
			mailbox.Options{TLS: server, Username: "u", Password: "password-canary"},
			config.SMTPStartTLS, true, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			box := catcher(t, c.box)
			s := sender(t, box.Address(), func(o *notify.SenderOptions) {
				o.Server.TLS, o.Server.Username, o.Server.Password = c.mode, c.box.Username, c.box.Password
				if o.TLS = client; !c.trusted {
					o.TLS = &tls.Config{ServerName: "smtp.gateway.example"} //nolint:gosec // the default versions of Go
				}
			})
			err := s.Deliver(testContext(t), parcel(t))
			if c.class == "" {
				if err != nil || len(box.Mails()) != 1 {
					t.Errorf("%v, %d mails arrived", err, len(box.Mails()))
				}
				return
			}
			wantFailure(t, err, notify.DeliveryError{Class: c.class, Whole: true})
			if len(box.Mails()) != 0 {
				t.Error("the mail arrived nevertheless")
			}
		})
	}
}

// wantFailure compares the fields that decide what happens to a mail, and checks that the text
// holds no secret.
func wantFailure(t *testing.T, err error, want notify.DeliveryError) { //nolint:gocritic // a copy does no harm
	t.Helper()
	got, ok := errors.AsType[*notify.DeliveryError](err)
	if !ok {
		t.Fatalf("got %v, want a failure", err)
	}
	expect.Equal(t, got.Class, want.Class)
	expect.Equal(t, got.Permanent, want.Permanent)
	expect.Equal(t, got.Whole, want.Whole)
	expect.Equal(t, got.Code, want.Code)
	for _, secret := range []string{"canary", "token", "604213"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the failure tells %s: %v", secret, err)
		}
	}
}

func TestSMTP_RepliesDecideWhetherAMailIsRetried(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at   mailbox.Stage
		code int
		want notify.DeliveryError
	}{
		{mailbox.StageFrom, 451, notify.DeliveryError{Class: notify.SenderRefused}},
		{mailbox.StageFrom, 550, notify.DeliveryError{Class: notify.SenderRefused, Whole: true}},
		{mailbox.StageFrom, 530, notify.DeliveryError{Class: notify.ServerAuth, Whole: true}},
		{mailbox.StageRecipient, 450, notify.DeliveryError{Class: notify.RecipientRefused}},
		{mailbox.StageRecipient, 550, notify.DeliveryError{Class: notify.RecipientRefused, Permanent: true}},
		{mailbox.StageRecipient, 421, notify.DeliveryError{Class: notify.ServerUnreachable, Whole: true}},
		{mailbox.StageData, 452, notify.DeliveryError{Class: notify.ContentRefused}},
		{mailbox.StageData, 554, notify.DeliveryError{Class: notify.ContentRefused, Permanent: true}},
	} {
		t.Run(string(c.at), func(t *testing.T) {
			box := catcher(t, mailbox.Options{Refuse: func(at mailbox.Stage, address string) error {
				if at == c.at {
					return mailbox.Reply(c.code, "refused, "+reader)
				}
				return nil
			}})
			c.want.Code = c.code
			wantFailure(t, sender(t, box.Address(), nil).Deliver(testContext(t), parcel(t)), c.want)
		})
	}
}

func TestSMTP_SeparatesAnUnreachableServerFromARefusedMail(t *testing.T) {
	t.Parallel()
	wantFailure(t, sender(t, testkit.ClosedAddress(t), nil).Deliver(testContext(t), parcel(t)),
		notify.DeliveryError{Class: notify.ServerUnreachable, Whole: true})

	server, client := certified(t)
	box := catcher(t, mailbox.Options{TLS: server, Username: "u", Password: "another"})
	s := sender(t, box.Address(), func(o *notify.SenderOptions) {
		o.TLS, o.Server.TLS, o.Server.Username, o.Server.Password = client, config.SMTPStartTLS, "u", "password-canary"
	})
	wantFailure(t, s.Deliver(testContext(t), parcel(t)), notify.DeliveryError{
		Class: notify.ServerAuth, Whole: true, Code: 535,
	})
}

func TestSMTP_HangingServerIsAbandoned(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	s := sender(t, listener.Addr().String(), func(o *notify.SenderOptions) { o.Timeout = 50 * time.Millisecond })
	wantFailure(t, s.Deliver(testContext(t), parcel(t)), notify.DeliveryError{
		Class: notify.ServerUnreachable, Whole: true,
	})
	// A caller that cancels is not kept waiting.
	patient := sender(t, listener.Addr().String(), func(o *notify.SenderOptions) { o.Timeout = time.Hour })
	ctx, cancel := context.WithCancel(testContext(t))
	ended := make(chan error, 1)
	go func() { ended <- patient.Deliver(ctx, parcel(t)) }()
	for range 2 { // the kernel accepted the first one
		conn, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
	cancel()
	select {
	case err := <-ended:
		wantFailure(t, err, notify.DeliveryError{Class: notify.ServerUnreachable, Whole: true})
	case <-testContext(t).Done():
		t.Fatal("the delivery goes on without its caller")
	}
}

// TestSMTP_AcceptedMailIsDeliveredEvenIfTheServerThenGoesAway closes the connection right after the
// server's reply to the mail.
func TestSMTP_AcceptedMailIsDeliveredEvenIfTheServerThenGoesAway(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	served := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			served <- err
			return
		}
		line := textproto.NewConn(conn)
		defer func() { _ = line.Close() }()
		for _, reply := range []string{"220 here", "250 here", "250 from", "250 to", "354 go on"} {
			if err := line.PrintfLine("%s", reply); err != nil {
				served <- err
				return
			}
			if _, err := line.ReadLine(); err != nil {
				served <- err
				return
			}
		}
		if _, err = line.ReadDotLines(); err == nil {
			err = line.PrintfLine("250 taken")
		}
		served <- err
	}()
	err = sender(t, listener.Addr().String(), nil).Deliver(testContext(t), parcel(t))
	if served := <-served; served != nil {
		t.Fatalf("the server itself failed: %v", served)
	}
	if err != nil {
		t.Errorf("got %v for a mail that was taken", err)
	}
}
