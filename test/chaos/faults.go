// Package chaos holds the fault harness, which consists of tests only: it runs the gateway's
// processes, kills them and their servers, and compares what a client saw with PostgreSQL. It
// contains no rule of the gateway, and the gateway does not link it.
package chaos
