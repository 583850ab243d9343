// Package thismachine says whether a request was meant for a server on this machine: doors of
// development gateways give to whoever asks, and no page may reach them through a name of its own
// that leads here.
package thismachine

import (
	"net"
	"net/netip"
	"strings"
)

// Named reports whether a host, with or without a port, is an address or localhost.
func Named(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || strings.EqualFold(host, "localhost")
}
