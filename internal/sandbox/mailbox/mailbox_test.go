package mailbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/smtp"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/sandbox/mailbox"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

const testTimeout = 30 * time.Second

func start(t *testing.T, o mailbox.Options) *mailbox.Box {
	t.Helper()
	box, err := mailbox.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

func send(t *testing.T, box *mailbox.Box, to, message string) error {
	t.Helper()
	return smtp.SendMail(box.Address(), nil, "no-reply@gateway.example", []string{to},
		[]byte(strings.ReplaceAll(message, "\n", "\r\n")))
}

// message returns a mail with a text and an HTML part.
func message(code string) string {
	return `From: no-reply@gateway.example
To: reader@buyer.example
Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=
Message-ID: <1@gateway.example>
Content-Type: multipart/alternative; boundary=b

--b
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

Open https://gateway.example/sign-in?token=3Dabc.

` + code + `
--b
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: base64

PHA+R3LDvMOfZTwvcD48c2NyaXB0PmFsZXJ0KDEpPC9zY3JpcHQ+
--b--
`
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

func TestMailbox_CatchesAMailWithLinkAndCode(t *testing.T) {
	t.Parallel()
	caught := make(chan mailbox.Mail, 1)
	box := start(t, mailbox.Options{Caught: func(m mailbox.Mail) { caught <- m }})
	awaited := make(chan mailbox.Mail, 1)
	go func() {
		m, err := box.Await(within(t), "Reader@Buyer.Example", 1)
		if err != nil {
			t.Error(err)
		}
		awaited <- m
	}()
	if err := send(t, box, "reader@buyer.example", message("604213")); err != nil {
		t.Fatal(err)
	}
	for _, m := range []mailbox.Mail{<-caught, <-awaited} {
		expect.Equal(t, m.Link(), "https://gateway.example/sign-in?token=abc")
		expect.Equal(t, m.Code, "604213")
		expect.Equal(t, m.Subject, "Grüße")
		expect.Equal(t, m.MessageID, "<1@gateway.example>")
		expect.HasPrefix(t, m.HTML, "<p>Grüße</p>")
		expect.Equal(t, m.From, "no-reply@gateway.example")
	}
}

func TestMailbox_VainWaitSaysWhatCameInstead(t *testing.T) {
	t.Parallel()
	box := start(t, mailbox.Options{})
	if err := send(t, box, "other@buyer.example", message("")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := box.Await(ctx, "reader@buyer.example", 1)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "other@buyer.example: Grüße") {
		t.Errorf("got %v", err)
	}
}

func TestMailbox_KeepsOnlyTheNewest(t *testing.T) {
	t.Parallel()
	box := start(t, mailbox.Options{Keep: 3})
	for n := range 5 {
		if err := send(t, box, "reader@buyer.example", message(fmt.Sprintf("10000%d", n))); err != nil {
			t.Fatal(err)
		}
	}
	var codes []string
	for _, m := range box.Mails() {
		codes = append(codes, m.ID+" "+m.Code)
	}
	if got := strings.Join(codes, ", "); got != "3 100002, 4 100003, 5 100004" {
		t.Errorf("kept are %s", got)
	}
}

func TestMailbox_RepliesAsAskedFor(t *testing.T) {
	t.Parallel()
	box := start(t, mailbox.Options{Refuse: func(at mailbox.Stage, address string) error {
		if at == mailbox.StageRecipient && strings.HasPrefix(address, "gone@") {
			return mailbox.Reply(550, "gone")
		}
		return nil
	}})
	reply, refused := errors.AsType[*textproto.Error](send(t, box, "gone@buyer.example", message("")))
	require.True(t, refused)
	expect.Equal(t, reply.Code, 550)
	expect.Empty(t, box.Mails())
	if err := send(t, box, "reader@buyer.example", "no mail at all"); err == nil {
		t.Error("what is no mail was taken")
	}
	if err := send(t, box, "reader@buyer.example",
		message(strings.Repeat(strings.Repeat("x", 99)+"\n", 11_000))); err == nil || len(box.Mails()) != 0 {
		t.Errorf("a mail of more than a megabyte: %v", err)
	}
}

// get requests a page of the box with the given Host.
func get(t *testing.T, box *mailbox.Box, path, host string) (answer *httptest.ResponseRecorder, page string) {
	t.Helper()
	answer = httptest.NewRecorder()
	ask := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	ask.Host = host
	box.Handler().ServeHTTP(answer, ask)
	return answer, answer.Body.String()
}

func TestMailbox_PagesShowMailsWithoutRunningThem(t *testing.T) {
	t.Parallel()
	box := start(t, mailbox.Options{})
	const host = "localhost:8080"
	if _, page := get(t, box, "/dev/mail", host); !strings.Contains(page, "Nothing was caught yet") {
		t.Errorf("an empty box shows %s", page)
	}
	if _, list := get(t, box, "/dev/mail.json", host); strings.TrimSpace(list) != "[]" {
		t.Errorf("an empty box lists %s", list)
	}
	for _, code := range []string{"100001", "100002"} {
		if err := send(t, box, "reader@buyer.example", message(code)); err != nil {
			t.Fatal(err)
		}
	}
	if _, page := get(t, box, "/dev/mail", host); strings.Index(page, "100002") > strings.Index(page, "100001") ||
		!strings.Contains(page, `href="/dev/mail/2"`) {
		t.Errorf("the list is %s", page)
	}
	resp, page := get(t, box, "/dev/mail/2", host)
	for _, want := range []string{
		`<iframe sandbox title`, `src="/dev/mail/2/html"`, "100002", `href="https://gateway.example/sign-in?token=abc"`,
		"Message-Id", "reader@buyer.example",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the mail's page lacks %s: %s", want, page)
		}
	}
	if policy := resp.Header().Get("Content-Security-Policy"); strings.Contains(page, "<script") ||
		!strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("the page may run scripts: %s", policy)
	}
	resp, raw := get(t, box, "/dev/mail/2/html", host)
	if policy := resp.Header().Get("Content-Security-Policy"); !strings.Contains(raw, "<script>") ||
		!strings.HasPrefix(policy, "sandbox; default-src 'none'") {
		t.Errorf("the mail itself comes as %s under %q", raw, policy)
	}
	_, list := get(t, box, "/dev/mail.json?to=reader@buyer.example", host)
	var mails []mailbox.Mail
	err := json.Unmarshal([]byte(list), &mails)
	require.NoError(t, err)
	require.Len(t, mails, 2, list)
	expect.Equal(t, mails[0].Code, "100002", list)
	expect.NotEqual(t, mails[0].Link(), "", list)
	if _, list := get(t, box, "/dev/mail.json?to=other@buyer.example", host); strings.TrimSpace(list) != "[]" {
		t.Errorf("mails to another are %s", list)
	}
	if resp, _ := get(t, box, "/dev/mail/77", host); resp.Code != http.StatusNotFound {
		t.Errorf("a mail that is not there: %d", resp.Code)
	}
}

func TestMailbox_PagesOfOtherHostsReadNothing(t *testing.T) {
	t.Parallel()
	box := start(t, mailbox.Options{})
	for host, status := range map[string]int{
		"localhost:8080": 200, "127.0.0.1:8080": 200, "[::1]:8080": 200, "192.168.1.7:8080": 200,
		"evil.example:8080": 403, "localhost.evil.example": 403, "": 403,
	} {
		t.Run(host, func(t *testing.T) {
			for _, path := range []string{"/dev/mail", "/dev/mail.json"} {
				if resp, _ := get(t, box, path, host); resp.Code != status {
					t.Errorf("%s as %q: %d, want %d", path, host, resp.Code, status)
				}
			}
		})
	}
}
