package egress

import "net/netip"

// unicast6 is the only block of IPv6 from which global unicast addresses are assigned (RFC 4291,
// section 2.4). Loopback, unspecified, link-local, unique local, multicast, IPv4-mapped,
// IPv4-compatible and NAT64 (64:ff9b::/96) addresses are outside of it.
var unicast6 = netip.MustParsePrefix("2000::/3")

// special are the blocks that are not ordinary public addresses, from IANA's registries of
// special-purpose addresses (RFC 6890), and the addresses at which clouds serve metadata.
var special = prefixes(
	"0.0.0.0/8",         // this network
	"10.0.0.0/8",        // private
	"100.64.0.0/10",     // shared by carriers (CGNAT); the metadata of Alibaba Cloud is in it
	"127.0.0.0/8",       // loopback
	"169.254.0.0/16",    // link-local; the metadata of most clouds is in it
	"172.16.0.0/12",     // private
	"192.0.0.0/24",      // protocol assignments; the metadata of Oracle Cloud is in it
	"192.0.2.0/24",      // documentation
	"192.31.196.0/24",   // AS112
	"192.52.193.0/24",   // automatic multicast tunnelling
	"192.88.99.0/24",    // relays of 6to4
	"192.168.0.0/16",    // private
	"192.175.48.0/24",   // AS112
	"198.18.0.0/15",     // benchmarks
	"198.51.100.0/24",   // documentation
	"203.0.113.0/24",    // documentation
	"224.0.0.0/4",       // multicast
	"240.0.0.0/4",       // reserved, and broadcast
	"168.63.129.16/32",  // Azure's platform services; it looks like an ordinary address
	"2001::/23",         // protocol assignments: Teredo, benchmarks, ORCHID
	"2001:db8::/32",     // documentation
	"2002::/16",         // 6to4, which carries any IPv4 address
	"2620:4f:8000::/48", // AS112
	"3fff::/20",         // documentation
)

func prefixes(texts ...string) []netip.Prefix {
	blocks := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		blocks = append(blocks, netip.MustParsePrefix(text))
	}
	return blocks
}

// public reports whether an address is an ordinary public unicast one. An IPv4-mapped IPv6 address
// is always refused: it has no legitimate use here.
func public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" || !a.IsGlobalUnicast() {
		return false
	}
	if a.Is6() && !unicast6.Contains(a) {
		return false
	}
	for _, block := range special {
		if block.Contains(a) {
			return false
		}
	}
	return true
}
