package provider

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/chainaccess/gateway/relay/chain"
)

// place is where an address names its network.
type place uint8

const (
	inHost  place = iota // the label before the suffix, mainnet.infura.io
	inPath               // a segment of the path, rpc.ankr.com/eth
	inQuery              // ?network=ethereum
	nowhere              // the host is of one chain, or names none
)

// form is the format of a provider's addresses, from the provider's documentation.
type form struct {
	Provider

	suffix string   // of the host, without the label that names the network; or the whole host
	places []place  // where the network is named, in the order of search
	alone  chain.ID // the chain if no network is named
	strip  []string // prefixes and suffixes around the network's name in its label
	public bool     // it needs no key
	own    bool     // the first label of its hosts is assigned to the customer
}

// forms are matched in this order; the first whose suffix matches wins.
var forms = []form{
	{Provider{"alchemy", "Alchemy"}, "g.alchemy.com", []place{inHost}, "", nil, false, false},
	{Provider{"alchemy", "Alchemy"}, "ws.alchemyapi.io", []place{inHost}, "", nil, false, false},
	{Provider{"alchemy", "Alchemy"}, "alchemyapi.io", []place{inHost}, "", nil, false, false},
	{Provider{"infura", "Infura"}, "infura.io", []place{inHost}, "", nil, false, false},
	{Provider{"quicknode", "QuickNode"}, "quiknode.pro", []place{inHost}, chain.EthMainnet, nil, false, true},
	{Provider{"ankr", "Ankr"}, "rpc.ankr.com", []place{inPath}, "", nil, false, false},
	{Provider{"drpc", "dRPC"}, "lb.drpc.org", []place{inQuery, inPath}, "", nil, false, false},
	{Provider{"drpc", "dRPC"}, "lb.drpc.live", []place{inQuery, inPath}, "", nil, false, false},
	{Provider{"drpc", "dRPC"}, "drpc.org", []place{inHost}, "", nil, true, false},
	{Provider{"chainstack", "Chainstack"}, "core.chainstack.com", []place{inHost}, "", nil, false, false},
	{Provider{"chainstack", "Chainstack"}, "p2pify.com", []place{nowhere}, "", nil, false, false},
	{Provider{"moralis", "Moralis"}, "moralis-nodes.com", []place{inPath}, "", nil, false, false},
	{Provider{"moralis", "Moralis"}, "speedy-nodes-nyc.moralis.io", []place{inPath}, "", nil, false, false},
	{Provider{"helius", "Helius"}, "helius-rpc.com", []place{inHost}, chain.SolanaMainnet, nil, false, false},
	{Provider{"helius", "Helius"}, "rpc.helius.xyz", []place{nowhere}, chain.SolanaMainnet, nil, false, false},
	{Provider{"blast", "Blast"}, "blastapi.io", []place{inHost}, "", nil, false, false},
	{Provider{"getblock", "GetBlock"}, "getblock.io", []place{inHost}, "", nil, false, false},
	{Provider{"tenderly", "Tenderly"}, "gateway.tenderly.co", []place{inHost, inPath}, "", nil, false, false},
	{Provider{"blockpi", "BlockPI"}, "blockpi.network", []place{inHost}, "", nil, false, false},
	{Provider{"thirdweb", "thirdweb"}, "rpc.thirdweb.com", []place{inHost}, "", nil, false, false},
	{Provider{"onerpc", "1RPC"}, "1rpc.io", []place{inPath}, "", nil, true, false},
	{Provider{"publicnode", "PublicNode"}, "publicnode.com", []place{inHost}, "", []string{"-rpc"}, true, false},
	{Provider{"llamarpc", "LlamaRPC"}, "llamarpc.com", []place{inHost}, "", nil, true, false},
	{Provider{"merkle", "Merkle"}, "merkle.io", []place{inHost}, "", nil, true, false},
	{Provider{"nodies", "Nodies"}, "nodies.app", []place{inHost}, "", []string{"-pokt"}, false, false},
	{Provider{"meowrpc", "MeowRPC"}, "meowrpc.com", []place{inHost}, "", nil, true, false},
	{Provider{"cloudflare", "Cloudflare"}, "cloudflare-eth.com", []place{nowhere}, chain.EthMainnet, nil, true, false},
	{Provider{"base", "Base"}, "base.org", []place{inHost}, "", []string{
		"developer-access-", "-preconf", "-flashblocks",
	}, true, false},
	{Provider{"arbitrum", "Arbitrum"}, "arbitrum.io", []place{inHost}, "", nil, true, false},
	{Provider{"optimism", "Optimism"}, "optimism.io", []place{inHost}, "", nil, true, false},
	{Provider{"polygon", "Polygon"}, "polygon-rpc.com", []place{nowhere}, chain.PolygonPoS, nil, true, false},
	{Provider{"polygon", "Polygon"}, "polygon.technology", []place{inHost}, "", []string{"rpc-"}, true, false},
	{Provider{"solana", "Solana"}, "solana.com", []place{inHost}, "", nil, true, false},
	{Provider{"flashbots", "Flashbots"}, "rpc.flashbots.net", []place{nowhere}, chain.EthMainnet, nil, true, false},
	{Provider{"mevblocker", "MEV Blocker"}, "rpc.mevblocker.io", []place{nowhere}, chain.EthMainnet, nil, true, false},
}

// homes are the chains whose providers call them "mainnet".
var homes = map[string]chain.ID{
	"base": chain.BaseMainnet, "optimism": chain.OptimismMainnet, "polygon": chain.PolygonPoS,
	"solana": chain.SolanaMainnet, "helius": chain.SolanaMainnet,
}

var (
	unknown = Provider{"unknown", "another provider"}
	local   = Provider{"local", "a node of your own"}
)

// formOf returns the form of a host and the rest of the host before the suffix.
func formOf(host string) (*form, string) {
	for i := range forms {
		f := &forms[i]
		if host == f.suffix {
			return f, ""
		}
		if label, ok := strings.CutSuffix(host, "."+f.suffix); ok {
			return f, label
		}
	}
	return nil, ""
}

// network returns the chain that an address of this form serves, and the name in the address.
func (f *form) network(label string, path []string, query map[string]string) (id chain.ID, name string) {
	for _, p := range f.places {
		var names []string
		switch p {
		case inHost:
			names = labels(label, f.strip, f.own)
		case inPath:
			names = joined(path)
		case inQuery:
			names = []string{query["network"]}
		case nowhere:
		}
		for _, name := range names {
			if id, known := named(name); known {
				if home, ok := homes[f.Key]; ok && id == chain.EthMainnet {
					id = home
				}
				return id, name
			}
		}
	}
	return f.alone, ""
}

// labels returns the labels of a host before its suffix, the nearest to it first, without the
// prefixes and suffixes in strip.
func labels(label string, strip []string, own bool) []string {
	parts := strings.Split(label, ".")
	if own {
		parts = parts[1:]
	}
	var names []string
	for _, name := range slices.Backward(parts) {
		for _, around := range strip {
			name = strings.TrimSuffix(strings.TrimPrefix(name, around), around)
		}
		names = append(names, name)
	}
	return names
}

// joined returns the segments of a path, each preceded by its combination with the next one if that
// names a network: eth/goerli is not eth.
func joined(path []string) []string {
	var names []string
	for i, segment := range path {
		if i+1 < len(path) {
			if _, known := named(path[i+1]); known {
				names = append(names, segment+"-"+path[i+1])
			}
		}
		names = append(names, segment)
	}
	return names
}

// private reports whether a host is a private machine, not a provider's.
func private(host string) bool {
	if hasPlaceholder(host) {
		return false
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") ||
		strings.HasSuffix(host, ".internal") || !strings.Contains(host, ".") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsUnspecified() || ip.IsLinkLocalUnicast())
}

func isIP(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
