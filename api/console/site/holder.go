package site

import (
	"net/http"
	"time"

	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/identity/account"
)

// Identify identifies who asks support: the holder of an entered key, or else the person who signed
// in. It returns false when there is neither.
func (v *Request) Identify() (bool, error) {
	key, ok := v.seal.open(v.jar.sealedKey(v.R), v.csrfCookie, v.Now())
	if !ok {
		return v.enter()
	}
	v.holder, v.Reader = key, view.Reader{Now: v.Now(), Zone: time.UTC, Chains: v.Known}
	return true, nil
}

// CheckAccount refuses a form of a page for another account or another key.
func (v *Request) CheckAccount() error {
	if v.R.Method != http.MethodPost || v.formOf == v.account() {
		return nil
	}
	return &PageError{Status: http.StatusConflict, Heading: "This page belongs to another account", Text: movedText}
}

// As returns the same request by the holder of a key.
func (v *Request) As(key account.Key) *Request {
	by := *v
	by.holder = key
	return &by
}

// AsksWithKey reports whether the holder of an entered key asks.
func (v *Request) AsksWithKey() bool { return !v.holder.IsZero() }

// KeepKey stores a key sealed in a cookie of the support pages.
func (v *Request) KeepKey(key account.Key) {
	until := v.Now().Add(keyLifetime)
	http.SetCookie(v.W, v.jar.keyCookie(v.seal.close(key, v.csrfCookie, until), int(keyLifetime/time.Second)))
}

// DropKey deletes the stored key.
func (v *Request) DropKey() {
	http.SetCookie(v.W, v.jar.keyCookie("", -1))
	v.holder = account.Key{}
}

// AskingWith returns the key that asks, for the page to show; empty when somebody signed in.
func (v *Request) AskingWith() string {
	if v.holder.IsZero() {
		return ""
	}
	return v.holder.Prefix()
}
