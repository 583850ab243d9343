package telemetry_test

import (
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/telemetry"
)

func TestMails_AreCountedByKnownKinds(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics(nil)
	mails := m.WatchMails([]string{"sign_in", "welcome"}, []string{"sent", "given_up"})
	mails.Ended("sign_in", "sent")
	mails.Ended("sign_in", "sent")
	mails.Ended("of a newer version", "given_up")
	mails.Waits("welcome", 3, 12.5)
	got := scrape(t, m)
	for series, want := range map[string]string{
		`gateway_mail_attempts_total{kind="sign_in",result="sent"}`:   "2",
		`gateway_mail_attempts_total{kind="welcome",result="sent"}`:   "0",
		`gateway_mail_attempts_total{kind="other",result="given_up"}`: "1",
		`gateway_mails_waiting{kind="welcome"}`:                       "3",
		`gateway_mails_waiting{kind="sign_in"}`:                       "0",
		`gateway_mails_oldest_wait_seconds{kind="welcome"}`:           "12.5",
	} {
		t.Run(series, func(t *testing.T) {
			if v := value(t, got, series); v != want {
				t.Errorf("%s is %s, want %s", series, v, want)
			}
		})
	}
	if strings.Contains(got, "newer") {
		t.Error("a kind that is not known has series of its own")
	}
}
