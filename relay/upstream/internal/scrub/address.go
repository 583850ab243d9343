package scrub

import (
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// addressLike matches an address in an error text: IPv6 and IPv4 with or without a port, and a name
// with a port.
var addressLike = regexp.MustCompile(`\[[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(%\w+)?\](:\d+)?|` +
	`\b\d{1,3}(\.\d{1,3}){3}\b(:\d+)?|` +
	`\b[0-9A-Fa-f]{0,4}(:[0-9A-Fa-f]{0,4}){2,7}\b|` +
	`\b[\w-]+(\.[\w-]+)*\.?:\d{1,5}\b`)

// WithoutAddress returns the text of an error without addresses: neither the configured host, nor
// what it resolved to, nor the addresses of this machine and its name server.
func WithoutAddress(err error, host string) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return lookupFailure(dns)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
		return op.Op + ": " + WithoutAddress(op.Err, host)
	}
	if addr, ok := errors.AsType[*net.AddrError](err); ok {
		return addr.Err
	}
	if parse, ok := errors.AsType[*net.ParseError](err); ok {
		return "invalid " + parse.Type
	}
	if text := certificateFailure(err); text != "" {
		return text
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok && wrapped.Err != nil {
		return WithoutAddress(wrapped.Err, host)
	}
	text := addressLike.ReplaceAllString(err.Error(), redacted)
	if host != "" {
		text = strings.ReplaceAll(text, host, redacted)
	}
	return text
}

func lookupFailure(err *net.DNSError) string {
	switch {
	case err.IsNotFound:
		return "the host name was not found"
	case err.IsTimeout:
		return "looking up the host name took too long"
	case err.IsTemporary:
		return "the host name could not be looked up: temporary failure"
	}
	return "the host name could not be looked up"
}

// certificateFailure returns a text without the names in the certificate, which the texts of
// crypto/x509 contain. It returns "" for other errors.
func certificateFailure(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "the certificate is for another host name"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the certificate is signed by an unknown authority"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if invalid.Reason == x509.Expired {
			return "the certificate has expired or is not valid yet"
		}
		return "the certificate is not valid"
	}
	return ""
}
