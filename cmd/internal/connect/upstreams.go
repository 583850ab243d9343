package connect

import "github.com/chainaccess/gateway/relay/chain"

// ChainNames returns the chains that the upstreams file may name.
func ChainNames() []string {
	var names []string
	for _, c := range chain.All() {
		names = append(names, string(c.ID))
	}
	return names
}
