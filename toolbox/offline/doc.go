// Package offline has the EVM utilities that need no chain: checksums of addresses (EIP-55),
// conversion between units of ether, selectors and topics of the contract ABI, Keccak-256, and
// verification of signed messages (EIP-191, EIP-4361). It opens no connection; a signature of a
// contract wallet is verified through the caller's wallet.ChainCaller.
//
// Results are the answers in docs/interface.md, with its names, and the doc tags are shown to
// clients. An invalid input is a *fault.Error with the field and what it takes.
package offline
