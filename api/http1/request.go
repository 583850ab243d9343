package http1

import (
	"bytes"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// verdict classifies the bytes at the beginning of a buffer.
type verdict uint8

const (
	unfinished verdict = iota // may become a plain request
	plain                     // the complete head of a plain request
	foreign                   // anything else, for net/http
)

// Limits of the requests that the fast path serves, in bytes.
const (
	maxHead = 8 << 10
	maxBody = 64 << 10
)

// head is the head of a plain request. Its host is part of one copy of all bytes of the head. Its
// target is a copy of its own, so that a handler that keeps a part of it does not keep the rest.
type head struct {
	method   string
	target   string
	location url.URL // of the target
	host     string
	length   int // of the body, in bytes
	size     int // of the head, in bytes
	closes   bool
}

// opening is how a plain request may begin: a method and the beginning of a path.
type opening struct{ method, text string }

// openings returns the openings of all paths under prefixes.
func openings(prefixes []string) (fast []opening) {
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		for _, prefix := range prefixes {
			fast = append(fast, opening{method, method + " " + prefix})
		}
	}
	return fast
}

// opens returns the opening that the bytes begin with or may still become.
func opens(b []byte, fast []opening) (opening, bool) {
	for _, o := range fast {
		if n := min(len(b), len(o.text)); string(b[:n]) == o.text[:n] {
			return o, true
		}
	}
	return opening{}, false
}

const protocol = " HTTP/1.1"

var endOfHead = []byte("\r\n\r\n")

// parse parses the head of a plain request: POST with one Content-Length up to maxBody or GET
// without one, a path under a prefix, HTTP/1.1, one Host, no field that changes the framing of the
// message, and only bytes that every parser reads in the same way. fields is complete only for a
// plain request.
//
// parse must never accept a request as plain that net/http would read differently;
// FuzzPlainRequestsAreReadAsNetHTTPReadsThem tests that.
func parse(b []byte, fast []opening, fields *fields) (h head, v verdict) {
	begun, ok := opens(b, fast)
	if !ok {
		return head{}, foreign
	}
	end := bytes.Index(b[:min(len(b), maxHead)], endOfHead)
	if end < 0 {
		if len(b) >= maxHead {
			return head{}, foreign
		}
		return head{}, unfinished
	}
	h = head{method: begun.method, length: -1, size: end + len(endOfHead)}
	line, rest, more := strings.Cut(string(b[:end]), "\r\n")
	target, ok := strings.CutSuffix(line, protocol)
	if !ok || len(target) < len(begun.text) || !h.locate(fields.kept(target[len(begun.method)+1:])) {
		return head{}, foreign
	}
	for more {
		line, rest, more = strings.Cut(rest, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || !all(name, inName) {
			return head{}, foreign
		}
		value = strings.Trim(value, " \t")
		if !all(value, inValue) || !h.take(canonical(name), value, fields) {
			return head{}, foreign
		}
	}
	if h.method == http.MethodGet {
		h.length = 0
	}
	if h.host == "" || h.length < 0 {
		return head{}, foreign
	}
	return h, plain
}

// locate parses a target as net/http does. It returns false for a target that is not plain. net/url
// unescapes where that is necessary.
func (h *head) locate(target string) bool {
	path, query, asks := strings.Cut(target, "?")
	if !all(path, inPath) || !all(query, inQuery) || strings.Contains(path, "//") || strings.Contains(path, "/.") {
		return false
	}
	h.target = target
	if strings.IndexByte(path, '%') < 0 && asks == (query != "") {
		h.location = url.URL{Path: path, RawQuery: query}
		return true
	}
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return false
	}
	h.location = *u
	return true
}

// take records one field. It returns false when the field makes the request foreign.
func (h *head) take(name, value string, fields *fields) bool {
	switch name {
	case "Host": // not part of http.Request.Header
		if h.host != "" || value == "" || !all(value, inHost) {
			return false
		}
		h.host = value
		return true
	case "Content-Length":
		// servers disagree about the body of a GET, even about an empty one
		if h.length >= 0 || h.method == http.MethodGet {
			return false
		}
		if h.length = digits(value); h.length < 0 || h.length > maxBody {
			return false
		}
	case "Connection":
		switch {
		case strings.EqualFold(value, "close"):
			h.closes = true
		case !strings.EqualFold(value, "keep-alive"):
			return false
		}
	case "Transfer-Encoding", "Trailer", "Te", "Expect", "Upgrade", "Http2-Settings", "Pragma":
		return false
	}
	return fields.add(name, value)
}

// digits parses a decimal number without sign or leading zeros; it returns -1 for anything else.
func digits(s string) int {
	if s == "" || len(s) > 6 || (s[0] == '0' && len(s) > 1) {
		return -1
	}
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return -1
		}
		n = 10*n + int(s[i]-'0')
	}
	return n
}

// Classes of bytes, one bit each.
const (
	inPath uint8 = 1 << iota
	inQuery
	inName
	inValue
	inHost
)

var classes = func() (table [256]uint8) {
	mark := func(set string, class uint8) {
		for i := range len(set) {
			table[set[i]] |= class
		}
	}
	const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	mark(alphanumeric+"-._~/:@%", inPath)
	mark(alphanumeric+"-._~/:@%?&=+,!$'()*", inQuery)
	mark(alphanumeric+"-", inName)
	mark(alphanumeric+"-.:", inHost)
	for c := byte(' '); c <= '~'; c++ {
		table[c] |= inValue
	}
	return table
}()

func all(s string, class uint8) bool {
	for i := range len(s) {
		if classes[s[i]]&class == 0 {
			return false
		}
	}
	return true
}

// common maps the two spellings of frequent header names, canonical and lower case, to the form
// that http.Header uses.
var common = func() map[string]string {
	names := make(map[string]string)
	for _, name := range []string{
		"Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Cache-Control", "Connection",
		"Content-Length", "Content-Type", "Forwarded", "Host", "Origin", "Referer", "Sec-Fetch-Dest", "Sec-Fetch-Mode",
		"Sec-Fetch-Site", "Traceparent", "Tracestate", "User-Agent", "X-Forwarded-For", "X-Forwarded-Host",
		"X-Forwarded-Port", "X-Forwarded-Proto", "X-Payment", "X-Real-Ip", "X-Request-Id", "X-Route-Tier",
	} {
		names[name], names[strings.ToLower(name)] = name, name
	}
	return names
}()

func canonical(name string) string {
	if known, ok := common[name]; ok {
		return known
	}
	return textproto.CanonicalMIMEHeaderKey(name)
}

// fields is the header of a request. Its memory is reused from request to request.
type fields struct {
	header http.Header
	values [maxFields]string
	n      int
	target string // of the last request, to share equal ones
}

const maxFields = 48 // a request with more goes to net/http

func (f *fields) reset() {
	clear(f.header)
	clear(f.values[:f.n])
	f.n = 0
}

func (f *fields) add(name, value string) bool {
	if f.n == len(f.values) {
		return false
	}
	if before, ok := f.header[name]; ok {
		f.header[name] = append(before, value) // the capacity is used up, so append copies
		return true
	}
	f.values[f.n] = value
	f.header[name] = f.values[f.n : f.n+1 : f.n+1]
	f.n++
	return true
}

// kept returns a copy of a target that the handler may keep. Most requests of a connection have the
// same target as the last one and share its copy.
func (f *fields) kept(target string) string {
	if target != f.target {
		f.target = strings.Clone(target)
	}
	return f.target
}
