package outbox_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/store/maildb"
)

func TestQueue_IsIdempotentByReason(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var queued sync.WaitGroup
	for range 8 {
		queued.Go(func() {
			if err := b.outbox.Queue(b.ctx, welcome("welcome/1"), welcome("welcome/2")); err != nil {
				t.Error(err)
			}
		})
	}
	queued.Wait()
	waiting, err := b.store.CountWaitingMails(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	in := expect.In(t, "there wait")
	require.Len(in, waiting, 1)
	expect.Equal(in, waiting[0].Count, 2)
	expect.Equal(in, waiting[0].Kind, "welcome")
	expect.AtMost(in, time.Since(waiting[0].Oldest), testTimeout)
}

func TestQueue_StoresNeitherAddressNorTokenInTheClear(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.queue(t, signIn())
	var row string
	if err := b.database(t).QueryRow(b.ctx, "SELECT mails::text FROM mails").Scan(&row); err != nil {
		t.Fatal(err)
	}
	for _, canary := range []string{address, "buyer", token, code, "203.0.113.7"} {
		for _, form := range []string{
			canary, hex.EncodeToString([]byte(canary)),
			strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(canary)), "="),
		} {
			if strings.Contains(row, form) {
				t.Errorf("the row holds %s as %s", canary, form)
			}
		}
	}
	if !strings.Contains(row, signInReason) {
		t.Errorf("the row %s lacks its reason", row)
	}
}

func TestQueue_SameLetterIsSealedDifferentlyEachTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, err := b.outbox.Prepare(signIn())
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.outbox.Prepare(signIn())
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(first.Recipient, second.Recipient) || first.ID == second.ID {
		t.Error("two letters to one address look the same")
	}
	if !bytes.Equal(first.RecipientDigest, second.RecipientDigest) {
		t.Error("two letters to one address are not counted together")
	}
}

func TestQueue_RecipientIsNotFlooded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const most = 30
	for n := range most {
		b.queue(t, welcome(fmt.Sprintf("welcome/%d", n)))
	}
	shouted := welcome("welcome/more")
	shouted.To = strings.ToUpper(address[:3]) + address[3:]
	other := welcome("welcome/other")
	other.To = "bob@buyer.example"
	b.queue(t, shouted, other, signIn())
	s := b.state(t, "welcome/more")
	in := expect.In(t, "one too many")
	expect.Equal(in, s.LastError, maildb.MailCrowded)
	expect.False(in, s.FailedAt.IsZero())
	expect.True(in, s.Wiped)
	for _, reason := range []string{"welcome/29", "welcome/other", signInReason} {
		if s := b.state(t, reason); !s.FailedAt.IsZero() || s.Wiped {
			t.Errorf("%s is %+v, want it waiting", reason, s)
		}
	}
}

func TestQueue_RefusesWhatCannotBeSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, to := range []string{
		"", "ann", "ann@", "@buyer.example", "Ann <ann@buyer.example>", "ann@buyer.example, bob@buyer.example",
		"ann@buyer.example\r\nBcc: x@y.example", "ann @buyer.example", "ann@buyer.example\x00",
		strings.Repeat("a", 250) + "@buyer.example", "\"a b\"@buyer.example",
	} {
		l := welcome("welcome/1")
		l.To = to
		if _, err := b.outbox.Prepare(l); !errors.Is(err, outbox.ErrAddress) {
			t.Errorf("%q: %v, want ErrAddress", to, err)
		} else if to != "" && strings.Contains(err.Error(), to) {
			t.Errorf("the error tells the address: %v", err)
		}
	}
	for _, reason := range []string{"", "adopted/ann@buyer.example", "two words", strings.Repeat("x", 201), "line\n"} {
		if _, err := b.outbox.Prepare(welcome(reason)); err == nil {
			t.Errorf("the reason %q was taken", reason)
		}
	}
	endless := signIn()
	endless.Expires = time.Time{}
	if _, err := b.outbox.Prepare(endless); err == nil {
		t.Error("a sign-in without an end was taken")
	}
	elsewhere := welcome("welcome/1")
	elsewhere.Mail = notify.Welcome{Link: "https://evil.example/"}
	if err := b.outbox.Queue(b.ctx, welcome("welcome/2"), elsewhere); !errors.Is(err, notify.ErrLink) ||
		!b.missing(t, "welcome/2") {
		t.Errorf("%v, want ErrLink and nothing queued", err)
	}
}
