package notify

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	html "html/template"
	"net/url"
	"reflect"
	"strings"
	text "text/template"
	"time"
	_ "time/tzdata" // times are shown in the account's zone on every machine
	"unicode"
)

// Site is the service as every mail names it.
type Site struct {
	Name    string
	URL     string // the service's address, without a trailing slash; every link begins with it
	Contact string // an e-mail address for questions
}

// Content is a rendered mail, in both forms.
type Content struct {
	Subject string
	Text    string
	HTML    string
	// Unsubscribe is the address that stops such mails; empty when they cannot be stopped.
	Unsubscribe string
}

// Copy is what differs in one reader's copy of a mail.
type Copy struct {
	// Zone is the IANA name of the reader's time zone; UTC when it is empty or unknown.
	Zone string
	// Unsubscribe is the service's address that stops such mails; empty when they cannot be
	// stopped.
	Unsubscribe string
}

// ErrLink reports that a mail's link does not lead to the service.
var ErrLink = errors.New("notify: the link does not lead to the service")

//go:embed templates
var templates embed.FS

// page is a pair of parsed templates.
type page struct {
	text *text.Template
	html *html.Template
}

var pages = func() map[Kind]page {
	all := make(map[Kind]page, len(kinds))
	for _, m := range kinds {
		name := string(m.Kind())
		all[m.Kind()] = page{
			text: text.Must(text.New("base.txt").ParseFS(templates, "templates/base.txt",
				"templates/usage_next.partial", "templates/"+name+".txt")),
			html: html.Must(html.New("base.html").Funcs(html.FuncMap{"button": newButton, "fact": newFact}).
				ParseFS(templates, "templates/base.html", "templates/usage_next.partial", "templates/prose.partial",
					"templates/"+name+".html")),
		}
	}
	return all
}()

type button struct{ Link, Label string }

func newButton(link, label string) button { return button{link, label} }

type fact struct{ Label, Value string }

func newFact(label, value string) fact { return fact{label, value} }

// view is the data of templates.
type view struct {
	Site
	M                       Mail
	Subject, Title, Preview string
	Unsubscribe             string
	zone                    *time.Location
}

// Day formats a date in the reader's zone: 20 Nov 2026.
func (v view) Day(t time.Time) string { return t.In(v.zone).Format("2 Jan 2006") }

// Moment formats a time in the reader's zone, with the zone: 20 Nov 2026, 14:05 CET.
func (v view) Moment(t time.Time) string {
	t = t.In(v.zone)
	name, _ := t.Zone()
	if strings.ContainsAny(name, "+-") { // zones without an abbreviation get their offset
		name = "UTC" + t.Format("-07:00")
	}
	return t.Format("2 Jan 2006, 15:04 ") + name
}

// Render renders a mail in both forms. It returns ErrLink when a link does not lead to the service.
func (h Site) Render(m Mail, of Copy) (Content, error) {
	if !h.leadsHome(m.link()) || (of.Unsubscribe != "" && !h.leadsHome(of.Unsubscribe)) {
		return Content{}, fmt.Errorf("render a mail of kind %s: %w", m.Kind(), ErrLink)
	}
	p, known := pages[m.Kind()]
	if !known {
		return Content{}, fmt.Errorf("%w: %q", ErrUnknownKind, m.Kind())
	}
	where, err := time.LoadLocation(of.Zone)
	if err != nil || of.Zone == "Local" {
		where = time.UTC
	}
	v := view{Site: h, M: oneLined(m), Unsubscribe: of.Unsubscribe, zone: where}
	var b bytes.Buffer
	line := func(name string) string {
		b.Reset()
		err = errors.Join(err, p.text.ExecuteTemplate(&b, name, v))
		return strings.Join(strings.Fields(b.String()), " ")
	}
	err = nil
	v.Subject, v.Title, v.Preview = line("subject"), line("title"), line("preview")
	b.Reset()
	err = errors.Join(err, p.text.Execute(&b, v))
	c := Content{Subject: v.Subject, Text: strings.TrimSpace(b.String()) + "\n", Unsubscribe: of.Unsubscribe}
	b.Reset()
	if err = errors.Join(err, p.html.Execute(&b, v)); err != nil {
		return Content{}, fmt.Errorf("render a mail of kind %s: %w", m.Kind(), err)
	}
	c.HTML = b.String()
	return c, nil
}

// leadsHome reports whether a link leads to the service, and holds nothing that mail programs might
// interpret differently.
func (h Site) leadsHome(link string) bool {
	home, err := url.Parse(h.URL)
	if err != nil || home.Host == "" {
		return false
	}
	to, err := url.Parse(link)
	return err == nil && to.Scheme == home.Scheme && to.Host == home.Host && to.User == nil &&
		strings.HasPrefix(link, h.URL) && len(link) <= maxLink && !strings.ContainsFunc(link, unfit)
}

const maxLink = 2048

func unfit(r rune) bool {
	return r <= ' ' || r > unicode.MaxASCII || strings.ContainsRune(`"<>\`+"`", r)
}

// oneLined returns a copy of the mail with its texts reduced to one line, prose line by line. Link
// is unchanged.
func oneLined(m Mail) Mail {
	changed := reflect.New(reflect.TypeOf(m)).Elem()
	changed.Set(reflect.ValueOf(m))
	for i := range changed.NumField() {
		if f := changed.Field(i); f.Kind() == reflect.String && changed.Type().Field(i).Name != "Link" {
			if f.Type() == reflect.TypeFor[Prose]() {
				f.SetString(strings.Join(Prose(f.String()).Lines(), "\n"))
				continue
			}
			limit := maxSpoken
			if f.Type() == reflect.TypeFor[Passage]() {
				limit = maxPassage
			}
			f.SetString(oneLine(f.String(), limit))
		}
	}
	done, _ := reflect.TypeAssert[Mail](changed) // has m's type
	return done
}

func separates(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// visible drops format characters, which may change how the rest reads (direction overrides,
// joiners), and invalid bytes.
func visible(r rune) rune {
	if unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
		return -1
	}
	return r
}
