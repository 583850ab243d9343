package wire

import (
	"github.com/chainaccess/gateway/capability"
	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/toolbox/node"
)

// newToolbox makes what metered capabilities answer from.
func newToolbox(b *base, links chain.Links) capability.Toolbox {
	reader := node.New(b.pool, links)
	return capability.Toolbox{Node: reader}
}
