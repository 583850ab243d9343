package egress

import (
	"net/netip"
	"testing"
)

func TestAddresses_OnlyOrdinaryPublicOnesAreCalled(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"1.1.1.1": true, "9.255.255.255": true, "11.0.0.0": true, "100.63.255.255": true, "100.128.0.0": true,
		"172.15.255.255": true, "172.32.0.0": true, "192.167.255.255": true, "192.169.0.0": true,
		"198.17.255.255": true, "198.20.0.0": true, "223.255.255.255": true, "2606:4700:4700::1111": true,
		"2a00:1450:4001::1": true, "2001:200::1": true, "3fff:1000::1": true,

		"0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "100.64.0.1": false, "100.100.100.200": false,
		"100.127.255.255": false, "127.0.0.1": false, "127.255.255.254": false, "168.63.129.16": false,
		"169.254.169.254": false, "172.16.0.1": false, "172.31.255.255": false, "192.0.0.192": false,
		"192.0.2.1": false, "192.88.99.1": false, "192.168.1.1": false, "198.18.0.1": false, "198.19.255.255": false,
		"198.51.100.7": false, "203.0.113.9": false, "224.0.0.1": false, "239.255.255.250": false, "240.0.0.1": false,
		"255.255.255.255": false,

		"::": false, "::1": false, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:1.1.1.1": false,
		"::1.1.1.1": false, "64:ff9b::7f00:1": false, "64:ff9b::101:101": false, "64:ff9b:1::1": false, "100::1": false,
		"2001::1": false, "2001:db8::1": false, "2002:7f00:1::": false, "2002:101:101::": false, "3fff::1": false,
		"fc00::1": false, "fd00:ec2::254": false, "fe80::1": false, "fe80::1%eth0": false, "fec0::1": false,
		"ff02::1": false, "2606:4700:4700::1111%eth0": false,
	} {
		t.Run(text, func(t *testing.T) {
			if got := public(netip.MustParseAddr(text)); got != want {
				t.Errorf("public(%s) = %v, want %v", text, got, want)
			}
		})
	}
	if public(netip.Addr{}) {
		t.Error("no address passes for a public one")
	}
}

func TestAddresses_InvalidTextIsNotConnectedTo(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "localhost:443", "1.1.1.1", "/run/docker.sock", "127.0.0.1:443", "[::1]:443", "[fe80::1%lo]:443",
	} {
		if control(t.Context(), "tcp", text, nil) == nil {
			t.Errorf("control lets a connection to %q pass", text)
		}
	}
	if err := control(t.Context(), "tcp4", "1.1.1.1:443", nil); err != nil {
		t.Errorf("a public address: %v", err)
	}
}
