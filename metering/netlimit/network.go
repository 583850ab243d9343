package netlimit

import "net/netip"

// What counts as one network and as one area, in bits. Who rents a server or a line gets an IPv6
// /64 or all of a /48, and addresses of one IPv4 /24 are rented out together.
const (
	addressIPv4, areaIPv4 = 32, 24
	addressIPv6, areaIPv6 = 64, 48
)

// NetworkOf is the part of an address that limits go by: an IPv4 address, or the /64 of an IPv6
// address. Of no address it is no network.
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

// AreaOf is the area around a network: an IPv4 /24 or an IPv6 /48.
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
