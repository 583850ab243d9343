package testkit_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/testkit"
)

func TestRedisClock_StepsWhileRunningAndStaysOverARestart(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t, testkit.WithClock(), testkit.WithAppendOnly())
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = client.Close() })
	off := func() time.Duration {
		t.Helper()
		script := client.Eval(t.Context(), `return redis.call('TIME')[1]`, nil)
		seconds, err := script.Int64()
		if err != nil {
			t.Fatal(err)
		}
		return time.Since(time.Unix(seconds, 0))
	}
	const margin = 8 * time.Second // for slow answers on a loaded machine
	for _, by := range []time.Duration{0, -15 * time.Second, time.Hour, 0} {
		server.SetClock(t, by)
		if got := off() + by; got < -time.Second || got > margin {
			t.Errorf("set %s off, the server's clock is %s behind that", by, got)
		}
	}
	server.SetClock(t, -time.Hour)
	server.Kill(t)
	server.Start(t)
	if got := off() - time.Hour; got < -time.Second || got > margin {
		t.Errorf("after a restart, the server's clock is %s behind what it was set to", got)
	}
}
