package wire_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/sandbox/mailbox"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/store"
)

func TestWorkerRole_SendsMailsAndTheAPIShowsNone(t *testing.T) {
	t.Parallel()
	box, err := mailbox.Start(t.Context(), mailbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = box.Close() }()
	b := setup(t, func(c *config.Config) {
		c.SMTPURL, c.MailFrom = box.URL(), "Gateway <no-reply@gateway.example>"
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	record, err := store.Open(ctx, b.cfg.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer record.Close()
	letters, err := outbox.New(record, notify.Site{Name: "of the test", URL: b.url}, []byte(b.cfg.KeyPepper), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	err = letters.Queue(ctx, outbox.Mail{
		Reason: "sign_in/1", To: "reader-canary@buyer.example", Expires: time.Now().Add(15 * time.Minute),
		Mail: notify.SignIn{Link: b.url + "/sign-in/token-canary", Code: "604213", Minutes: 15, At: time.Now()},
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := box.Await(ctx, "reader-canary@buyer.example", 1)
	if err != nil {
		t.Fatal(err)
	}
	// The worker uses its own configuration in the mail, whichever process queued it.
	in := expect.In(t, "arrived")
	expect.Equal(in, m.Code, "604213")
	expect.Equal(in, m.Link(), b.url+"/sign-in/token-canary")
	expect.Contains(in, m.Text, "Chain Access Gateway, "+b.url+"\nQuestions: "+b.cfg.Contact)
	testkit.Eventually(t, patience, func() bool {
		return len(b.log.values("mail sent", "mail_id")) == 1
	}, "the log says once that a mail was sent")
	for _, secret := range []string{"reader-canary", "token-canary", "604213"} {
		if strings.Contains(b.log.String(), secret) {
			t.Errorf("the log holds %s", secret)
		}
	}
	// In production there is no page of mails.
	resp, err := http.Get(b.url + mailbox.Path) //nolint:noctx // the API is on this machine
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("%s in production: %d, %v, %s", mailbox.Path, resp.StatusCode, err, text)
	}
}
