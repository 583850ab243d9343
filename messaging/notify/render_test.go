package notify_test

import (
	"errors"
	"flag"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/metering/plan"
)

var update = flag.Bool("update", false, "write the golden files")

var site = notify.Site{
	Name: "Chain Access Gateway", URL: "https://gateway.example", Contact: "support@gateway.example",
}

// samples has a mail of every kind and variant, by the name of its golden files.
var samples = func() map[string]notify.Mail {
	at := time.Date(2026, 11, 20, 13, 5, 0, 0, time.UTC)
	usage := notify.UsageReached{
		Account: "ann@buyer.example", Percent: 80, Start: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		End: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), Used: 800_000*plan.Unit + 500,
		Allowance: 1_000_000 * plan.Unit, Next: notify.NextRefused, Link: site.URL + "/overview",
	}
	all, packs, slower := usage, usage, usage
	all.Percent, all.Used = 100, 1_000_000*plan.Unit
	packs.Percent, packs.Used, packs.Next, packs.Packs = 100, 1_000_000*plan.Unit, notify.NextPacks,
		32_000_000*plan.Unit
	slower.Next, slower.SlowRate = notify.NextSlower, "10 requests per second"
	return map[string]notify.Mail{
		"sign_in": notify.SignIn{
			Link: site.URL + "/sign-in/finish?token=cagl_0123456789", Code: "604213", Minutes: 15,
			Origin: "203.0.113.7", At: at,
		},
		"invitation": notify.Invitation{
			InvitedBy: "ann@buyer.example", Account: "Buyer", Link: site.URL + "/invitations/0123456789",
			Expires: at.AddDate(0, 0, 7),
		},
		"welcome": notify.Welcome{Plan: "Free", Included: 1_000_000 * plan.Unit, Link: site.URL + "/overview"},
		"key_adopted": notify.KeyAdopted{
			Prefix: "cag_b7899294", Account: "Buyer", By: "ann@buyer.example", At: at, Link: site.URL + "/agents",
		},
		"member_joined": notify.MemberJoined{
			Member: "bob@buyer.example", InvitedBy: "ann@buyer.example", Account: "Buyer", At: at,
			Link: site.URL + "/settings",
		},
		"usage_80":        usage,
		"usage_100":       all,
		"usage_100_packs": packs,
		"usage_80_slower": slower,
		"charge_failed": notify.ChargeFailed{
			Account: "Buyer", Plan: "Pro", Invoice: "CAG-0007", Amount: "$118.80", Card: "visa ending in 0341",
			Next: at.AddDate(0, 0, 3), Link: site.URL + "/billing",
		},
		"charge_failed_last": notify.ChargeFailed{
			Account: "Buyer", Plan: "Pro", Amount: "$118.80", Link: site.URL + "/billing",
		},
		"account_suspended": notify.AccountSuspended{
			Account: "Buyer", Reason: "abuse, ticket 17", At: at, Link: site.URL + "/overview",
		},
		"pack_expiring": notify.PackExpiring{
			Account: "Buyer", Pack: "Pack M", Left: 1_200_000*plan.Unit + 500, Units: 7_000_000 * plan.Unit,
			Expires: at.AddDate(0, 0, 7), Days: 7, Link: site.URL + "/billing",
		},
		"incident_began": notify.IncidentBegan{
			Account: "Buyer", Chain: "Arbitrum One", Began: at, Link: site.URL + "/status",
		},
		"enterprise_wish": notify.EnterpriseWish{
			Wanted: "A node of our own in Frankfurt, and 2 billion calls a month.",
			ID:     "019aa1c4-5b3e-7d10-8f21-4c0d9e7b6a55", At: at, Link: site.URL + "/",
		},
		"ticket_received": notify.TicketReceived{
			Reference: "CAG-1001", Subject: "eth_getLogs times out",
			Paths: "Rate limit\nWait for the seconds that Retry-After names.", Link: site.URL + "/tickets/CAG-1001",
		},
		"ticket_received_bare": notify.TicketReceived{
			Reference: "CAG-1001", Subject: "A question", Link: site.URL + "/tickets/CAG-1001",
		},
		"ticket_replied": notify.TicketReplied{
			Reference: "CAG-1001", Subject: "eth_getLogs times out",
			Message: "Since 13:00 the second upstream is back.\n\nDoes it work now?",
			Link:    site.URL + "/tickets/CAG-1001",
		},
		"ticket_resolved": notify.TicketResolved{
			Reference: "CAG-1001", Subject: "eth_getLogs times out", Message: "It is mended.",
			Closes: at.AddDate(0, 0, 7), Link: site.URL + "/tickets/CAG-1001",
		},
		"ticket_resolved_bare": notify.TicketResolved{
			Reference: "CAG-1001", Subject: "eth_getLogs times out", Closes: at.AddDate(0, 0, 7),
			Link: site.URL + "/tickets/CAG-1001",
		},
		"ticket_news": notify.TicketNews{
			Reference: "CAG-1001", Subject: "eth_getLogs times out", New: true, Priority: "high", Category: "incident",
			Account: "Buyer", Plan: "pro", Message: "Since 13:00 every call of 500 blocks times out.",
			Link: site.URL + "/staff/tickets/CAG-1001",
		},
		"ticket_news_reopened": notify.TicketNews{
			Reference: "CAG-1001", Subject: "eth_getLogs times out", Priority: "high", Category: "incident",
			Account: "Buyer", Plan: "pro", Link: site.URL + "/staff/tickets/CAG-1001",
		},
		"ticket_pressing": notify.TicketPressing{
			Reference: "CAG-1001", Subject: "eth_getLogs times out", New: true, Priority: "urgent",
			Category: "incident", Account: "Buyer", Plan: "pro",
			Message: "Since 13:00 every call of 500 blocks times out.", Link: site.URL + "/staff/tickets/CAG-1001",
		},
		"ticket_reopened": notify.TicketReopened{
			Reference: "CAG-1001", Subject: "eth_getLogs times out", Link: site.URL + "/tickets/CAG-1001",
		},
		"feedback_news": notify.FeedbackNews{
			Kinds: "feature", Title: "WebSocket subscriptions", Body: "We follow new heads.", Account: "Buyer",
			Link: site.URL + "/staff/feedback",
		},
		"feedback_news_bare": notify.FeedbackNews{
			Kinds: "praise", Title: "Fast", Account: "Buyer", Link: site.URL + "/staff/feedback",
		},
		"feedback_answered": notify.FeedbackAnswered{
			Title: "WebSocket subscriptions", Status: "planned", Reply: "In spring.", Link: site.URL + "/feedback",
		},
		"wish_received": notify.WishReceived{At: at, Days: 90, Link: site.URL + "/entries?token=0123456789"},
		"wish_answered": notify.WishAnswered{
			At: at, Status: "talking", Reply: "When may we call you?", Days: 90,
			Link: site.URL + "/entries?token=0123456789",
		},
		"waitlist_joined":  notify.WaitlistJoined{At: at, Days: 90, Link: site.URL + "/entries?token=0123456789"},
		"waitlist_invited": notify.WaitlistInvited{Link: site.URL + "/sign-in"},
		"incident_over": notify.IncidentOver{
			Account: "Buyer", Chain: "Arbitrum One", Began: at, Ended: at.Add(17 * time.Minute),
			Link: site.URL + "/status",
		},
	}
}()

// stop returns the unsubscribe link of mails like m; empty when they have none.
func stop(m notify.Mail) string {
	stoppable := []notify.Kind{
		notify.KindUsageReached, notify.KindPackExpiring, notify.KindIncidentBegan, notify.KindIncidentOver,
	}
	if slices.Contains(stoppable, m.Kind()) {
		return site.URL + "/unsubscribe?token=AQA0123456789-_"
	}
	return ""
}

func render(t *testing.T, m notify.Mail, zone string) notify.Content {
	t.Helper()
	c, err := site.Render(m, notify.Copy{Zone: zone, Unsubscribe: stop(m)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRender_MailsReadAsTheGoldenFilesSay(t *testing.T) {
	t.Parallel()
	seen := map[notify.Kind]bool{}
	for name, m := range samples {
		seen[m.Kind()] = true
		c := render(t, m, "Europe/Berlin")
		for file, got := range map[string]string{
			name + ".txt": "Subject: " + c.Subject + "\n\n" + c.Text, name + ".html": c.HTML,
		} {
			testkit.Golden(t, filepath.Join("testdata", file), got, *update)
		}
	}
	for _, kind := range notify.Kinds() {
		if !seen[kind] {
			t.Errorf("no sample of kind %s", kind)
		}
	}
}

func TestRender_BothFormsSayTheSame(t *testing.T) {
	t.Parallel()
	for name, m := range samples {
		c := render(t, m, "")
		spoken := strings.Join(strings.Fields(textOf(t, c.HTML)), " ")
		v := reflect.ValueOf(m)
		for i := range v.NumField() {
			field := v.Type().Field(i)
			value, isText := reflect.TypeAssert[string](v.Field(i))
			if !isText || value == "" {
				continue
			}
			if !strings.Contains(c.Text, value) {
				t.Errorf("%s: the text lacks %s %q", name, field.Name, value)
			}
			if in := spoken; field.Name != "Link" && !strings.Contains(in, value) {
				t.Errorf("%s: the HTML lacks %s %q", name, field.Name, value)
			}
		}
		want := stop(m)
		in := expect.In(t, "%s: it is stopped", name)
		expect.Equal(in, c.Unsubscribe, want)
		expect.Equal(in, strings.Contains(c.Text, "/unsubscribe"), want != "")
		expect.Contains(in, c.Text, want)
		if want != "" {
			expect.True(in, slices.Contains(attributes(t, c.HTML, "href"), want), want)
		}
		// Marks of quoted lines are not markup.
		if strings.ContainsAny(strings.ReplaceAll(c.Text, "\n>", "\n")+c.Subject, "!<>") ||
			strings.Contains(c.Text, "&#") {
			t.Errorf("%s: the text shouts or holds markup: %s", name, c.Text)
		}
		if links := attributes(t, c.HTML, "href"); !slices.Contains(links, v.FieldByName("Link").String()) {
			t.Errorf("%s: the HTML links %q", name, links)
		}
	}
}

func TestRender_HTMLLoadsNothingAndRunsNothing(t *testing.T) {
	t.Parallel()
	allowed := regexp.MustCompile(`^(https://gateway\.example(/|$)|mailto:support@gateway\.example$)`)
	for name, m := range samples {
		c := render(t, m, "")
		for node := range parse(t, c.HTML).Descendants() {
			if node.Type != html.ElementNode {
				continue
			}
			switch node.Data {
			case "script", "style", "link", "img", "iframe", "form", "object", "base", "svg", "video":
				t.Errorf("%s has an element %s", name, node.Data)
			}
			for _, a := range node.Attr {
				in := expect.In(t, "%s: %s", name, node.Data)
				expect.False(in, strings.HasPrefix(a.Key, "on"), a.Key)
				expect.NotEqual(in, a.Key, "src")
				expect.NotEqual(in, a.Key, "background")
				expect.NotContains(in, a.Val, "url(")
				if a.Key == "href" {
					expect.True(in, allowed.MatchString(a.Val), a.Val)
				}
				if a.Key == "href" && node.Parent != nil && strings.TrimSpace(textUnder(node)) == "" {
					t.Errorf("%s: a link without words", name)
				}
			}
			if node.Data == "table" && !slices.Contains(node.Attr, html.Attribute{Key: "role", Val: "presentation"}) {
				t.Errorf("%s: a table for layout is read out as one", name)
			}
		}
		if len(c.HTML) > 90<<10 {
			t.Errorf("%s has %d bytes, which mail programs cut", name, len(c.HTML))
		}
	}
}

// hostile is a name that an attacker may enter.
const hostile = "Ann\r\nBcc: all@victim.example\r\n\r\n<script>alert(1)</script><a " +
	"href=\"https://evil.example\">x</a> \u202egnp.exe\u2028\x00{{.House}}"

func TestRender_TextsOfOthersStayTextAndOneLine(t *testing.T) {
	t.Parallel()
	for name, m := range samples {
		changed := reflect.New(reflect.TypeOf(m)).Elem()
		changed.Set(reflect.ValueOf(m))
		for i := range changed.NumField() {
			f := changed.Field(i)
			if field := changed.Type().Field(i).Name; f.Kind() == reflect.String && field != "Link" && field != "Next" {
				f.SetString(hostile)
			}
		}
		given, _ := reflect.TypeAssert[notify.Mail](changed)
		c := render(t, given, "")
		if strings.ContainsAny(c.Subject, "\r\n\x00\u202e\u2028") ||
			strings.ContainsAny(c.Text+c.HTML, "\r\x00\u202e\u2028") {
			t.Errorf("%s: control characters reach the reader: %q", name, c.Subject)
		}
		if strings.Contains("\n"+c.Text, "\nBcc:") {
			t.Errorf("%s: a name ended its line: %s", name, c.Text)
		}
		for _, link := range attributes(t, c.HTML, "href") {
			if strings.Contains(link, "evil") {
				t.Errorf("%s links %s", name, link)
			}
		}
		for node := range parse(t, c.HTML).Descendants() {
			if node.Type == html.ElementNode && node.Data == "script" {
				t.Errorf("%s: markup of others became an element", name)
			}
		}
	}
}

func TestRender_LongNameIsCut(t *testing.T) {
	t.Parallel()
	if got := notify.Spoken(strings.Repeat("é", 500)); got != strings.Repeat("é", 199)+"…" {
		t.Errorf("got %d letters: %s", len([]rune(got)), got)
	}
	if got := notify.Spoken(" a\tb\u00a0\n c\xff "); got != "a b c" {
		t.Errorf("got %q", got)
	}
}

func TestRender_PassageMayBeLongerThanAName(t *testing.T) {
	t.Parallel()
	for length, want := range map[int]string{1000: strings.Repeat("é", 1000), 1001: strings.Repeat("é", 999) + "…"} {
		c := render(t, notify.EnterpriseWish{
			Wanted: notify.Passage(strings.Repeat("é", length)), Link: site.URL + "/",
		}, "")
		if !strings.Contains(c.Text, "\n"+want+"\n") || !strings.Contains(c.HTML, ">"+want+"<") {
			t.Errorf("%d letters read\n%s", length, c.Text)
		}
	}
}

func TestRender_ProseKeepsItsLinesAndNothingElse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                                 nil,
		"\n\n a\tb \r\n\r\n\r\nc\u2028d\n": {"a b", "", "c", "d"},
		hostile: {
			"Ann", "Bcc: all@victim.example", "",
			"<script>alert(1)</script><a href=\"https://evil.example\">x</a> gnp.exe", "{{.House}}",
		},
		strings.Repeat("é", 6000):   {strings.Repeat("é", 4999) + "…"},
		strings.Repeat("a\n", 6000): append(slices.Repeat([]string{"a"}, 5000), "…"),
	} {
		t.Run(text, func(t *testing.T) {
			if got := notify.Prose(text).Lines(); !slices.Equal(got, want) {
				t.Errorf("%.40q has the lines %.200q, want %.200q", text, got, want)
			}
		})
	}
	if got := notify.Prose("a\n\nb").Quoted(); got != "> a\n>\n> b" {
		t.Errorf("quoted it reads %q", got)
	}
	c := render(t, notify.TicketReplied{Reference: "CAG-1", Subject: "s", Message: hostile, Link: site.URL + "/"}, "")
	expect.Contains(t, c.Text, "\n> Bcc: all@victim.example\n>\n> <script>")
	expect.NotContains(t, c.HTML, "<script")
	expect.Contains(t, c.HTML, "Ann<br>Bcc")
}

func TestRender_RefusesALinkThatLeadsElsewhere(t *testing.T) {
	t.Parallel()
	for _, link := range []string{
		"", "/overview", "https://gateway.example.evil.example/x", "https://evil.example/https://gateway.example",
		"javascript:alert(1)", "http://gateway.example/x", "https://user@gateway.example/x",
		"https://gateway.example/x\r\nBcc: a@b.example", "https://gateway.example/a b",
		"https://gateway.example/\"onclick=", "https://gateway.example/" + strings.Repeat("x", 3000),
		"https://gateway.example\\@evil.example/",
	} {
		if _, err := site.Render(notify.Welcome{Plan: "Free", Link: link}, notify.Copy{}); !errors.Is(err,
			notify.ErrLink) {
			t.Errorf("%q: %v, want ErrLink", link, err)
		}
		whole := notify.Welcome{Plan: "Free", Link: site.URL}
		if _, err := site.Render(whole, notify.Copy{Unsubscribe: link}); link != "" &&
			!errors.Is(err, notify.ErrLink) {
			t.Errorf("%q to stop mails: %v, want ErrLink", link, err)
		}
	}
}

func TestRender_TimesAreInTheReadersZone(t *testing.T) {
	t.Parallel()
	suspended := samples["account_suspended"]
	for zone, want := range map[string]string{
		"Europe/Berlin": "20 Nov 2026, 14:05 CET", "America/New_York": "20 Nov 2026, 08:05 EST",
		"Asia/Kathmandu": "20 Nov 2026, 18:50 UTC+05:45", "": "20 Nov 2026, 13:05 UTC",
		"Mars/Olympus": "20 Nov 2026, 13:05 UTC", "Local": "20 Nov 2026, 13:05 UTC",
		"../../etc/passwd": "20 Nov 2026, 13:05 UTC",
	} {
		t.Run(zone, func(t *testing.T) {
			if c := render(t, suspended, zone); !strings.Contains(c.Text, want) ||
				!strings.Contains(html.UnescapeString(c.HTML), want) {
				t.Errorf("zone %q: want %s in %s", zone, want, c.Text)
			}
		})
	}
}

func TestRender_MailsParseAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	for name, m := range samples {
		text, err := notify.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := notify.Decode(m.Kind(), text); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, m)
		}
	}
	if _, err := notify.Decode("novelty", []byte("{}")); !errors.Is(err, notify.ErrUnknownKind) {
		t.Errorf("an unknown kind: %v", err)
	}
	if _, err := notify.Decode(notify.KindWelcome, []byte("not a mail")); err == nil {
		t.Error("a mail of another form was read")
	}
}

func parse(t *testing.T, text string) *html.Node {
	t.Helper()
	node, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func textUnder(node *html.Node) string {
	var b strings.Builder
	for n := range node.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}

func textOf(t *testing.T, text string) string {
	t.Helper()
	return textUnder(parse(t, text))
}

// attributes returns all values of an attribute, in order.
func attributes(t *testing.T, text, name string) []string {
	t.Helper()
	var values []string
	for n := range parse(t, text).Descendants() {
		for _, a := range n.Attr {
			if a.Key == name {
				values = append(values, a.Val)
			}
		}
	}
	return values
}
