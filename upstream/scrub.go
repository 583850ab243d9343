package upstream

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
)

// scrubber removes an upstream's credentials from text that may reach a client, a log or a workflow history.
type scrubber struct{ secrets [][]byte }

const (
	redacted  = "[redacted]"
	minSecret = 8 // shorter path segments and values are words like "v2", not credentials
)

// newScrubber collects what may be secret: the whole address, its host with a path, user and password, long path segments, query
// values, and header values.
func newScrubber(address *url.URL, headers map[string]string) scrubber {
	var found []string
	add := func(s string) {
		if len(s) >= minSecret {
			found = append(found, s, url.QueryEscape(s), url.PathEscape(s))
		}
	}
	if strings.Trim(address.Path, "/") != "" || address.RawQuery != "" || address.User != nil {
		add(address.String())
		add(address.Host + address.RequestURI())
	}
	if address.User != nil {
		add(address.User.String())
		add(address.User.Username())
		password, _ := address.User.Password()
		add(password)
	}
	for segment := range strings.SplitSeq(address.Path, "/") {
		add(segment)
	}
	for _, values := range address.Query() {
		for _, v := range values {
			add(v)
		}
	}
	for _, v := range headers {
		add(v)
		for word := range strings.FieldsSeq(v) {
			add(word)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	var s scrubber
	for _, f := range slices.Compact(found) {
		s.secrets = append(s.secrets, []byte(f))
	}
	return s
}

// clean gives b without secrets; b itself when there are none in it.
func (s scrubber) clean(b []byte) []byte {
	for _, secret := range s.secrets {
		if bytes.Contains(b, secret) {
			b = bytes.ReplaceAll(b, secret, []byte(redacted))
		}
	}
	return b
}
