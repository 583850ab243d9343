// Package upstream owns the providers behind the gateway: their transports, health, selection and
// failover, what their answers mean, and the board on which probes publish heads and verdicts for
// every process to read. No credential of a provider leaves it. It knows nothing of keys, units or
// clients.
package upstream
