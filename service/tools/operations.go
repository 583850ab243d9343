// Package tools has the metered operations: answers of package toolbox instead of raw calls.
package tools

import (
	"time"

	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/toolbox"
	"github.com/chainaccess/gateway/toolbox/contracts"
	"github.com/chainaccess/gateway/toolbox/ens"
	"github.com/chainaccess/gateway/toolbox/offline"
)

// Dependencies are what the operations need. The caller owns them.
type Dependencies struct {
	Now     func() time.Time
	Toolbox Toolbox
}

// Operations are the operations of this package.
type Operations struct {
	GetGas          *operation.Operation[GasInput, toolbox.Gas]
	GetTxStatus     *operation.Operation[TxStatusInput, toolbox.TxStatus]
	GetPrices       *operation.Operation[PricesInput, toolbox.Prices]
	ResolveENS      *operation.Operation[ResolveENSInput, ens.Forward]
	ReverseENS      *operation.Operation[ReverseENSInput, ens.Reverse]
	GetBalances     *operation.Operation[BalancesInput, toolbox.Balances]
	GetHistory      *operation.Operation[HistoryInput, toolbox.History]
	GetABI          *operation.Operation[ABIInput, contracts.ABI]
	DecodeCalldata  *operation.Operation[DecodeInput, contracts.Decoded]
	ChecksumAddress *operation.Operation[ChecksumInput, offline.CheckedAddress]
	ConvertUnits    *operation.Operation[ConvertInput, offline.Conversion]
	ComputeSelector *operation.Operation[SelectorInput, offline.Selector]
	HashKeccak      *operation.Operation[KeccakInput, offline.Digest]
	VerifySignature *operation.Operation[VerifySignatureInput, offline.SignatureVerdict]
	VerifySIWE      *operation.Operation[VerifySIWEInput, offline.SignInVerdict]
}

// handlers run the operations.
type handlers struct {
	Dependencies
	*operation.Runner
}

// New defines the operations.
func New(r *operation.Runner, d Dependencies) *Operations {
	h := &handlers{Dependencies: d, Runner: r}
	return &Operations{
		GetGas:          h.getGas(),
		GetTxStatus:     h.getTxStatus(),
		GetPrices:       h.getPrices(),
		ResolveENS:      h.resolveENS(),
		ReverseENS:      h.reverseENS(),
		GetBalances:     h.getBalances(),
		GetHistory:      h.getHistory(),
		GetABI:          h.getABI(),
		DecodeCalldata:  h.decodeCalldata(),
		ChecksumAddress: h.checksumAddress(),
		ConvertUnits:    h.convertUnits(),
		ComputeSelector: h.computeSelector(),
		HashKeccak:      h.hashKeccak(),
		VerifySignature: h.verifySignature(),
		VerifySIWE:      h.verifySIWE(),
	}
}
