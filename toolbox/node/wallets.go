package node

import (
	"context"
	"errors"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/relay/chain"
)

// wallets calls contract wallets on one chain.
type wallets struct {
	reader *Reader
	on     chain.ID
}

var _ wallet.ChainCaller = wallets{}

// maxWalletAnswer is the limit of a wallet contract's answer in bytes; a verdict is one word.
const maxWalletAnswer = 256 << 10

// Wallets returns the caller with which signatures of an EVM chain's contract wallets are verified.
// A nil Reader returns nil, with which no contract wallet is verified.
func (r *Reader) Wallets(on chain.ID) wallet.ChainCaller {
	if r == nil {
		return nil
	}
	return wallets{r, on}
}

// Call implements wallet.ChainCaller.
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
