package wallet

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ChainCaller asks a chain. The chain's state is never changed.
type ChainCaller interface {
	// Call runs an eth_call at the chain's newest block and gives what it returned. An error that wraps ErrReverted says that the chain
	// ran the call and the call failed; every other error says that the chain could not be asked.
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

// Params are the parameters of eth_call as a JSON array.
func (c CallMsg) Params() []byte {
	var b bytes.Buffer
	b.WriteString(`[{`)
	if c.To != nil {
		fmt.Fprintf(&b, `"to":"%s",`, c.To.Checksummed())
	}
	fmt.Fprintf(&b, `"data":"0x%x","gas":"0x%x"},"latest"]`, c.Data, c.Gas)
	return b.Bytes()
}

// Answer reads the result of an eth_call, or the in-band error that came in its place, both as JSON. An error by which the chain says
// that the call failed wraps ErrReverted; its text is not repeated.
func Answer(result, inBand []byte) ([]byte, error) {
	if len(inBand) > 0 {
		return nil, readError(inBand)
	}
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

// failures are the words by which nodes say that a call ran and failed, with code 3 (go-ethereum's for a revert) or another.
var failures = []string{"revert", "out of gas", "invalid opcode", "invalid jump", "stack underflow", "stack limit", "vm execution error"}

func readError(object []byte) error {
	var e struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(object, &e); err != nil {
		return fmt.Errorf("read the error: %w", err)
	}
	message := strings.ToLower(e.Message)
	if e.Code == 3 {
		return fmt.Errorf("%w: code 3", ErrReverted)
	}
	for _, words := range failures {
		if strings.Contains(message, words) {
			return fmt.Errorf("%w: %s", ErrReverted, words)
		}
	}
	return fmt.Errorf("eth_call was refused with code %d", e.Code)
}
