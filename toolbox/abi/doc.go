// Package abi implements Ethereum's contract ABI (Solidity documentation, "Contract ABI
// Specification"): types and signatures of functions, their selectors, and the arguments in
// calldata. It knows neither chains nor contracts.
//
// Types and calldata are untrusted. A type is limited in depth, parts and words when it is made.
// Decoding has a budget that grows only with the calldata, because offsets may overlap: a few
// hundred bytes can describe more values than fit in memory.
package abi
