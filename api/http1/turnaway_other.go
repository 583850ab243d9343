//go:build !linux

package http1

import "net"

// TurnAway does nothing outside Linux: closing the listener resets connections that were not
// accepted yet.
func TurnAway(net.Listener) bool { return false }
