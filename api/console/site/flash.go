package site

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/chainaccess/gateway/api/console/view"
)

// A flash is a message that a change leaves for the next page. It is stored in a cookie, signed
// with the cookie from which CSRF tokens are derived, so that nobody else can make a page show a
// message.

const (
	flashLifetime = time.Minute
	flashDomain   = "flash"
	longestFlash  = 2048
)

type flashed struct {
	Part  string    `json:"part,omitempty"` // id of a part of the page; empty for the page as a whole
	Tone  view.Tone `json:"tone"`
	Title string    `json:"title"`
	Text  string    `json:"text"`
}

// Flash stores a message for the next page.
func (v *Request) Flash(t view.Tone, title, text string) { v.FlashAt("", t, title, text) }

// FlashAt stores a message for a part of the next page.
func (v *Request) FlashAt(part string, t view.Tone, title, text string) {
	content, err := json.Marshal(flashed{part, t, title, text})
	if err != nil || len(content) > longestFlash {
		return // a truncated message is worse than none, and the page shows the result
	}
	v.SetCookie(flashCookie, sealFlash(v.csrfCookie, content), flashLifetime)
}

// taken returns the stored message and deletes it.
func (v *Request) taken() (part string, left view.Notice, ok bool) {
	value := v.Cookie(flashCookie)
	if value == "" {
		return "", view.Notice{}, false
	}
	v.DropCookie(flashCookie)
	content, ok := openFlash(v.csrfCookie, value)
	var f flashed
	if !ok || json.Unmarshal(content, &f) != nil {
		return "", view.Notice{}, false
	}
	return f.Part, view.Notice{Tone: f.Tone, Title: f.Title, Text: f.Text}, true
}

func sealFlash(bearing string, content []byte) string {
	encoding := base64.RawURLEncoding
	return encoding.EncodeToString(content) + "." + encoding.EncodeToString(flashMAC(bearing, content))
}

func openFlash(bearing, value string) ([]byte, bool) {
	text, mac, _ := strings.Cut(value, ".")
	content, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, false
	}
	sum, err := base64.RawURLEncoding.DecodeString(mac)
	return content, err == nil && bearing != "" && hmac.Equal(sum, flashMAC(bearing, content))
}

func flashMAC(bearing string, content []byte) []byte {
	mac := hmac.New(sha256.New, []byte(bearing))
	mac.Write([]byte(flashDomain))
	mac.Write(content)
	return mac.Sum(nil)
}
