package console

import (
	"crypto/rand"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

var tokenIn = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// fill sends a form with the CSRF token of the page that this browser loaded.
func (b *browser) fill(page answer, path string, form url.Values) answer {
	b.t.Helper()
	token := tokenIn.FindStringSubmatch(page.body)
	if token == nil {
		b.t.Fatalf("the page has no form: %s", page.body)
	}
	with := url.Values{tokenField: {token[1]}}
	maps.Copy(with, form)
	return b.send(http.MethodPost, path, with)
}

// askingBrowser returns a browser that has entered its key.
func askingBrowser(t *testing.T, h *house) *browser {
	t.Helper()
	b := visitorOf(t, h)
	if got := b.fill(b.get(pathAsk), pathAskKey, url.Values{
		keyField: {bearerOne}, nextField: {pathAskTickets},
	}); got.status != http.StatusSeeOther {
		t.Fatalf("the key is answered with %d: %s", got.status, got.body)
	}
	return b
}

// The support path of an error must work for somebody who has nothing but a key: he enters the key
// and files a ticket.
func TestSupportKey_ErrorPathLeadsTheKeysHolderToATicket(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := visitorOf(t, h)
	var seen []answer
	keep := func(a answer) answer { seen = append(seen, a); return a }
	door := keep(b.get(supportPath + requestOne))
	if door.status != http.StatusOK || !strings.Contains(door.body, requestOne) ||
		!strings.Contains(door.body, `href="/sign-in?next=%2Fsupport%2Fnew%3Frequest_id%3D`+requestOne) {
		t.Fatalf("a stranger is shown %d: %s", door.status, door.body)
	}
	in := keep(b.fill(door, pathAskKey, url.Values{
		keyField: {" " + bearerOne + "\n"}, nextField: {supportPath + requestOne},
	}))
	if in.status != http.StatusSeeOther || in.header.Get("Location") != supportPath+requestOne {
		t.Fatalf("the key is answered with %d and leads to %q", in.status, in.header.Get("Location"))
	}
	kept := in.cookies[0]
	if kept.Name != "__Secure-support" || kept.Path != pathSupport || kept.MaxAge != 3600 || !kept.HttpOnly ||
		!kept.Secure || kept.SameSite != http.SameSiteStrictMode {
		t.Errorf("the key is kept as %+v", kept)
	}
	form := keep(b.get(supportPath + requestOne))
	for _, want := range []string{
		"eth_getLogs on Polygon PoS: No usable answer from any upstream (-32022)",
		"cag_aHCrXoRO…", "2 of 3 calls in the batch", "1 of 2 usable", "1,204", "What you can try",
	} {
		if !strings.Contains(form.body, want) {
			t.Errorf("the form does not show %q", want)
		}
	}
	filed := keep(b.fill(form, pathAsk, url.Values{
		requestField: {requestOne}, "subject": {"s"}, messageField: {"one\r\ntwo"}, formField: {keyTwo},
	}))
	if filed.status != http.StatusSeeOther || filed.header.Get("Location") != "/support/tickets/CAG-1001" {
		t.Fatalf("filing answers %d and leads to %q: %s", filed.status, filed.header.Get("Location"), filed.body)
	}
	if got, want := lastChange[service.CreateTicketInput](t, h),
		(service.CreateTicketInput{
			Subject: "s", Message: "one\ntwo", RequestID: requestOne, Form: keyTwo,
		}); got != want {
		t.Errorf("filed is %+v, want %+v", got, want)
	}
	if page := keep(b.get("/support/tickets/CAG-1001")); page.status != http.StatusOK ||
		!strings.Contains(page.body, "Ticket filed") || strings.Contains(page.body, `href="/overview"`) {
		t.Errorf("the ticket is shown with %d: %s", page.status, page.body)
	}
	if list := keep(b.get(pathAskTickets)); !strings.Contains(list.body, `href="/support/tickets/CAG-1000"`) ||
		strings.Contains(list.body, `href="/tickets`) {
		t.Errorf("the list leads elsewhere: %s", list.body)
	}
	for _, a := range seen {
		if strings.Contains(a.body+fmt.Sprint(a.header), bearerOne) {
			t.Errorf("an answer shows the key: %s", a.body)
		}
	}
}

func TestSupportKey_SealIsBoundToSecretAndHour(t *testing.T) {
	t.Parallel()
	key, err := account.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	seal, err := newKeySeal(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	other, err := newKeySeal([]byte(strings.Repeat("x", leastSecret)))
	if err != nil {
		t.Fatal(err)
	}
	value := seal.close(key, "browser", sampleNow.Add(keyLifetime))
	if got, ok := seal.open(value, "browser", sampleNow.Add(keyLifetime-time.Second)); !ok ||
		got.Reveal() != key.Reveal() {
		t.Error("it does not open within its hour")
	}
	if _, ok := seal.open(value, "browser", sampleNow.Add(keyLifetime)); ok {
		t.Error("it opens after its hour")
	}
	if _, ok := other.open(value, "browser", sampleNow); ok {
		t.Error("it opens under another secret")
	}
	for _, of := range []string{"", "another browser", "browser "} {
		if _, ok := seal.open(value, of, sampleNow); ok {
			t.Errorf("it opens in %q", of)
		}
	}
	if _, ok := seal.open(seal.close(key, "", sampleNow.Add(keyLifetime)), "", sampleNow); ok {
		t.Error("it opens in a browser without a cookie")
	}
	changed := "A" + value[1:]
	if value[0] == 'A' {
		changed = "B" + value[1:]
	}
	for _, wrong := range []string{
		"", "x", changed, value[:len(value)-4], strings.Repeat("A", longestKeyed+1),
		value + "\n", value[:9] + "\r\n" + value[9:], value + "=",
	} {
		if _, ok := seal.open(wrong, "browser", sampleNow); ok {
			t.Errorf("%q opens", wrong)
		}
	}
	if strings.Contains(value, key.Prefix()) || value == seal.close(key, "browser", sampleNow.Add(keyLifetime)) {
		t.Error("it shows its key, or is the same twice")
	}
	if _, err := newKeySeal([]byte("short")); err == nil {
		t.Error("a short secret is taken")
	}
}

func TestSupportKey_InvalidKeysAreRefusedAndNotRepeated(t *testing.T) {
	t.Parallel()
	unknown, err := account.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, typed := range []string{"", "cag_x", bearerOne[:20], unknown.Reveal(), hostile} {
		b := visitorOf(t, newHouse())
		got := b.fill(b.get(supportPath+requestOne), pathAskKey, url.Values{
			keyField: {typed}, nextField: {supportPath + requestOne},
		})
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `id="key-error"`) ||
			b.cookies["__Secure-support"] != "" {
			t.Errorf("%q is answered with %d", typed, got.status)
		}
		if typed != "" && strings.Contains(got.body, typed) ||
			!strings.Contains(got.body, `value="`+supportPath+requestOne+`"`) {
			t.Errorf("%q comes back, or the way on is lost", typed)
		}
	}
}

func TestSupportKey_RevokedKeyIsRemoved(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := askingBrowser(t, h)
	h.mu.Lock()
	h.desk.over = true
	h.mu.Unlock()
	got := b.get(pathAskTickets)
	if got.status != http.StatusOK || !strings.Contains(got.body, "no longer accepted") ||
		b.cookies["__Secure-support"] != "" {
		t.Errorf("a revoked key is answered with %d: %s", got.status, got.body)
	}
}

func TestSupportKey_HolderCanRemoveIt(t *testing.T) {
	t.Parallel()
	b := askingBrowser(t, newHouse())
	got := b.fill(b.get(pathAskTickets), pathAskKey+"/leave", nil)
	if got.status != http.StatusSeeOther || b.cookies["__Secure-support"] != "" {
		t.Errorf("it is answered with %d", got.status)
	}
}

// A sealed key that is planted in another browser must not open there.
func TestSupportKey_PlantedKeyOpensNothing(t *testing.T) {
	t.Parallel()
	h := newHouse()
	planter, victim := askingBrowser(t, h), visitorOf(t, h)
	victim.get(pathAsk)
	for name, b := range map[string]*browser{"a visitor": victim, "somebody signed in": personOf(t, h)} {
		b.cookies["__Secure-support"] = planter.cookies["__Secure-support"]
		if got := b.get(pathAsk); strings.Contains(got.body, "Using the key") {
			t.Errorf("%s asks with it: %s", name, got.body)
		}
	}
	if got := planter.get(pathAsk); !strings.Contains(got.body, "Using the key") {
		t.Errorf("its own browser answers %d", got.status)
	}
}

func TestSupportKey_SignOutRemovesIt(t *testing.T) {
	t.Parallel()
	b := personOf(t, newHouse())
	b.fill(b.get(pathAsk+"?with=key"), pathAskKey, url.Values{keyField: {bearerOne}, nextField: {pathAsk}})
	if b.cookies["__Secure-support"] == "" {
		t.Fatal("the key was not kept")
	}
	if got := b.post("/sign-out", nil); got.status != http.StatusSeeOther || b.cookies["__Secure-support"] != "" {
		t.Errorf("it answers %d and leaves the key", got.status)
	}
}

// A form belongs to the tickets of its key, and changes nothing for another key.
func TestSupportKey_FormOfAnotherKeyChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse()
	for _, path := range []string{pathAsk, pathAskTickets + "/CAG-1001"} {
		for _, of := range []string{"", "a1", "cag_00000000"} {
			b := askingBrowser(t, h)
			got := b.send(http.MethodPost, path, url.Values{
				tokenField: {csrfToken(b.cookies["__Host-"+visitorCookie], of)}, messageField: {"m"}, "subject": {"s"},
			})
			if got.status != http.StatusConflict {
				t.Errorf("%s with a form of %q answers %d", path, of, got.status)
			}
		}
	}
	if h.changed() != 0 {
		t.Errorf("something was changed: %v", h.changes)
	}
}

// A long message is not lost when the session or the key has expired.
func TestSupportKey_MessageWithoutAnIdentityIsReturnedToItsWriter(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := visitorOf(t, h)
	got := b.fill(b.get(pathAsk), pathAsk, url.Values{messageField: {"a long <story>"}, requestField: {requestOne}})
	if got.status != http.StatusForbidden || !strings.Contains(got.body, "a long &lt;story&gt;") ||
		!strings.Contains(got.body, supportPath+requestOne) || h.changed() != 0 {
		t.Errorf("it is answered with %d: %s", got.status, got.body)
	}
}

// An expired session does not block the page: it asks for the key and accepts its form.
func TestSupportKey_WorksWhenTheSessionExpired(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := personOf(t, h)
	b.pages.Calls.ShowSession = changes[service.Nothing](&house{refusal: fault.New(fault.KeyInvalid, "")},
		service.CurrentSession{})
	page := b.get(supportPath + requestOne)
	if got := b.fill(page, pathAskKey, url.Values{
		keyField: {bearerOne}, nextField: {supportPath + requestOne},
	}); got.status != http.StatusSeeOther {
		t.Errorf("its form answers %d", got.status)
	}
}

func TestSupportKey_SignedInUserMayAskAboutACallOfAKey(t *testing.T) {
	t.Parallel()
	b := personOf(t, newHouse())
	way := pathAsk + "?request_id=" + keyOne + "&with=key"
	if unknown := b.get(supportPath + keyOne); unknown.status != http.StatusNotFound ||
		!strings.Contains(unknown.body, `href="`+strings.ReplaceAll(way, "&", "&amp;")) {
		t.Fatalf("a call of somebody else answers %d without the way to ask with its key: %s", unknown.status,
			unknown.body)
	}
	if filed := b.post(pathNewTicket, url.Values{
		requestField: {keyOne}, "subject": {"s"},
		messageField: {"m"},
	}); !strings.Contains(filed.body, `href="`+strings.ReplaceAll(way, "&", "&amp;")) {
		t.Errorf("a ticket about it answers %d without that way", filed.status)
	}
	page := b.get(way)
	next := regexp.MustCompile(`name="next" value="([^"]+)"`).FindStringSubmatch(page.body)
	if next == nil {
		t.Fatalf("the page has no way on: %s", page.body)
	}
	if got := b.fill(page, pathAskKey, url.Values{
		keyField: {bearerOne}, nextField: {html.UnescapeString(next[1])},
	}); got.header.Get("Location") != supportPath+keyOne {
		t.Fatalf("it leads to %q with %d", got.header.Get("Location"), got.status)
	}
	if got := b.get(pathAsk); !strings.Contains(got.body, "Using the key") ||
		strings.Contains(got.body, "Studio North") {
		t.Errorf("then %d: %s", got.status, got.body)
	}
}

func TestSupportKey_PagesRedirectNowhereElse(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/support/tickets": "/support/tickets", "/support/new?request_id=x&with=key": "/support/new?request_id=x",
		"//evil.example/support/new": pathAsk, "/overview": pathAsk, "/support/../keys": pathAsk,
		"https://evil.example/support/new": pathAsk, "/support": pathAsk, "": pathAsk, `/support/\evil`: pathAsk,
	} {
		if got := supportPathOf(path); got != want {
			t.Errorf("%q leads to %q, want %q", path, got, want)
		}
	}
}
