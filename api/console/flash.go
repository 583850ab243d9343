package console

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
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
	Part  string `json:"part,omitempty"` // id of a part of the page; empty for the page as a whole
	Tone  tone   `json:"tone"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// flash stores a message for the next page.
func (v *request) flash(t tone, title, text string) { v.flashAt("", t, title, text) }

// flashAt stores a message for a part of the next page.
func (v *request) flashAt(part string, t tone, title, text string) {
	content, err := json.Marshal(flashed{part, t, title, text})
	if err != nil || len(content) > longestFlash {
		return // a truncated message is worse than none, and the page shows the result
	}
	v.jar.set(v.w, flashCookie, sealFlash(v.csrfCookie, content), flashLifetime)
}

// taken returns the stored message and deletes it.
func (v *request) taken() (part string, left notice, ok bool) {
	value := v.jar.get(v.r, flashCookie)
	if value == "" {
		return "", notice{}, false
	}
	v.jar.drop(v.w, flashCookie)
	content, ok := openFlash(v.csrfCookie, value)
	var f flashed
	if !ok || json.Unmarshal(content, &f) != nil {
		return "", notice{}, false
	}
	return f.Part, notice{Tone: f.Tone, Title: f.Title, Text: f.Text}, true
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
