//go:build !faultpoints

package faultpoint

// Hit does nothing.
func Hit(Point) {}
