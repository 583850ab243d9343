package evm

import (
	"net/http"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/chainaccess/gateway/internal/sandbox/internal/indexer"
)

// Data configures the chain's indexing provider.
type Data struct {
	Coin     string           // symbol of the native coin
	Internal bool             // the provider accepts the category of internal transfers on this chain
	Tokens   []common.Address // held since the genesis block, so no event shows who holds them
}

const dataNamespace = "alchemy"

// serveData starts a second server with the same methods and those of an indexing provider.
func (n *Node) serveData() error {
	if n.cfg.Data == nil {
		return nil
	}
	n.self = rpc.DialInProc(n.rpc)
	methods := indexer.New(indexer.Config{
		Chain: n.eth.BlockChain(), Node: n.self, ChainID: n.cfg.ChainID, Network: n.cfg.Name, Coin: n.cfg.Data.Coin,
		Internal: n.cfg.Data.Internal, Tokens: n.cfg.Data.Tokens,
	})
	var err error
	n.data, err = newRPC(n.eth, rpc.API{Namespace: dataNamespace, Service: methods})
	return err
}

// DataHandler returns a handler with the methods of Handler and those of an indexing provider;
// Handler itself when Config.Data is nil.
func (n *Node) DataHandler() http.Handler {
	if n.data == nil {
		return n.rpc
	}
	return n.data
}

func (n *Node) stopData() {
	if n.data != nil {
		n.data.Stop()
		n.self.Close()
	}
}
