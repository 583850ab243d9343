// Package offline owns the EVM utilities that need no chain: checksums of addresses (EIP-55),
// conversion between units of ether, selectors and topics of the contract ABI, Keccak-256, and
// verdicts on signed messages (EIP-191, EIP-4361). Nothing here opens a connection; a signature of
// a contract wallet is judged through the wallet.ChainCaller that a caller hands in.
//
// Results are the answers of docs/interface.md: their members have its names, and what stands
// in doc is told of them to clients. What an input cannot be is refused by a *fault.Error that
// names the field and what it takes.
package offline
