package provider

import (
	"strings"

	"github.com/chainaccess/gateway/relay/chain"
)

// readEndpoint parses an address found at a key; false if it is no node's.
func readEndpoint(raw string, key telling) (e Endpoint, ok bool) {
	p := split(raw)
	if p.host == "" {
		return e, false
	}
	f, label := formOf(p.host)
	query := map[string]string{}
	for _, pair := range p.query {
		query[strings.ToLower(pair[0])] = pair[1]
	}
	e = Endpoint{Source: p.show(f), Provider: unknown, WebSocket: strings.HasPrefix(p.scheme, "ws")}
	e.KeyInURL, e.Keyless = p.credential(f)
	switch {
	case f != nil:
		e.Provider = f.Provider
		e.Chain, e.Network = f.network(label, p.path, query)
		ok = e.Chain != "" || e.Network != "" || e.KeyInURL || hasPlaceholder(p.host) || key == surely
	case private(p.host):
		e.Provider, ok = local, true
	default:
		e.Chain, e.Network = guess(&p)
		rpc := key == surely || strings.Contains(strings.ToLower(p.host+"/"+strings.Join(p.path, "/")), "rpc")
		ok = rpc || !isPage(p.host) && (e.Network != "" || key == some)
		e.Guessed = !rpc && (!e.WebSocket || e.Chain == "")
	}
	if e.KeyInURL && !e.Keyless {
		e.credentials = 1
	}
	if e.Network != "" {
		e.Network = may(e.Network)
	}
	return e, ok
}

// guess looks for the name of a network in an address of an unknown form. The name of a network
// that is not served decides, wherever it is: mainnet.era.zksync.io is not Ethereum's. "mainnet"
// alone may be any chain's.
func guess(p *parts) (id chain.ID, name string) {
	names := []string{}
	for label := range strings.SplitSeq(p.host, ".") {
		names = append(names, label)
		if strings.Contains(label, "-") {
			names = append(names, strings.Split(label, "-")...)
		}
	}
	names = append(names, joined(p.path)...)
	for _, n := range names {
		found, known := named(n)
		switch {
		case !known || digits(n) || !isNetwork(n):
		case found == "":
			return "", n
		case name == "" || id == "":
			if id, name = found, n; n == "mainnet" {
				id = ""
			}
		}
	}
	return id, name
}
