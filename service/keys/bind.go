package keys

import (
	"context"
	"errors"
	"net/http"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/service/agents"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/workflows"
)

// BindStartInput is the wallet to bind.
type BindStartInput struct {
	Address string `json:"address" pattern:"^0x[0-9a-fA-F]{40}$" doc:"the wallet's address, 0x and 40 hexadecimal digits" example:"0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"`
}

// BindInput proves that the caller owns the wallet.
type BindInput struct {
	Address   string `json:"address" pattern:"^0x[0-9a-fA-F]{40}$" doc:"the wallet's address, as it was given at the start" example:"0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"`
	Signature string `json:"signature" minLength:"1" maxLength:"20000" doc:"what the wallet gave for message_to_sign, 0x and hexadecimal digits" example:"0xf16ea9a3478698f695fd1401bfe27e9e4a7e8e3da94aa72b021125e31fa899cc573c48ea3fe1d4ab61a9db10c19032026e3ed2dbccba5a178235ac27f945043111b"`
}

func (h *handlers) bindKeyStart() *operation.Operation[BindStartInput, agents.Challenged] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "bind_key_start", Title: "Begin to bind a key to a wallet", Access: operation.KeyHolders,
		Route: operation.Route{Method: http.MethodPost, Path: "/keys/bind/start", Status: http.StatusOK},
		Description: "Gives the message that a wallet signs to make this key its own: a million units a month " +
			"instead of ten thousand a day. It costs nothing. The message lives ten minutes; a repeat gives a new " +
			"one and ends the one before.",
		Fails: []fault.Reason{fault.BindingRefused, fault.WrongKindOfKey, fault.RateWindow, fault.DurableUnavailable},
	}, h.runBindKeyStart)
}

func (h *handlers) runBindKeyStart(ctx context.Context, c *operation.Call,
	in BindStartInput,
) (agents.Challenged, error) {
	address, err := agents.ParseAddress(in.Address)
	if err != nil {
		return agents.Challenged{}, err
	}
	switch c.Key.Door {
	case account.DoorPublic:
	case account.DoorWallet:
		return agents.Challenged{}, boundAlready()
	default:
		return agents.Challenged{}, noDoorKey()
	}
	if refusal := h.LimitStranger(ctx, c, netlimit.Challenges); refusal != nil {
		return agents.Challenged{}, refusal
	}
	made, err := h.Challenges.New(address, "/keys/bind",
		"Bind the API key "+c.Key.Prefix+" to this wallet. The key will have a monthly allowance of its own.")
	if err != nil {
		return agents.Challenged{}, err
	}
	open, err := h.Flows.BindChallenge(ctx, c.Key.ID, c.Account.ID, made)
	if err != nil {
		return agents.Challenged{}, err
	}
	return h.Challenges.Response(&open, h.PublicURL+"/keys/bind"), nil
}

func (h *handlers) bindKeyComplete() *operation.Operation[BindInput, Welcome] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "bind_key_complete", Title: "Bind a key to a wallet", Access: operation.KeyHolders,
		Route: operation.Route{Method: http.MethodPost, Path: "/keys/bind", Status: http.StatusOK},
		Description: "Binds this key to the wallet that signed. The new fences hold when this answers. It costs " +
			"nothing. The same key and wallet again give the same answer; a wrong signature changes nothing and may " +
			"be corrected while the message lives.",
		Fails: []fault.Reason{
			fault.BindingRefused, fault.WrongKindOfKey, fault.NoUpstream, fault.NotYetInForce, fault.DurableUnavailable,
		},
	}, h.runBindKeyComplete)
}

func (h *handlers) runBindKeyComplete(ctx context.Context, c *operation.Call, in BindInput) (Welcome, error) {
	address, err := agents.ParseAddress(in.Address)
	if err != nil {
		return Welcome{}, err
	}
	if err := agents.CheckSignature(in.Signature); err != nil {
		return Welcome{}, err
	}
	switch c.Key.Door {
	case account.DoorPublic:
	case account.DoorWallet:
		return h.boundBefore(ctx, c, address, in.Signature)
	default:
		return Welcome{}, noDoorKey()
	}
	open, err := h.Flows.OpenBindChallenge(ctx, c.Key.ID)
	switch {
	case errors.Is(err, workflows.ErrNoChallenge):
		return h.boundBefore(ctx, c, address, in.Signature) // another request completed it, or it was never begun
	case err != nil:
		return Welcome{}, err
	case open.Address != address:
		return Welcome{},
			anotherKeyOf(wallet.Refuse(fault.BindingRefused, errors.Join(wallet.ErrWallet, workflows.ErrStartAgain)))
	}
	if err := h.Challenges.Verify(ctx, address, open.Message, in.Signature); err != nil {
		return Welcome{}, err
	}
	proof := workflows.BindProof{Proof: workflows.Proof{Address: address, Nonce: open.Nonce}, By: agents.DoorAuthor(c)}
	_, err = h.Flows.BindComplete(ctx, c.Key.ID, proof)
	switch {
	case errors.Is(err, workflows.ErrNoChallenge):
		return h.boundBefore(ctx, c, address, in.Signature)
	case err != nil:
		return Welcome{}, anotherKeyOf(err)
	}
	return h.boundWelcome(c, address), nil
}

// boundBefore answers for a key that is bound already. The same wallet gets the same answer again
// when it proves itself with the message that it signed.
func (h *handlers) boundBefore(ctx context.Context, c *operation.Call, address wallet.Address,
	signature string,
) (Welcome, error) {
	bound, err := h.Store.FindWalletOfKey(ctx, c.Key.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Welcome{}, startAgain(fault.New(fault.BindingRefused,
			"No binding of this key is under way, or its message is older than ten minutes. Begin at "+
				"%s/keys/bind/start.", h.PublicURL))
	case err != nil:
		return Welcome{}, operation.RecordUnavailable(err)
	case bound.Address != address:
		return Welcome{}, boundAlready()
	}
	if err := h.Challenges.Verify(ctx, address, bound.Message, signature); err != nil {
		return Welcome{}, err
	}
	if err := h.Limits.Enforce(ctx, c.Key.ID); err != nil {
		return Welcome{}, err
	}
	return h.boundWelcome(c, address), nil
}

func (h *handlers) boundWelcome(c *operation.Call, address wallet.Address) Welcome {
	w := h.Doorways.Welcome(c.Key.Prefix, account.DoorWallet, c.Secret.ClaimCode(h.Hasher))
	w.Bound, w.BoundAddress = true, address.Checksummed()
	return w
}

func boundAlready() *fault.Error {
	return fault.New(fault.BindingRefused,
		"This key is bound to a wallet already, and stays with it. Make another key to bind another wallet.").
		With("next_door", map[string]string{
			"door": "new_key", "do": "Make another key without sign-up, and bind that one to the other wallet.",
			"where": "POST /keys",
		})
}

// startAgain adds the next step: another message to sign, for the same key.
func startAgain(f *fault.Error) *fault.Error {
	return f.With("next_door", map[string]string{
		"door": "same_key", "do": "Begin the binding, then sign the message that it gives.",
		"where": "POST /keys/bind/start",
	})
}

// anotherKeyOf adds the next step to a refused binding: a new message when this one expired,
// otherwise another key, because this key or the wallet is bound already.
func anotherKeyOf(err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Reason != fault.BindingRefused {
		return err
	}
	if errors.Is(err, workflows.ErrStartAgain) {
		return startAgain(f)
	}
	return f.With("next_door", map[string]string{
		"door": "new_key", "do": "Use the key that the message names, or make another one without sign-up.",
		"where": "POST /keys",
	})
}

func noDoorKey() *fault.Error {
	return fault.New(fault.WrongKindOfKey,
		"Only a key made without sign-up is bound to a wallet; this one belongs to an account, whose fences it has, "+
			"and needs no wallet. Use it as it is, or make another key with POST /keys.")
}
