// Package scrub removes upstreams' credentials and addresses from texts that may leave the process.
package scrub

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/relay/upstream/internal/fold"
)

// Scrubber removes an upstream's credentials from text that may reach a client, a log or a workflow
// history.
type Scrubber struct {
	secrets [][]byte // longest first, raw and as URLs and JSON escape them
	folded  [][]byte // the same without escapes, to find other spellings
}

const (
	redacted    = "[redacted]"
	minSecret   = 8  // shorter path segments and values are words like "v2", not credentials
	minPassword = 4  // of what is secret by its position
	minLabel    = 16 // shorter labels of a host name are words
)

// commonWords appear in providers' paths and nodes' messages, and are no secrets.
var commonWords = []string{
	"ethereum", "arbitrum", "optimism", "execution", "solana-mainnet", "blockchain", "mainnet-beta",
}

// New returns a scrubber of what may be secret: the address, its host, user and password (also as
// Basic authorization), long path segments, query values, and header values.
func New(address *url.URL, headers map[string]string) Scrubber {
	found := make(map[string]bool)
	add := func(least int, texts ...string) {
		for _, s := range texts {
			if len(s) >= least && !slices.Contains(commonWords, s) {
				for _, form := range forms(s) {
					found[form] = true
				}
			}
		}
	}
	add(minSecret, address.Host)
	if strings.Contains(address.Hostname(), ".") {
		add(minSecret, address.Hostname())
	}
	add(minLabel, strings.Split(address.Hostname(), ".")...)
	if strings.Trim(address.Path, "/") != "" || address.RawQuery != "" || address.User != nil {
		add(minSecret, address.String(), address.Host+address.RequestURI())
	}
	if address.User != nil {
		name := address.User.Username()
		password, _ := address.User.Password()
		add(minPassword, address.User.String(), password, base64.StdEncoding.EncodeToString([]byte(name+":"+password)))
		add(minSecret, name)
	}
	add(minSecret, strings.Split(address.Path, "/")...)
	add(minSecret, strings.Split(address.EscapedPath(), "/")...)
	for pair := range strings.SplitSeq(address.RawQuery, "&") {
		_, value, _ := strings.Cut(pair, "=")
		add(minSecret, value)
	}
	for _, values := range address.Query() {
		add(minSecret, values...)
	}
	for _, v := range headers {
		add(minSecret, v)
		add(minSecret, strings.Fields(v)...)
	}
	return scrubberOf(found)
}

// forms returns the common spellings of s: raw, in URLs, and in JSON strings.
func forms(s string) []string {
	quoted, _ := json.Marshal(s) // a string never fails
	inJSON := string(quoted[1 : len(quoted)-1])
	return []string{
		s, url.QueryEscape(s), url.PathEscape(s), inJSON, strings.ReplaceAll(s, "/", `\/`),
		strings.ReplaceAll(inJSON, "/", `\/`),
	}
}

func scrubberOf(found map[string]bool) Scrubber {
	var s Scrubber
	for text := range found {
		s.secrets = append(s.secrets, []byte(text))
		s.folded = append(s.folded, fold.Lower([]byte(text)))
	}
	longestFirst := func(a, b []byte) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return bytes.Compare(a, b)
	}
	slices.SortFunc(s.secrets, longestFirst)
	slices.SortFunc(s.folded, longestFirst)
	s.folded = slices.CompactFunc(s.folded, bytes.Equal)
	return s
}

// Object returns a JSON-RPC error object without secrets; b itself if it has none. If a secret
// cannot be cut out, only the code is left.
func (s Scrubber) Object(b []byte) []byte {
	clean, changed := s.replace(b)
	if !s.shows(clean) && (!changed || json.Valid(clean)) {
		return clean
	}
	var e struct {
		Code int `json:"code"`
	}
	_ = json.Unmarshal(b, &e) // without a number the code is 0
	return []byte(`{"code":` + strconv.Itoa(e.Code) + `,"message":"` + redacted + `"}`)
}

// Text returns a text for the log without secrets.
func (s Scrubber) Text(t string) string {
	clean, _ := s.replace([]byte(t))
	if s.shows(clean) {
		return redacted
	}
	return string(clean)
}

func (s Scrubber) replace(b []byte) (clean []byte, changed bool) {
	for _, secret := range s.secrets {
		if bytes.Contains(b, secret) {
			b, changed = bytes.ReplaceAll(b, secret, []byte(redacted)), true
		}
	}
	return b, changed
}

// shows reports whether a secret is readable once escapes are removed.
func (s Scrubber) shows(b []byte) bool {
	if !bytes.ContainsAny(b, `\%`) {
		return false
	}
	b = fold.Lower(b)
	return slices.ContainsFunc(s.folded, func(secret []byte) bool { return bytes.Contains(b, secret) })
}
