// Package contracts knows verified contracts: the ABI of one, proxies followed, and what a call of
// one means. ABIs come from Sourcify, names of functions that no ABI tells from Sourcify's database
// of signatures, and whether a contract is a proxy from the chain itself. What these say is a
// stranger's: it is bounded, checked and never taken for an answer when it is none. Package abi
// does the decoding.
package contracts
