// Package contracts returns the ABI of verified contracts, follows proxies, and decodes calls. ABIs
// come from Sourcify, function names without an ABI from Sourcify's signature database, and proxies
// are detected on the chain itself. All of these are untrusted: their answers are bounded and
// validated, and an invalid one is never taken for "not verified". Package abi does the decoding.
package contracts
