package node

import (
	"context"
	"errors"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/relay/chain"
)

// wallets asks one chain for wallets that are contracts.
type wallets struct {
	reader *Reader
	on     chain.ID
}

var _ wallet.ChainCaller = wallets{}

// maxWalletAnswer bounds what a wallet's contract may answer, in bytes; a verdict has one.
const maxWalletAnswer = 256 << 10

// Wallets is where signatures of contract wallets of an EVM chain are judged.
func (r *Reader) Wallets(on chain.ID) wallet.ChainCaller { return wallets{r, on} }

// Call is that of wallet.ChainCaller.
func (w wallets) Call(ctx context.Context, msg wallet.CallMsg) ([]byte, error) {
	result, err := w.reader.Call(ctx, Query{
		Chain: w.on, Method: "eth_call", Params: msg.Params(), MaxAnswer: maxWalletAnswer,
	})
	if inBand, ok := errors.AsType[*Error](err); ok {
		return nil, wallet.ReadError(inBand.Code, inBand.Message)
	}
	if err != nil {
		return nil, err
	}
	return wallet.ReadResult(result)
}
