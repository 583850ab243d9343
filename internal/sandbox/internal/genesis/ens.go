package genesis

import (
	"encoding/hex"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// ENS on Ethereum: the registry, the resolver of most names and the UniversalResolver have their
// real addresses, the others arbitrary ones.
var (
	ENSRegistry       = common.HexToAddress("0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e")
	PublicResolver    = common.HexToAddress("0x231b0Ee14048e9dCcD1d247744d114a4EB5E8E63")
	UniversalResolver = common.HexToAddress("0xeEeEEEeE14D718C2B47D9923Deab1335E144EeEe")
	WildcardResolver  = common.HexToAddress("0x5a4d00000000000000000000000000000000e501")
	RevertingResolver = common.HexToAddress("0x5a4d00000000000000000000000000000000e502")
	SilentResolver    = common.HexToAddress("0x5a4d00000000000000000000000000000000e503")
	OffchainResolver  = common.HexToAddress("0x5a4d00000000000000000000000000000000e504")
	DirectResolver    = common.HexToAddress("0x5a4d00000000000000000000000000000000e505")
	noContract        = common.HexToAddress("0x5a4d00000000000000000000000000000000e506")
)

// Names of the sandbox; package sandbox describes them.
const (
	Root         = "sandbox.eth"
	Alice        = "alice.sandbox.eth"
	Bob          = "bob.sandbox.eth"
	Empty        = "empty.sandbox.eth"
	Wildcard     = "wild.sandbox.eth"
	Reverting    = "broken.sandbox.eth"
	Silent       = "silent.sandbox.eth"
	NoContract   = "eoa.sandbox.eth"
	Offchain     = "offchain.sandbox.eth"
	Direct       = "direct.sandbox.eth"
	Nobody       = "nobody.sandbox.eth"
	Carol        = "carol." + Offchain
	Dave         = "dave." + Direct
	Erin         = "erin." + Offchain
	fundedNeeded = 10
)

// Coin types of addresses (ENSIP-9, ENSIP-11).
const (
	coinEther = 60
	coinBase  = 0x80000000 | 8453
)

// setAddr is the name that package abi gives to the overload with a coin type.
const setAddr = "setAddr"

// Namehash returns the node of a normalized name (ENSIP-1).
func Namehash(name string) (node common.Hash) {
	if name == "" {
		return node
	}
	label, rest, _ := strings.Cut(name, ".")
	return crypto.Keccak256Hash(Namehash(rest).Bytes(), crypto.Keccak256([]byte(label)))
}

// ens deploys the registry, its resolvers and their records, all owned by the admin.
func (b *builder) ens(owners Owners) {
	admin := owners.Admin
	registry := b.place(admin, ENSRegistry, "ENSRegistry")
	records := b.place(admin, PublicResolver, "PublicResolver", ENSRegistry)
	b.place(admin, UniversalResolver, "UniversalResolver", ENSRegistry)
	b.place(admin, WildcardResolver, "WildcardResolver")
	b.place(admin, RevertingResolver, "RevertingResolver")
	b.place(admin, SilentResolver, "SilentResolver")
	b.place(admin, OffchainResolver, "OffchainResolver", admin, owners.Gateway, false)
	b.place(admin, DirectResolver, "OffchainResolver", admin, owners.Gateway, true)
	register := func(name string, resolver common.Address) common.Hash {
		label, parent, _ := strings.Cut(name, ".")
		b.send(admin, registry, "setSubnodeRecord", Namehash(parent), crypto.Keccak256Hash([]byte(label)), admin,
			resolver, uint64(0))
		return Namehash(name)
	}
	for _, name := range []string{"eth", "reverse", "addr.reverse", "80002105.reverse"} {
		register(name, common.Address{})
	}
	for _, entry := range []struct {
		name     string
		resolver common.Address
		owner    int // index of the funded account to which it resolves, -1 for none
	}{
		{Root, PublicResolver, 0},
		{Alice, PublicResolver, 1},
		{Bob, PublicResolver, 2},
		{Empty, PublicResolver, -1},
		{Wildcard, WildcardResolver, -1},
		{Reverting, RevertingResolver, -1},
		{Silent, SilentResolver, -1},
		{NoContract, noContract, -1},
		{Offchain, OffchainResolver, -1},
		{Direct, DirectResolver, -1},
	} {
		node := register(entry.name, entry.resolver)
		if entry.owner >= 0 {
			b.send(admin, records, setAddr, node, big.NewInt(coinEther), owners.Funded[entry.owner].Bytes())
		}
	}
	alice := owners.Funded[1]
	b.send(admin, records, setAddr, Namehash(Alice), big.NewInt(coinBase), alice.Bytes())
	b.send(admin, records, "setText", Namehash(Alice), "url", "https://sandbox.example/alice")
	b.send(admin, records, "setName", register(reverseName(alice, "80002105"), PublicResolver), Alice)
	for owner, name := range primaryNames {
		b.send(admin, records, "setName", register(reverseName(owners.Funded[owner], "addr"), PublicResolver), name)
	}
}

// primaryNames are the reverse records of the funded accounts, by index. Some are not confirmed by
// forward resolution.
var primaryNames = []string{
	0: Root,
	1: Alice,
	2: Bob,
	3: Alice,                // resolves to account 1
	4: Nobody,               // does not resolve
	5: Erin,                 // confirmed by the gateway
	6: "",                   // withdrawn
	7: "grace." + Reverting, // its parent's resolver is not a wildcard resolver for it
}

func reverseName(of common.Address, space string) string {
	return hex.EncodeToString(of.Bytes()) + "." + space + ".reverse"
}

// WildcardAddress returns the WildcardResolver's answer for a label.
func WildcardAddress(label string) common.Address {
	return common.BytesToAddress(crypto.Keccak256([]byte(label)))
}
