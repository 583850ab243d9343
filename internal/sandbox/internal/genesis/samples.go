package genesis

import (
	"github.com/ethereum/go-ethereum/common"
)

// Contracts for tests of reading and decoding, on every EVM chain.
var (
	Multicall3 = common.HexToAddress("0xcA11bde05977b3631167028862bE2a173976CA11") // its real address
	Overloads  = common.HexToAddress("0x5a4d000000000000000000000000000000005a01")
	Arguments  = common.HexToAddress("0x5a4d000000000000000000000000000000005a02")
	// Unverified has the code of Overloads, without a published source.
	Unverified   = common.HexToAddress("0x5a4d000000000000000000000000000000005a03")
	StorageProxy = common.HexToAddress("0x5a4d000000000000000000000000000000005a04") // EIP-1967, proxy of Overloads
	Beacon       = common.HexToAddress("0x5a4d000000000000000000000000000000005a05") // holds the address of Overloads
	BeaconProxy  = common.HexToAddress("0x5a4d000000000000000000000000000000005a06") // EIP-1967, asks Beacon
	MinimalProxy = common.HexToAddress("0x5a4d000000000000000000000000000000005a07") // EIP-1167, proxy of Overloads
	// LoopA and LoopB are proxies of each other.
	LoopA = common.HexToAddress("0x5a4d000000000000000000000000000000005a09")
	LoopB = common.HexToAddress("0x5a4d000000000000000000000000000000005a0a")
)

// Kinds of proxies.
const (
	eip1967  = "EIP1967Proxy"
	zeppelin = "ZeppelinOSProxy"
)

// samples places the contracts. Those that are deployed with code have no published source.
func (b *builder) samples(admin common.Address) {
	b.place(admin, Multicall3, "Multicall3")
	p := b.place(admin, Overloads, "Overloads")
	b.place(admin, Arguments, "Arguments")
	b.code(admin, Unverified, p.Contract.Code)
	b.placeProxy(eip1967, Overloads, admin, StorageProxy, "StorageProxy", Overloads)
	b.place(admin, Beacon, "Beacon", Overloads)
	b.placeProxy(eip1967, Overloads, admin, BeaconProxy, "BeaconProxy", Beacon)
	b.placeProxy(eip1967, LoopB, admin, LoopA, "StorageProxy", LoopB)
	b.placeProxy(eip1967, LoopA, admin, LoopB, "StorageProxy", LoopA)
	b.code(admin, MinimalProxy, minimalProxy(Overloads))
}

// minimalProxy returns the creation code of an EIP-1167 proxy: a constructor that returns the 45
// bytes, which delegate calls to the target.
func minimalProxy(target common.Address) []byte {
	code := common.FromHex("0x3d602d80600a3d3981f3363d3d373d3d3d363d73")
	return append(append(code, target.Bytes()...), common.FromHex("0x5af43d82803e903d91602b57fd5bf3")...)
}
