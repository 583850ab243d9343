package mailbox

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Mail is a caught mail.
type Mail struct {
	ID         string    `json:"id"`
	From       string    `json:"from"` // From and To are those of the SMTP envelope
	To         []string  `json:"to"`
	ReceivedAt time.Time `json:"received_at"`
	MessageID  string    `json:"message_id"`
	Subject    string    `json:"subject"`
	Text       string    `json:"text"`
	HTML       string    `json:"html"`
	// Links are the links in the text. Code is six digits on a line of their own. Both are empty
	// when there are none.
	Links []string `json:"links"`
	Code  string   `json:"code"`
	// Headers are the decoded headers, sorted by name.
	Headers []Header `json:"headers"`
}

// Header is a header of a mail.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Link returns the first link; empty when there is none.
func (m *Mail) Link() string {
	if len(m.Links) == 0 {
		return ""
	}
	return m.Links[0]
}

// Header returns the value of a header; empty when there is none.
func (m *Mail) Header(name string) string {
	for _, h := range m.Headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

func (m *Mail) isTo(address string) bool {
	return slices.ContainsFunc(m.To, func(to string) bool { return strings.EqualFold(to, address) })
}

var (
	linkForm = regexp.MustCompile(`https?://[^\s<>"]+`)
	codeForm = regexp.MustCompile(`(?m)^(\d{6})\r?$`)
)

// read parses a mail.
func read(source []byte) (Mail, error) {
	parsed, err := mail.ReadMessage(bytes.NewReader(source))
	if err != nil {
		return Mail{}, fmt.Errorf("read the headers: %w", err)
	}
	var m Mail
	var words mime.WordDecoder
	for name, values := range parsed.Header {
		for _, value := range values {
			if decoded, err := words.DecodeHeader(value); err == nil {
				value = decoded
			}
			m.Headers = append(m.Headers, Header{Name: name, Value: value})
		}
	}
	slices.SortStableFunc(m.Headers, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	m.Subject, m.MessageID = m.Header("Subject"), m.Header("Message-Id")
	if err := m.take(textproto.MIMEHeader(parsed.Header), parsed.Body, 0); err != nil {
		return Mail{}, err
	}
	// Punctuation at the end of a sentence is not part of a link.
	for _, link := range linkForm.FindAllString(m.Text, -1) {
		m.Links = append(m.Links, strings.TrimRight(link, ".,;:)"))
	}
	if code := codeForm.FindStringSubmatch(m.Text); code != nil {
		m.Code = code[1]
	}
	return m, nil
}

// deepest is the maximum depth of nested parts.
const deepest = 5

// take reads a part. The first text and the first HTML part are shown.
func (m *Mail) take(header textproto.MIMEHeader, body io.Reader, depth int) error {
	kind, params, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		kind = "text/plain" // RFC 2045, section 5.2
	}
	if strings.HasPrefix(kind, "multipart/") && depth < deepest {
		parts := multipart.NewReader(body, params["boundary"])
		for {
			part, err := parts.NextRawPart()
			if err == io.EOF { //nolint:errorlint // the reader returns it unwrapped
				return nil
			}
			if err != nil {
				return fmt.Errorf("read the parts: %w", err)
			}
			if err := m.take(part.Header, part, depth+1); err != nil {
				return err
			}
		}
	}
	switch strings.ToLower(header.Get("Content-Transfer-Encoding")) {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return fmt.Errorf("decode a part: %w", err)
	}
	said := strings.ReplaceAll(string(text), "\r\n", "\n")
	switch {
	case kind == "text/plain" && m.Text == "":
		m.Text = said
	case kind == "text/html" && m.HTML == "":
		m.HTML = said
	}
	return nil
}
