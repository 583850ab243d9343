package agents

import (
	"context"
	"net/url"
	"time"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/toolbox/node"
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

// Challenges makes the messages by which wallets prove themselves, and verifies their signatures.
type Challenges struct {
	publicURL string
	node      *node.Reader // reads contract wallets; nil verifies none
	now       func() time.Time
}

// NewChallenges returns the challenges of a gateway. A nil reader verifies no contract wallets.
func NewChallenges(publicURL string, r *node.Reader, now func() time.Time) *Challenges {
	return &Challenges{publicURL: publicURL, node: r, now: now}
}

// New returns a message for a wallet with a nonce that works once.
func (s *Challenges) New(address wallet.Address, path, statement string) (workflows.Challenge, error) {
	public, err := url.Parse(s.publicURL)
	if err != nil {
		return workflows.Challenge{}, fault.Internal(err)
	}
	now := s.now().UTC().Truncate(time.Second)
	expires := now.Add(workflows.ChallengeTime)
	m := wallet.Message{
		Domain: public.Host, Address: address, Statement: &statement, URI: s.publicURL + path, ChainID: signInChain,
		Nonce: wallet.NewNonce(), IssuedAt: wallet.TimestampOf(now), ExpirationTime: wallet.TimestampOf(expires),
	}
	if err := m.Validate(); err != nil {
		return workflows.Challenge{}, fault.Internal(err)
	}
	return workflows.Challenge{Address: address, Nonce: m.Nonce, Message: m.String(), Expires: expires}, nil
}

// Response returns the response for a challenge that a workflow accepted.
func (s *Challenges) Response(c *workflows.Challenge, next string) Challenged {
	return Challenged{
		Address: c.Address.Checksummed(), MessageToSign: c.Message,
		ExpiresInSeconds: max(1, int64(c.Expires.Sub(s.now()).Round(time.Second)/time.Second)),
		Note: "Sign message_to_sign with the wallet and send the signature to " + next +
			". It costs no gas and sends no transaction. A newer challenge ends this one.",
	}
}

// Verify refuses a signature that is not the wallet's signature of the message.
func (s *Challenges) Verify(ctx context.Context, address wallet.Address, message, signature string) error {
	return wallet.Refuse(fault.BindingRefused,
		wallet.VerifyMessage(ctx, s.node.Wallets(chain.EthMainnet), address, message,
			signature))
}

// ParseAddress parses an address that the schema accepted. It refuses the zero address, whose key
// nobody has.
func ParseAddress(text string) (wallet.Address, error) {
	address, err := wallet.ParseAddress(text)
	if err == nil && address.IsZero() {
		err = wallet.ErrAddress
	}
	if err != nil {
		return address, wallet.Refuse(fault.FieldRefused, err)
	}
	return address, nil
}

// CheckSignature refuses a malformed signature before any workflow is called.
func CheckSignature(text string) error {
	_, err := wallet.DecodeSignature(text)
	if err == nil {
		return nil
	}
	refusal := fault.From(wallet.Refuse(fault.BindingRefused, err))
	return refusal.With("field", "signature")
}

// DoorAuthor returns the caller as workflow histories may store it.
func DoorAuthor(c *operation.Call) activities.DoorAuthor {
	by := c.Author("")
	return activities.DoorAuthor{Actor: by.Actor, Origin: by.Origin}
}
