//go:build !linux

package http1

import "net"

// TurnAway is for Linux; elsewhere a connection that nobody accepted when its listener is closed is
// reset.
func TurnAway(net.Listener) bool { return false }
