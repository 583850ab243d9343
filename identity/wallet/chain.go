package wallet

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ChainCaller asks a chain. The chain's state is never changed.
type ChainCaller interface {
	// Call runs an eth_call at the chain's newest block and gives what it returned. An error that
	// wraps ErrReverted says that the chain ran the call and the call failed; every other error
	// says that the chain could not be asked.
	Call(ctx context.Context, msg CallMsg) ([]byte, error)
}

// CallMsg is what to call.
type CallMsg struct {
	To   *Address // nil runs Data as the code of a contract that is being created
	Data []byte
	Gas  uint64 // the most that the call may burn
}

// ErrReverted is that of a call which the chain ran and which failed.
var ErrReverted = errors.New("the call failed on the chain")

// maxResult bounds what is read of an answer, in bytes.
const maxResult = 64 << 10

// callObject is the transaction of an eth_call.
type callObject struct {
	To   *Address `json:"to,omitempty"`
	Data string   `json:"data"`
	Gas  string   `json:"gas"`
}

// Params are the parameters of eth_call, to be marshalled.
func (c CallMsg) Params() []any {
	return []any{callObject{c.To, "0x" + hex.EncodeToString(c.Data), "0x" + strconv.FormatUint(c.Gas, 16)}, "latest"}
}

// ReadResult reads the result of an eth_call, as JSON.
func ReadResult(result []byte) ([]byte, error) {
	if len(result) > maxResult {
		return nil, fmt.Errorf("the result has %d bytes, at most %d are read", len(result), maxResult)
	}
	var text string
	if err := json.Unmarshal(result, &text); err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	digits, found := strings.CutPrefix(text, "0x")
	if !found {
		return nil, errors.New("the result is not hexadecimal")
	}
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return nil, fmt.Errorf("decode the result: %w", err)
	}
	return raw, nil
}

// reverted is go-ethereum's code of a revert.
const reverted = 3

// failures are the words by which nodes say that a call ran and failed, whatever the code.
var failures = []string{
	"revert", "out of gas", "invalid opcode", "invalid jump", "stack underflow", "stack limit", "vm execution error",
}

// ReadError reads the error that came in place of the result of an eth_call. One by which the chain
// says that the call failed wraps ErrReverted; its text is not repeated.
func ReadError(code int, message string) error {
	message = strings.ToLower(message)
	if code == reverted {
		return fmt.Errorf("%w: code %d", ErrReverted, code)
	}
	for _, words := range failures {
		if strings.Contains(message, words) {
			return fmt.Errorf("%w: %s", ErrReverted, words)
		}
	}
	return fmt.Errorf("eth_call was refused with code %d", code)
}
