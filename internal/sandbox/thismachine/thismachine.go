// Package thismachine checks that a request names this machine as its host. Routes of development
// gateways serve anyone without authentication, so they must not be reachable from web pages by DNS
// rebinding.
package thismachine

import (
	"net"
	"net/netip"
	"strings"
)

// Named reports whether a host, with or without a port, is an IP address or localhost.
func Named(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || strings.EqualFold(host, "localhost")
}
