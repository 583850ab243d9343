package settlement

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/payments/x402"
)

// Proves checks that a payer signed the message: by its key, or as a contract wallet that is
// deployed or not (EIP-1271, EIP-6492), which the chain is asked about. A contract wallet that paid
// more than the terms' CorroborateAbove needs the word of two upstreams. Errors are those of
// wallet.VerifyMessage; two upstreams that contradict each other are wallet.ErrChainUnreachable, as
// is a second one that is missing.
func (r *Reader) Proves(ctx context.Context, p x402.PayerSum, message, signature string) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	first := &wallets{reader: r}
	if err := wallet.VerifyMessage(ctx, first, p.Payer, message, signature); err != nil {
		return err
	}
	if first.by == "" || p.Paid <= r.terms.CorroborateAbove {
		return nil
	}
	second := &wallets{reader: r, who: without(first.by)}
	err := wallet.VerifyMessage(ctx, second, p.Payer, message, signature)
	if _, denied := errors.AsType[*wallet.Error](err); denied || errors.Is(err, errAlone) {
		return wallet.ErrChainUnreachable
	}
	return err
}

// HasCode asks whether a contract is at an address now. What has none is no contract wallet that is
// deployed.
func (r *Reader) HasCode(ctx context.Context, at wallet.Address) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	result, _, err := r.ask(ctx, "eth_getCode", []any{at.Checksummed(), "latest"}, nil, false)
	if err != nil {
		return false, err
	}
	var code string
	if err := json.Unmarshal(result, &code); err != nil {
		return false, err
	}
	return code != "0x", nil
}

// wallets asks upstreams about contract wallets.
type wallets struct {
	reader *Reader
	who    among
	by     string // that was asked last; empty when the chain was not asked
}

var _ wallet.ChainCaller = (*wallets)(nil)

// Call is that of wallet.ChainCaller.
func (w *wallets) Call(ctx context.Context, msg wallet.CallMsg) ([]byte, error) {
	result, by, err := w.reader.ask(ctx, "eth_call", msg.Params(), w.who, false)
	w.by = by
	if told, ok := errors.AsType[*inBandError](err); ok {
		return nil, wallet.ReadError(told.Code, told.Message)
	}
	if err != nil {
		return nil, err
	}
	return wallet.ReadResult(result)
}
