// Package upstream calls the providers behind the gateway. It has their transports, health,
// selection and failover, the classification of their answers, and the board on which probes
// publish heads and verdicts for every process. No credential of a provider leaves it. It knows
// nothing of keys, units or clients.
package upstream
