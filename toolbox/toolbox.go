// Package toolbox owns answers that take several calls of a chain: what gas costs, what became of a transaction, prices, balances,
// transfers. It asks through toolbox/node and computes in integers. It knows nothing of keys, charges and caches (capability does), nor of
// HTTP.
package toolbox
