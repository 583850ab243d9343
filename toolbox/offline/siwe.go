package offline

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
)

// SignInVerdict reports whether a sign-in message is valid now.
type SignInVerdict struct {
	Valid            bool         `json:"valid" doc:"whether the address of the message signed it and its own times let it count now"`
	RecoveredAddress *string      `json:"recovered_address" nullable:"true" doc:"the wallet whose key signed, in the capitals of EIP-55; null when none is recovered: a contract wallet's signature has none"`
	Expired          bool         `json:"expired" doc:"whether its Expiration Time has come"`
	NotYetValid      bool         `json:"not_yet_valid" doc:"whether its Not Before is still to come"`
	VerifiedBy       string       `json:"verified_by,omitempty" enum:"key,contract" doc:"what says whose signature it is: key is recovery, contract the wallet's contract on the chain (EIP-1271, EIP-6492); absent when it is not the message's address'"`
	Fields           SignInFields `json:"fields" doc:"what the message says"`
	Note             string       `json:"note" doc:"why it is not valid, and what is left to check"`
}

// SignInFields are the fields of EIP-4361, each as it was written.
type SignInFields struct {
	Scheme         *string  `json:"scheme" nullable:"true" doc:"of the origin; null for none"`
	Domain         string   `json:"domain" doc:"who asks for the signature"`
	Address        string   `json:"address"`
	Statement      *string  `json:"statement" nullable:"true"`
	URI            string   `json:"uri"`
	Version        string   `json:"version"`
	ChainID        uint64   `json:"chain_id" doc:"EIP-155 chain id"`
	Nonce          string   `json:"nonce"`
	IssuedAt       string   `json:"issued_at"`
	ExpirationTime *string  `json:"expiration_time" nullable:"true"`
	NotBefore      *string  `json:"not_before" nullable:"true"`
	RequestID      *string  `json:"request_id" nullable:"true"`
	Resources      []string `json:"resources" doc:"empty for none"`
}

// SignIn is a sign-in message of EIP-4361 with its signature.
type SignIn struct {
	message   *wallet.Message
	hash      [32]byte
	signature []byte
}

// NewSignIn parses the input. A text that is no EIP-4361 message is an error with its line, as is a
// signature that is not hexadecimal; every other one gets a verdict.
func NewSignIn(message, signature string) (*SignIn, *fault.Error) {
	m, err := wallet.Parse(message)
	if err != nil {
		return nil, refuse("message", "%s", err)
	}
	raw, refusal := parseSignature(signature)
	if refusal != nil {
		return nil, refusal
	}
	return &SignIn{message: m, hash: wallet.TextHash(message), signature: raw}, nil
}

// ChainID returns the EIP-155 id of the chain on which to ask a contract wallet.
func (s *SignIn) ChainID() uint64 { return s.message.ChainID }

// leftToCheck is part of every verdict: these checks are up to the site that asked for the
// signature.
const leftToCheck = "Yours to check: that domain and uri are your own, and that the nonce is one that you issued and " +
	"that was not used before."

// Verify verifies the signature and the message's times at now. chain and the error are as in
// Personal.Verify.
func (s *SignIn) Verify(ctx context.Context, chain wallet.ChainCaller, now time.Time) (SignInVerdict, error) {
	j, err := judge(ctx, chain, s.message.Address, s.hash, s.signature)
	if err != nil {
		return SignInVerdict{}, err
	}
	m := s.message
	v := SignInVerdict{
		RecoveredAddress: j.recovered, VerifiedBy: j.by, Fields: fieldsOf(m),
		Expired:     !m.ExpirationTime.IsZero() && !now.Before(m.ExpirationTime.Time()),
		NotYetValid: !m.NotBefore.IsZero() && now.Before(m.NotBefore.Time()),
	}
	v.Valid = j.by != "" && !v.Expired && !v.NotYetValid
	for _, reason := range []struct {
		holds bool
		text  string
	}{
		{j.by == "", j.why + " "},
		{v.Expired, "The message has expired. "},
		{v.NotYetValid, "The message does not count yet. "},
		{true, leftToCheck},
	} {
		if reason.holds {
			v.Note += reason.text
		}
	}
	return v, nil
}

func fieldsOf(m *wallet.Message) SignInFields {
	optional := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	f := SignInFields{
		Scheme: optional(m.Scheme), Domain: m.Domain, Address: m.Address.Checksummed(), Statement: m.Statement,
		URI: m.URI, Version: wallet.Version, ChainID: m.ChainID, Nonce: m.Nonce, IssuedAt: m.IssuedAt.String(),
		ExpirationTime: optional(m.ExpirationTime.String()), NotBefore: optional(m.NotBefore.String()),
		RequestID: m.RequestID, Resources: m.Resources,
	}
	if f.Resources == nil {
		f.Resources = []string{}
	}
	return f
}
