package transport

import (
	"crypto/tls"
	"net"
	"net/http"
)

// NewWriter returns a transport that never sends anything twice: each submission gets a fresh
// connection (no dead idle connection to retry on) and HTTP/1.1 only (no GOAWAY that asks for a
// retry). It follows no redirects.
func NewWriter() *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{},
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: maxAnswerHeader,
		DisableCompression:     true,
	}
}
