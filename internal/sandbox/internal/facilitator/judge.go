package facilitator

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"
)

// judge returns the payment of a request, or a refusal with the protocol's reason. With a refusal,
// the payment is returned too if it could be parsed.
func (f *Facilitator) judge(ctx context.Context, asked *request) (*payment, error) {
	scheme, network, amount, wants := asked.Payment.Scheme, asked.Payment.Network, asked.Requirements.MaxAmountRequired,
		f.Network
	if asked.Version == 2 {
		scheme, network, amount = asked.Payment.Accepted.Scheme, asked.Payment.Accepted.Network,
			asked.Requirements.Amount
		wants = "eip155:" + f.chainID.String()
	}
	p := asked.Payment.Payload.Authorization
	p.signature = asked.Payment.Payload.Signature
	least, ok := new(big.Int).SetString(amount, 10)
	switch {
	case (asked.Version != 1 && asked.Version != 2) || asked.Payment.Version != asked.Version:
		return nil, refusal("invalid_x402_version")
	case scheme != "exact" || asked.Requirements.Scheme != scheme:
		return nil, refusal("unsupported_scheme")
	case network != wants || asked.Requirements.Network != wants:
		return nil, refusal("invalid_network")
	case asked.Requirements.Asset != f.Token || !ok:
		return nil, refusal("invalid_payment_requirements")
	case !p.read():
		return nil, refusal("invalid_payload")
	case p.To != asked.Requirements.PayTo:
		return &p, refusal("invalid_exact_evm_payload_recipient_mismatch")
	case p.value.Cmp(least) < 0:
		return &p, refusal("invalid_exact_evm_payload_authorization_value")
	}
	return &p, f.settles(ctx, &p, asked.Requirements.Extra.Name, asked.Requirements.Extra.Version)
}

// settles returns an error when the chain would not accept a payment.
func (f *Facilitator) settles(ctx context.Context, p *payment, name, version string) error {
	head, err := f.chain.HeaderByNumber(ctx, nil)
	if err != nil {
		return fmt.Errorf("read the head: %w", err)
	}
	now := int64(head.Time) //nolint:gosec // a time
	switch {
	case p.validAfter.Int64() >= now:
		return refusal("invalid_exact_evm_payload_authorization_valid_after")
	case p.validBefore.Int64() < now+leastLeft:
		return refusal("invalid_exact_evm_payload_authorization_valid_before")
	}
	const ofKey = 65
	if len(p.signature) == ofKey { // for a contract wallet the token checks the signature
		signer, err := f.signer(p, name, version)
		if err != nil || signer != p.From {
			return refusal("invalid_exact_evm_payload_signature")
		}
	}
	balance, err := f.balance(ctx, p.From)
	switch {
	case err != nil:
		return err
	case balance.Cmp(p.value) < 0:
		return refusal("insufficient_funds")
	}
	if err := f.simulate(ctx, p); err != nil {
		return refusal("invalid_exact_evm_payload_simulation_failed")
	}
	return nil
}

func (f *Facilitator) balance(ctx context.Context, of common.Address) (*big.Int, error) {
	input, err := f.ABI.Pack("balanceOf", of)
	if err != nil {
		return nil, err
	}
	output, err := f.chain.CallContract(ctx, ethereum.CallMsg{To: &f.Token, Data: input}, nil)
	if err != nil {
		return nil, fmt.Errorf("read a balance: %w", err)
	}
	return new(big.Int).SetBytes(output), nil
}

// signer recovers the address that signed a payment (EIP-712 with EIP-3009's type).
func (f *Facilitator) signer(p *payment, name, version string) (common.Address, error) {
	field := func(name, kind string) apitypes.Type { return apitypes.Type{Name: name, Type: kind} }
	const primary = "TransferWithAuthorization"
	data := apitypes.TypedData{
		Types: apitypes.Types{
			"EIP712Domain": {
				field("name", "string"), field("version", "string"), field("chainId", "uint256"),
				field("verifyingContract", "address"),
			},
			primary: {
				field("from", "address"), field("to", "address"), field("value", "uint256"),
				field("validAfter", "uint256"), field("validBefore", "uint256"), field("nonce", "bytes32"),
			},
		},
		PrimaryType: primary,
		Domain: apitypes.TypedDataDomain{
			Name: name, Version: version, ChainId: (*math.HexOrDecimal256)(f.chainID), VerifyingContract: f.Token.Hex(),
		},
		Message: apitypes.TypedDataMessage{
			"from": p.From.Hex(), "to": p.To.Hex(), "value": p.Value, "validAfter": p.ValidAfter,
			"validBefore": p.ValidBefore, "nonce": p.Nonce.Hex(),
		},
	}
	hash, _, err := apitypes.TypedDataAndHash(data)
	if err != nil {
		return common.Address{}, err
	}
	signature := append([]byte(nil), p.signature...)
	const firstV, parity = 27, 64
	if signature[parity] >= firstV {
		signature[parity] -= firstV
	}
	key, err := crypto.SigToPub(hash, signature)
	if err != nil {
		return common.Address{}, err
	}
	return crypto.PubkeyToAddress(*key), nil
}
