package http1

import (
	"bytes"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// verdict says what the bytes at the beginning of a buffer are.
type verdict uint8

const (
	unfinished verdict = iota // the beginning of what may be a plain request
	plain                     // a plain request's head
	foreign                   // anything else: net/http's
)

// Bounds of what the lane reads itself.
const (
	maxHead = 8 << 10
	maxBody = 64 << 10
)

// head is a plain request's head. Its host is part of one copy of the bytes; its target has one of
// its own, which whoever keeps a piece of it keeps and nothing besides.
type head struct {
	method   string
	target   string
	location url.URL // of the target
	host     string
	length   int // of the body
	size     int // of the head itself
	closes   bool
}

// opening is what a plain request may begin with: a method and the beginning of a path.
type opening struct{ method, text string }

// openings are those of all paths under prefixes.
func openings(prefixes []string) (lane []opening) {
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		for _, prefix := range prefixes {
			lane = append(lane, opening{method, method + " " + prefix})
		}
	}
	return lane
}

// opens finds the opening that the bytes begin with, or may yet turn out to.
func opens(b []byte, lane []opening) (opening, bool) {
	for _, o := range lane {
		if n := min(len(b), len(o.text)); string(b[:n]) == o.text[:n] {
			return o, true
		}
	}
	return opening{}, false
}

const protocol = " HTTP/1.1"

var endOfHead = []byte("\r\n\r\n")

// parse reads the head of a plain request: POST with one Content-Length within bounds or GET with
// none, a path under a prefix, HTTP/1.1, one Host, nothing that changes how the message is read,
// and only bytes about whose meaning nobody disagrees. fields is filled only for a plain one.
//
// It must never call a request plain that net/http would read otherwise;
// FuzzPlainRequestsAreReadAsNetHTTPReadsThem holds it to that.
func parse(b []byte, lane []opening, fields *fields) (h head, v verdict) {
	begun, ok := opens(b, lane)
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

// locate reads a target as net/http does; false for one that is not plain. What has to be unescaped
// is left to net/url.
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

// take notes one field; false when it makes the request foreign.
func (h *head) take(name, value string, fields *fields) bool {
	switch name {
	case "Host": // no part of http.Request.Header
		if h.host != "" || value == "" || !all(value, inHost) {
			return false
		}
		h.host = value
		return true
	case "Content-Length":
		// a GET's body, or word of none, does not mean the same to everybody
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

// digits reads a number that is written in the one plain way; -1 for anything else.
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

// Classes of bytes, a bit each.
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

// common are names in the form that http.Header keeps, by the two forms in which clients write
// them.
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

// fields are a request's header. Its memory serves one request after another.
type fields struct {
	header http.Header
	values [maxFields]string
	n      int
	target string // of the last request that had one like it
}

const maxFields = 48 // a request with more is net/http's

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
		f.header[name] = append(before, value) // its capacity ends with it: this copies
		return true
	}
	f.values[f.n] = value
	f.header[name] = f.values[f.n : f.n+1 : f.n+1]
	f.n++
	return true
}

// kept returns a copy of a request's target that its handler may keep. Most requests of a
// connection ask for the same as the last one, and get the same copy.
func (f *fields) kept(target string) string {
	if target != f.target {
		f.target = strings.Clone(target)
	}
	return f.target
}
