package thismachine_test

import (
	"testing"

	"github.com/chainaccess/gateway/internal/sandbox/thismachine"
)

func TestHost_OnlyAddressesAndLocalhostNameThisMachine(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"127.0.0.1:8080": true, "127.0.0.1": true, "[::1]:8080": true, "[::1]": true, "LocalHost:1": true,
		"192.0.2.7:80": true, "": false, "rebound.example:8080": false, "localhost.evil.example": false,
		"127.0.0.1.evil.example:80": false,
	} {
		t.Run(host, func(t *testing.T) {
			if got := thismachine.Named(host); got != want {
				t.Errorf("%t", got)
			}
		})
	}
}
