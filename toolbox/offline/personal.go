package offline

import (
	"context"
	"errors"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
)

// MaxMessage bounds a signed message, in bytes.
const MaxMessage = 16 << 10

// SignatureVerdict is who signed a message.
type SignatureVerdict struct {
	RecoveredAddress *string `json:"recovered_address" nullable:"true" doc:"the wallet whose key signed, in the capitals of EIP-55; null when none is recovered: a contract wallet's signature has none"`
	Valid            bool    `json:"valid" doc:"whether the expected address signed exactly this message; without an expected address, whether any key did"`
	ExpectedAddress  *string `json:"expected_address" nullable:"true" doc:"the address of the input, in the capitals of EIP-55; null without one"`
	VerifiedBy       string  `json:"verified_by,omitempty" enum:"key,contract" doc:"what says that it is valid: key is recovery, contract the wallet's contract on the chain (EIP-1271, EIP-6492); absent when it is not"`
	Note             string  `json:"note,omitempty" doc:"why it is not valid, or what valid does not say"`
}

// Personal is a message that was signed with personal_sign (EIP-191, version 0x45), with its
// signature.
type Personal struct {
	hash      [32]byte
	signature []byte
	expected  *wallet.Address
}

// NewPersonal parses the input. message is the exact bytes that were signed; address may be empty.
// A signature that is not hexadecimal is an error; every other one gets a verdict.
func NewPersonal(message []byte, signature, address string) (*Personal, *fault.Error) {
	if len(message) > MaxMessage {
		return nil, refuse("message", "It has %d bytes, and may have %d.", len(message), MaxMessage)
	}
	raw, refusal := parseSignature(signature)
	if refusal != nil {
		return nil, refusal
	}
	p := &Personal{hash: wallet.TextHash(string(message)), signature: raw}
	if address != "" {
		expected, err := wallet.ParseAddress(address)
		if err != nil {
			return nil, refuse("address",
				"It takes 0x and 40 hexadecimal digits: the wallet that is expected to have signed.")
		}
		p.expected = &expected
	}
	return p, nil
}

// parseSignature decodes hexadecimal digits. The expected length depends on the wallet.
func parseSignature(signature string) ([]byte, *fault.Error) {
	raw, err := wallet.DecodeSignature(signature)
	if err != nil {
		return nil, refuse("signature",
			"It takes what the wallet gave: 0x and an even number of hexadecimal digits, %d bytes at most.",
			wallet.MaxSignature)
	}
	return raw, nil
}

const noExpectation = "No address was expected, so valid says only that some key signed this message. Compare " +
	"recovered_address with whom you expect."

// Verify verifies the signature. If chain is not nil and the expected address did not sign with a
// key, Verify asks its contract, because it may be a contract wallet. If the chain returns no
// usable answer, there is no verdict, and the error is wallet.ErrChainUnreachable.
func (p *Personal) Verify(ctx context.Context, chain wallet.ChainCaller) (SignatureVerdict, error) {
	if p.expected == nil {
		signer, wrong := wallet.RecoverHash(p.hash, p.signature)
		if wrong != nil {
			return SignatureVerdict{Note: whyNot(wrong, false)}, nil
		}
		return SignatureVerdict{
			RecoveredAddress: new(signer.Checksummed()), Valid: true, VerifiedBy: byKey, Note: noExpectation,
		}, nil
	}
	j, err := judge(ctx, chain, *p.expected, p.hash, p.signature)
	if err != nil {
		return SignatureVerdict{}, err
	}
	return SignatureVerdict{
		RecoveredAddress: j.recovered, Valid: j.by != "", ExpectedAddress: new(p.expected.Checksummed()),
		VerifiedBy: j.by, Note: j.why,
	}, nil
}

// How a signature was verified.
const (
	byKey      = "key"
	byContract = "contract"
)

// judgement is the result of checking a signature against one wallet.
type judgement struct {
	recovered *string // nil if no key can have signed
	by        string  // empty if it is invalid
	why       string  // reason if it is invalid
}

func judge(ctx context.Context, chain wallet.ChainCaller, expected wallet.Address, hash [32]byte,
	signature []byte,
) (judgement, error) {
	var j judgement
	signer, wrong := wallet.RecoverHash(hash, signature)
	if wrong == nil {
		j.recovered = new(signer.Checksummed())
		if signer == expected {
			j.by = byKey
			return j, nil
		}
		wrong = wallet.ErrSignatureMismatch
	}
	if chain != nil {
		if wrong = wallet.Verify(ctx, chain, expected, hash, signature); wrong == nil {
			j.by = byContract
			return j, nil
		}
		if _, verdict := errors.AsType[*wallet.Error](wrong); !verdict {
			return j, wrong
		}
	}
	j.why = whyNot(wrong, j.recovered != nil)
	if chain == nil {
		j.why += " A contract wallet's signature is judged on its chain only: name the chain if this may be one."
	}
	return j, nil
}

// whyNot explains what is wrong with a signature to someone who did not sign it.
func whyNot(wrong error, recovered bool) string {
	switch {
	case !errors.Is(wrong, wallet.ErrSignatureMismatch):
		return wrong.Error()
	case recovered:
		return "The expected address did not sign this message: another wallet did, or the message is not, character " +
			"by character, the one that was signed."
	}
	return "No key made this signature over this message."
}
