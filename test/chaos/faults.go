// Package chaos holds the fault harness, which is all tests: it runs the gateway's own processes,
// kills them and the servers that they stand on, and holds what a client saw against what
// PostgreSQL says. It owns no rule of the gateway and links none of its parts into it.
package chaos
