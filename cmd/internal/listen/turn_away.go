package listen

import (
	"net"
	"time"

	"github.com/chainaccess/gateway/api/http1"
)

// acceptRest is how long connections that are established take to be accepted.
const acceptRest = 200 * time.Millisecond

// TurnAway waits for the delay. Then it makes the kernel ignore new attempts to connect, and waits
// acceptRest so that established connections are accepted. Where the kernel cannot do that, it
// returns after the delay.
func TurnAway(listener net.Listener, after time.Duration, failed <-chan error) error {
	if err := delay(after, failed); err != nil || !http1.TurnAway(listener) {
		return err
	}
	return delay(acceptRest, failed)
}

// delay waits while calls are still served, and returns early if the server fails.
func delay(d time.Duration, failed <-chan error) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case err := <-failed:
		return err
	}
}
