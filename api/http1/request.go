package http1

import (
	"bytes"
	"net/http"
	"net/textproto"
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

// head is a plain request's head. Its strings are parts of one copy of the bytes.
type head struct {
	path   string
	host   string
	length int // of the body
	size   int // of the head itself
	closes bool
}

const (
	method   = "POST "
	protocol = " HTTP/1.1"
)

var endOfHead = []byte("\r\n\r\n")

// parse reads the head of a plain request: POST to a path under prefix, HTTP/1.1, one Host, one Content-Length within bounds, nothing that
// changes how the message is read, and only bytes about whose meaning nobody disagrees. fields is filled only for a plain one.
//
// It must never call a request plain that net/http would read otherwise; FuzzPlainRequestsAreReadAsNetHTTPReadsThem holds it to that.
func parse(b []byte, prefix string, fields *fields) (h head, v verdict) {
	if known := min(len(b), len(method)); string(b[:known]) != method[:known] {
		return head{}, foreign
	}
	if from := b[min(len(b), len(method)):]; !bytes.HasPrefix(from, []byte(prefix)[:min(len(from), len(prefix))]) {
		return head{}, foreign
	}
	end := bytes.Index(b[:min(len(b), maxHead)], endOfHead)
	if end < 0 {
		if len(b) >= maxHead {
			return head{}, foreign
		}
		return head{}, unfinished
	}
	h = head{length: -1, size: end + len(endOfHead)}
	text := string(b[:end])
	line, rest, more := strings.Cut(text, "\r\n")
	h.path = strings.TrimSuffix(line[len(method):], protocol)
	if len(h.path) != len(line)-len(method)-len(protocol) || !all(h.path, inPath) || strings.Contains(h.path, "//") {
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
	if h.host == "" || h.length < 0 {
		return head{}, foreign
	}
	return h, plain
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
		if h.length >= 0 {
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
	mark(alphanumeric+"-_/", inPath)
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

// common are names in the form that http.Header keeps, by the two forms in which clients write them.
var common = func() map[string]string {
	names := make(map[string]string)
	for _, name := range []string{
		"Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Cache-Control", "Connection", "Content-Length", "Content-Type",
		"Forwarded", "Host", "Origin", "Referer", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site", "Traceparent", "Tracestate",
		"User-Agent", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Proto", "X-Payment", "X-Real-Ip",
		"X-Request-Id", "X-Route-Tier",
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
