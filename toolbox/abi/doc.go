// Package abi reads the contract ABI of Ethereum (Solidity's specification, "Contract ABI
// Specification"): the types and signatures of functions, the selectors they give, and the
// arguments in calldata, within bounds that hold for any input. It knows neither chains nor
// contracts.
//
// Types and calldata come from strangers. A type is bounded in depth, parts and words when it is
// made. Decoding spends a budget that grows with the calldata only, because offsets may overlap: a
// few hundred bytes can describe more values than a machine has memory.
package abi
