package netlimit

import "net/netip"

// The prefix lengths of a network and an area, in bits. A customer of a host or an access provider
// gets an IPv6 /64 or a whole /48, and the addresses of one IPv4 /24 are rented out together.
const (
	addressIPv4, areaIPv4 = 32, 24
	addressIPv6, areaIPv6 = 64, 48
)

// NetworkOf returns the part of an address that limits apply to: an IPv4 address, or the /64 of an
// IPv6 address. For an invalid address it returns the zero Prefix.
func NetworkOf(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := addressIPv4
	if a.Is6() {
		bits = addressIPv6
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// AreaOf returns the area around a network: an IPv4 /24 or an IPv6 /48.
func AreaOf(network netip.Prefix) netip.Prefix {
	bits := areaIPv4
	if network.Addr().Is6() {
		bits = areaIPv6
	}
	area, err := network.Addr().Prefix(min(bits, max(network.Bits(), 0)))
	if err != nil {
		return network
	}
	return area
}
