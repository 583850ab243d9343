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

// ChainCaller reads from a chain.
type ChainCaller interface {
	// Call runs an eth_call at the latest block and returns its result. An error that wraps
	// ErrReverted means that the chain ran the call and the call failed; any other error means that
	// the chain could not be reached.
	Call(ctx context.Context, msg CallMsg) ([]byte, error)
}

// CallMsg is the call of an eth_call.
type CallMsg struct {
	To   *Address // nil runs Data as the init code of a contract
	Data []byte
	Gas  uint64 // gas limit
}

// ErrReverted is returned for a call that the chain ran and that failed.
var ErrReverted = errors.New("the call failed on the chain")

// maxResult is the maximum length of a result, in bytes.
const maxResult = 64 << 10

// callObject is the transaction of an eth_call.
type callObject struct {
	To   *Address `json:"to,omitempty"`
	Data string   `json:"data"`
	Gas  string   `json:"gas"`
}

// Params returns the parameters of eth_call, to be marshalled.
func (c CallMsg) Params() []any {
	return []any{callObject{c.To, "0x" + hex.EncodeToString(c.Data), "0x" + strconv.FormatUint(c.Gas, 16)}, "latest"}
}

// ReadResult decodes the JSON result of an eth_call.
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

// failures are the words with which nodes report that a call ran and failed, with any code.
var failures = []string{
	"revert", "out of gas", "invalid opcode", "invalid jump", "stack underflow", "stack limit", "vm execution error",
}

// ReadError converts the JSON-RPC error of an eth_call. An error that means the call failed wraps
// ErrReverted. The node's message is not repeated.
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
