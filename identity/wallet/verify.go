package wallet

import (
	"context"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
)

// maxCallGas is the gas limit of a check: enough to deploy a wallet and to verify a passkey's
// signature without a precompile, and far below the limits of nodes.
const maxCallGas = 10_000_000

// VerifyMessage is Verify for a message signed with personal_sign, with the signature in
// hexadecimal digits.
func VerifyMessage(ctx context.Context, chain ChainCaller, wallet Address, message, signature string) error {
	raw, err := DecodeSignature(signature)
	if err != nil {
		return err
	}
	return Verify(ctx, chain, wallet, TextHash(message), raw)
}

// Verify checks that the wallet signed the hash. A signature that recovers to the wallet is
// accepted offline. Any other is checked in one eth_call by the wallet's contract, if it has one
// (EIP-1271), or by the contract that it will have (EIP-6492). Without a chain (nil) there are no
// contract wallets.
//
// It returns nil, an *Error that says what is wrong with the signature, or ErrChainUnreachable.
func Verify(ctx context.Context, chain ChainCaller, wallet Address, hash [32]byte, signature []byte) error {
	if len(signature) > MaxSignature {
		return ErrSignatureForm
	}
	signer, wrong := RecoverHash(hash, signature)
	if wrong == nil {
		if signer == wallet {
			return nil
		}
		wrong = ErrSignatureMismatch
	}
	if chain == nil {
		return wrong
	}
	c, err := unwrap(signature)
	if err != nil {
		return err
	}
	if c.wrapped {
		wrong = ErrSignatureMismatch // not a key's signature, so its length means nothing
	}
	code, err := validation(wallet, hash, c)
	if err != nil {
		return err
	}
	answer, err := chain.Call(ctx, CallMsg{Data: code, Gas: maxCallGas})
	switch {
	case errors.Is(err, ErrReverted): // the contract left the validator no gas
		return ErrSignatureMismatch
	case err != nil:
		return fmt.Errorf("%w: %w", ErrChainUnreachable, err)
	case len(answer) != 1:
		return fmt.Errorf("%w: %d bytes where one was to come", ErrChainUnreachable, len(answer))
	}
	switch answer[0] {
	case noCode:
		return wrong
	case accepted:
		return nil
	case refused:
		return ErrSignatureMismatch
	}
	return fmt.Errorf("%w: verdict %d", ErrChainUnreachable, answer[0])
}

// The verdicts of SignatureValidator.
const (
	noCode byte = iota
	accepted
	refused
)

// validator is SignatureValidator, compiled (make contracts).
//
//go:embed contracts/SignatureValidator.json
var validatorArtefact []byte

var validator = mustReadArtefact(validatorArtefact)

type artefact struct {
	constructor abi.Arguments
	bytecode    []byte
}

func mustReadArtefact(text []byte) artefact {
	var file struct {
		ABI      abi.ABI `json:"abi"`
		Bytecode string  `json:"bytecode"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		panic(fmt.Sprintf("the embedded validator: %v", err))
	}
	code, err := hex.DecodeString(strings.TrimPrefix(file.Bytecode, "0x"))
	if err != nil {
		panic(fmt.Sprintf("the embedded validator: %v", err))
	}
	return artefact{constructor: file.ABI.Constructor.Inputs, bytecode: code}
}

// validation returns the code that checks the signature when eth_call runs it.
func validation(wallet Address, hash [32]byte, c counterfactual) ([]byte, error) {
	arguments, err := validator.constructor.Pack(common.Address(wallet), hash, c.signature, c.factory, c.factoryData)
	if err != nil {
		return nil, fmt.Errorf("encode the arguments of the validator: %w", err)
	}
	return slices.Concat(validator.bytecode, arguments), nil
}
