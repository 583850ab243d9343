package http1

import (
	"context"
	"net"
)

// Listen listens on a TCP address in the way that TurnAway needs: Multipath TCP, which Go would use
// where there is any, knows no filters.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	return config.Listen(ctx, "tcp", address)
}
