package service

import (
	"context"
	"net/url"
	"time"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/workflows"
)

// Challenged is a message to sign. Signing it costs nothing and sends no transaction.
type Challenged struct {
	Address          string `json:"address" doc:"the wallet that must sign, with its checksum (EIP-55)"`
	MessageToSign    string `json:"message_to_sign" doc:"sign exactly this text with personal_sign (EIP-191); it is an EIP-4361 message"`
	ExpiresInSeconds int64  `json:"expires_in_seconds"`
	Note             string `json:"note"`
}

// signInChain is the chain id in messages: wallets are those of Ethereum (docs/interface.md, 2.4).
const signInChain = 1

// challenge returns a message for a wallet with a nonce that works once.
func (h *service) challenge(address wallet.Address, path, statement string) (workflows.Challenge, error) {
	public, err := url.Parse(h.PublicURL)
	if err != nil {
		return workflows.Challenge{}, fault.Internal(err)
	}
	now := h.Now().UTC().Truncate(time.Second)
	expires := now.Add(workflows.ChallengeTime)
	m := wallet.Message{
		Domain: public.Host, Address: address, Statement: &statement, URI: h.PublicURL + path, ChainID: signInChain,
		Nonce: wallet.NewNonce(), IssuedAt: wallet.TimestampOf(now), ExpirationTime: wallet.TimestampOf(expires),
	}
	if err := m.Validate(); err != nil {
		return workflows.Challenge{}, fault.Internal(err)
	}
	return workflows.Challenge{Address: address, Nonce: m.Nonce, Message: m.String(), Expires: expires}, nil
}

// challenged returns the response for a challenge that a workflow accepted.
func (h *service) challenged(c *workflows.Challenge, next string) Challenged {
	return Challenged{
		Address: c.Address.Checksummed(), MessageToSign: c.Message,
		ExpiresInSeconds: max(1, int64(c.Expires.Sub(h.Now()).Round(time.Second)/time.Second)),
		Note: "Sign message_to_sign with the wallet and send the signature to " + next +
			". It costs no gas and sends no transaction. A newer challenge ends this one.",
	}
}

// proves refuses a signature that is not the wallet's signature of the message.
func (h *service) proves(ctx context.Context, address wallet.Address, message, signature string) error {
	return wallet.Refuse(fault.BindingRefused, wallet.VerifyMessage(ctx, h.wallets(chain.EthMainnet), address, message,
		signature))
}

// addressOf parses an address that the schema accepted. It refuses the zero address, whose key
// nobody has.
func addressOf(text string) (wallet.Address, error) {
	address, err := wallet.ParseAddress(text)
	if err == nil && address.IsZero() {
		err = wallet.ErrAddress
	}
	if err != nil {
		return address, wallet.Refuse(fault.FieldRefused, err)
	}
	return address, nil
}

// checkSignature refuses a malformed signature before any workflow is called.
func checkSignature(text string) error {
	_, err := wallet.DecodeSignature(text)
	if err == nil {
		return nil
	}
	refusal := fault.From(wallet.Refuse(fault.BindingRefused, err))
	return refusal.With("field", "signature")
}

// doorAuthor returns the caller as workflow histories may store it.
func (c *Call) doorAuthor() activities.DoorAuthor {
	by := c.author("")
	return activities.DoorAuthor{Actor: by.Actor, Origin: by.Origin}
}

// wallets returns the reader of a chain's contract wallets, or nil when no node reader is
// configured.
func (h *service) wallets(on chain.ID) wallet.ChainCaller {
	if h.Toolbox.Node == nil {
		return nil
	}
	return h.Toolbox.Node.Wallets(on)
}
