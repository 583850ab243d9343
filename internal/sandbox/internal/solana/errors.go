package solana

import "fmt"

// txError is a TransactionError: its JSON form in "err", and the message of validators.
type txError struct {
	value any
	text  string
}

// MarshalJSON encodes the value that clients match on.
func (e *txError) MarshalJSON() ([]byte, error) { return marshal(e.value) }

// The transaction errors of the scripted node (agave, solana-transaction-error).
var (
	errSanitize      = &txError{"SanitizeFailure", "Transaction failed to sanitize accounts offsets correctly"}
	errLoadedTwice   = &txError{"AccountLoadedTwice", "Account loaded twice"}
	errNoLookupTable = &txError{
		"AddressLookupTableNotFound", "Transaction loads an address table account that doesn't exist",
	}
	errBlockhashNotFound = &txError{"BlockhashNotFound", "Blockhash not found"}
	errAlreadyProcessed  = &txError{"AlreadyProcessed", "This transaction has already been processed"}
	errAccountNotFound   = &txError{
		"AccountNotFound", "Attempt to debit an account but found no record of a prior credit.",
	}
	errInvalidFeePayer = &txError{"InvalidAccountForFee", "This account may not be used to pay transaction fees"}
	errFeeFunds        = &txError{"InsufficientFundsForFee", "Insufficient funds for fee"}
	errProgramNotFound = &txError{"ProgramAccountNotFound", "Attempt to load a program that does not exist"}
	errNotExecutable   = &txError{
		"InvalidProgramForExecution", "This program may not be used for executing instructions",
	}
	errTooManyAccounts = &txError{
		"WouldExceedAccountDataTotalLimit", "Transaction would exceed total account data limit",
	}
)

func errRent(index int) *txError {
	return &txError{
		map[string]any{"InsufficientFundsForRent": map[string]any{"account_index": index}},
		fmt.Sprintf("Transaction results in an account (%d) with insufficient funds for rent", index),
	}
}

// instructionError is a program's error: its JSON form and the message of validators.
type instructionError struct {
	value any
	text  string
}

var (
	insMissingSignature = &instructionError{"MissingRequiredSignature", "missing required signature for instruction"}
	insInvalidData      = &instructionError{"InvalidInstructionData", "invalid instruction data"}
	insNotEnoughKeys    = &instructionError{"NotEnoughAccountKeys", "insufficient account keys for instruction"}
	insInvalidArgument  = &instructionError{"InvalidArgument", "invalid program argument"}
	insReadonlyChange   = &instructionError{
		"ReadonlyLamportChange", "instruction changed the balance of a read-only account",
	}
	insExternalSpend = &instructionError{
		"ExternalAccountLamportSpend", "instruction spent from the balance of an account it does not own",
	}
	insUnsupported = &instructionError{"UnsupportedProgramId", "Unsupported program id"}
	insOverflow    = &instructionError{"ArithmeticOverflow", "Program arithmetic overflowed"}
)

func insCustom(code int) *instructionError {
	return &instructionError{map[string]any{"Custom": code}, fmt.Sprintf("custom program error: %#x", code)}
}

func (e *instructionError) at(index int) *txError {
	return &txError{
		map[string]any{"InstructionError": []any{index, e.value}},
		fmt.Sprintf("Error processing Instruction %d: %s", index, e.text),
	}
}

// rpcError is the error member of a JSON-RPC answer, with the codes of Solana's documentation.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return e.Message }

func invalidParams(format string, args ...any) *rpcError {
	return &rpcError{Code: -32602, Message: fmt.Sprintf(format, args...)}
}

func blockCleanedUp(slot, first uint64) *rpcError {
	return &rpcError{
		Code: -32001, Message: fmt.Sprintf("Block %d cleaned up, does not exist on node. First available block: %d",
			slot, first),
	}
}

func blockNotAvailable(slot uint64) *rpcError {
	return &rpcError{Code: -32004, Message: fmt.Sprintf("Block not available for slot %d", slot)}
}

func slotSkipped(slot uint64) *rpcError {
	return &rpcError{
		Code: -32007, Message: fmt.Sprintf("Slot %d was skipped, or missing due to ledger jump to recent snapshot",
			slot),
	}
}

func unsupportedVersion(version int) *rpcError {
	return &rpcError{
		Code: -32015,
		Message: fmt.Sprintf("Transaction version (%d) is not supported by the requesting client. "+
			"Please try the request again with the following configuration parameter: "+
			"\"maxSupportedTransactionVersion\": %d", version, version),
	}
}
