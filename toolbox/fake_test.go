package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/toolbox/node"
)

// fakeChain answers by method, or by method, called address and selector of a call. A call without
// an answer fails the test.
type fakeChain struct {
	t       *testing.T
	answers map[string]reply

	mu    sync.Mutex // guards asked
	asked []node.Query
}

// reply is the upstreams' answers in order; the last one repeats.
type reply []any // JSON as text, or an error

func (f *fakeChain) Call(_ context.Context, q node.Query) (json.RawMessage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := q.Method
	if q.Method == "eth_call" {
		name = called(f.t, q)
	}
	times := 0
	for _, before := range f.asked {
		if before.Method == q.Method && (q.Method != "eth_call" || called(f.t, before) == name) {
			times++
		}
	}
	f.asked = append(f.asked, q)
	answers, ok := f.answers[name]
	if !ok {
		f.t.Errorf("%s was asked, which nobody expected", name)
		return nil, errors.New("not scripted")
	}
	switch a := answers[min(times, len(answers)-1)].(type) {
	case error:
		return nil, a
	case string:
		return json.RawMessage(a), nil
	default:
		return nil, fmt.Errorf("no answer: %v", a)
	}
}

// called returns the address and the selector of an eth_call at the newest block.
func called(t *testing.T, q node.Query) string {
	t.Helper()
	text, err := json.Marshal(q.Params)
	var params []json.RawMessage
	var msg struct{ To, Data string }
	if err != nil || json.Unmarshal(text, &params) != nil || len(params) != 2 ||
		json.Unmarshal(params[0], &msg) != nil || string(params[1]) != `"latest"` {
		t.Errorf("eth_call with %s, %v", text, err)
		return ""
	}
	return strings.ToLower(msg.To) + " " + msg.Data[:10]
}

// count returns how often a method was called.
func (f *fakeChain) count(method string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, q := range f.asked {
		if q.Method == method {
			n++
		}
	}
	return n
}

var noon = time.Date(2026, 11, 2, 12, 0, 0, 0, time.FixedZone("CET", 3600))

func atNoon() time.Time { return noon }

// wantFault fails unless err is a fault with this reason.
func wantFault(t *testing.T, err error, want fault.Reason) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Reason != want {
		t.Errorf("refused with %v, want %s", err, want)
	}
}

// wordsHex encodes numbers as the words of a result, negative ones in two's complement.
func wordsHex(numbers ...int64) string {
	text := `"0x`
	for _, n := range numbers {
		fill := "0"
		if n < 0 {
			fill = "f"
		}
		text += strings.Repeat(fill, 48) + fmt.Sprintf("%016x", uint64(n)) //nolint:gosec // two's complement is meant
	}
	return text + `"`
}
