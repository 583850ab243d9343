package settlement

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/payments/x402"
)

// Proves verifies that a payer signed a message, with a key or as a contract wallet, deployed or
// not (EIP-1271, EIP-6492). Contract wallets are verified on the chain. For a contract wallet that
// paid more than Terms.CorroborateAbove, two upstreams must agree. It returns the errors of
// wallet.VerifyMessage, and wallet.ErrChainUnreachable when two upstreams disagree or the second
// one is missing.
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

// HasCode reports whether a contract is deployed at an address now. An address without code is not
// a deployed contract wallet.
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

// wallets calls contract wallets through upstreams.
type wallets struct {
	reader *Reader
	who    among
	by     string // upstream that was asked last; empty when the chain was not asked
}

var _ wallet.ChainCaller = (*wallets)(nil)

// Call implements wallet.ChainCaller.
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
