package scrub

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
	"testing"
)

func TestScrub_ErrorsSayWhatWentWrongWithoutSayingWhere(t *testing.T) {
	t.Parallel()
	peer := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 8545}
	reset := &net.OpError{Op: "read", Net: "tcp", Source: peer, Addr: peer, Err: syscall.ECONNRESET}
	for want, err := range map[string]error{
		"read: connection reset by peer": fmt.Errorf("net/http: reading from %s: %w", peer,
			reset),
		"write: broken pipe": &net.OpError{
			Op: "write", Addr: peer, Err: syscall.EPIPE,
		},
		"the host name was not found": &net.OpError{
			Op: "dial", Net: "tcp", Err: &net.DNSError{
				Err: "no such host", Name: "node", Server: "10.1.2.3:53", IsNotFound: true,
			},
		},
		"the host name could not be looked up: temporary failure": &net.DNSError{
			Err: "server misbehaving", Name: "node", IsTemporary: true,
		},
		"the host name could not be looked up": &net.DNSError{Err: "unrecognized", Name: "node"},
		"looking up the host name took too long": &net.DNSError{
			Err: "i/o timeout", Name: "node", IsTimeout: true,
		},
		"dial: missing port in address": &net.OpError{
			Op: "dial", Err: &net.AddrError{Err: "missing port in address", Addr: "node"},
		},
		"invalid IP address": &net.ParseError{Type: "IP address", Text: "node"},
		"the certificate is for another host name": x509.HostnameError{
			Certificate: &x509.Certificate{DNSNames: []string{"node"}}, Host: "node",
		},
		"the certificate is signed by an unknown authority": &url.Error{
			Op: "Post", URL: "https://node", Err: x509.UnknownAuthorityError{},
		},
		"the certificate has expired or is not valid yet": x509.CertificateInvalidError{
			Reason: x509.Expired, Detail: "node",
		},
		"the certificate is not valid": x509.CertificateInvalidError{
			Reason: x509.NameMismatch, Detail: "node",
		},
		"EOF": errors.New("EOF"),
		"no route to [redacted] via [redacted] and [redacted], [redacted] [redacted]": errors.New(
			"no route to [2001:db8::1]:443 via 10.1.2.3:80 and 10.1.2.3, fe80::1:2 other.example:8545"),
		"[redacted] hung up": errors.New("node hung up"),
	} {
		t.Run(want, func(t *testing.T) {
			if got := WithoutAddress(err, "node"); got != want {
				t.Errorf("%v became %q, want %q", err, got, want)
			}
		})
	}
}
