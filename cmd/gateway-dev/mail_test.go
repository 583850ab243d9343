package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/messaging/notify"
)

func TestMail_CaughtOneIsPrintedWithLinkAndCode(t *testing.T) {
	t.Parallel()
	var cfg config.Config
	out, in := io.Pipe()
	box, route, err := catchMail(t.Context(), &cfg, in)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = box.Close() }()
	server, err := config.ParseSMTP(cfg.SMTPURL)
	if err != nil {
		t.Fatal(err)
	}
	sender, err := notify.NewSender(notify.SenderOptions{Server: server, From: cfg.MailFrom})
	if err != nil {
		t.Fatal(err)
	}
	const link = "https://gateway.example/sign-in?token=abc"
	content, err := notify.Site{Name: "Gateway", URL: "https://gateway.example"}.Render(notify.SignIn{
		Link: link, Code: "604213",
	}, notify.Copy{})
	if err != nil {
		t.Fatal(err)
	}
	delivered := make(chan error, 1)
	go func() {
		delivered <- sender.Deliver(t.Context(), notify.Message{ID: "1", To: "reader@buyer.example", Content: content})
		_ = in.Close()
	}()
	printed, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-delivered; err != nil {
		t.Fatal(err)
	}
	if want := `mail to=reader@buyer.example subject="Sign in to Gateway" link=` + link +
		" code=604213\n"; string(printed) != want {
		t.Errorf("printed %q, want %q", printed, want)
	}
	page, ask := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, route.Prefix,
		http.NoBody)
	ask.Host = "127.0.0.1:8080"
	if route.Handler.ServeHTTP(page, ask); !strings.Contains(page.Body.String(), "604213") {
		t.Errorf("%s shows %s", route.Prefix, page.Body)
	}
}
