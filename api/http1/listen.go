package http1

import (
	"context"
	"net"
)

// Listen listens on a TCP address without Multipath TCP, which Go uses by default where it is
// available. TurnAway needs that, because Multipath TCP does not support socket filters.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	return config.Listen(ctx, "tcp", address)
}
