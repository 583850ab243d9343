package wallet_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// caller is a scripted chain.
type caller struct {
	answer []byte
	err    error
	asked  []wallet.CallMsg
}

func (c *caller) Call(_ context.Context, msg wallet.CallMsg) ([]byte, error) {
	c.asked = append(c.asked, msg)
	return c.answer, c.err
}

// wrap encodes a signature in the form of EIP-6492: a head of three words, two byte strings, and
// the suffix.
func wrap(factory wallet.Address, factoryData, signature []byte) []byte {
	word := func(n int) []byte { return binary.BigEndian.AppendUint64(make([]byte, 24), uint64(n)) }
	padded := func(b []byte) []byte {
		return append(append(word(len(b)), b...), make([]byte, (32-len(b)%32)%32)...)
	}
	data := padded(factoryData)
	return slices.Concat(make([]byte, 12), factory[:], word(96), word(96+len(data)), data, padded(signature),
		bytes.Repeat([]byte{0x64, 0x92}, 16))
}

func TestVerify_KeysOwnSignatureNeedsNoChain(t *testing.T) {
	t.Parallel()
	k, address := key(t, "offline")
	hash := wallet.TextHash("a message")
	chain := &caller{err: errors.New("not to be asked")}
	if err := wallet.Verify(t.Context(), chain, address, hash, sign(t, k, hash)); err != nil || len(chain.asked) != 0 {
		t.Errorf("%v, %d calls", err, len(chain.asked))
	}
	_, other := key(t, "another")
	for name, c := range map[string]struct {
		signature []byte
		want      error
	}{
		"another wallet's": {sign(t, k, hash), wallet.ErrSignatureMismatch},
		"too short":        {[]byte{1}, wallet.ErrSignatureForm},
		"wrapped":          {wrap(other, nil, sign(t, k, hash)), wallet.ErrSignatureForm},
	} {
		t.Run(name, func(t *testing.T) {
			if err := wallet.Verify(t.Context(), nil, other, hash, c.signature); !errors.Is(err, c.want) {
				t.Errorf("%s, without a chain: %v", name, err)
			}
		})
	}
}

func TestVerify_VerdictsOfTheChain(t *testing.T) {
	t.Parallel()
	k, _ := key(t, "somebody")
	_, address := key(t, "somebody else")
	hash := wallet.TextHash("a message")
	down := errors.New("connection refused")
	for name, c := range map[string]struct {
		chain     caller
		signature []byte
		want      error
	}{
		"accepted":         {caller{answer: []byte{1}}, sign(t, k, hash), nil},
		"refused":          {caller{answer: []byte{2}}, sign(t, k, hash), wallet.ErrSignatureMismatch},
		"no code":          {caller{answer: []byte{0}}, sign(t, k, hash), wallet.ErrSignatureMismatch},
		"no code, short":   {caller{answer: []byte{0}}, []byte{1}, wallet.ErrSignatureForm},
		"no code, wrapped": {caller{answer: []byte{0}}, wrap(address, nil, nil), wallet.ErrSignatureMismatch},
		"failed": {
			caller{err: fmt.Errorf("call: %w", wallet.ErrReverted)}, sign(t, k, hash), wallet.ErrSignatureMismatch,
		},
		"unreachable":        {caller{err: down}, sign(t, k, hash), wallet.ErrChainUnreachable},
		"nothing answered":   {caller{}, sign(t, k, hash), wallet.ErrChainUnreachable},
		"two bytes answered": {caller{answer: []byte{1, 1}}, sign(t, k, hash), wallet.ErrChainUnreachable},
		"a word answered": {
			caller{answer: append(make([]byte, 31), 1)}, sign(t, k, hash), wallet.ErrChainUnreachable,
		},
		"unknown verdict": {caller{answer: []byte{3}}, sign(t, k, hash), wallet.ErrChainUnreachable},
		"much answered":   {caller{answer: make([]byte, 1<<20)}, sign(t, k, hash), wallet.ErrChainUnreachable},
		"the magic value alone": {
			caller{answer: []byte{0x16, 0x26, 0xba, 0x7e}}, sign(t, k, hash), wallet.ErrChainUnreachable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := wallet.Verify(t.Context(), &c.chain, address, hash, c.signature)
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if name == "unreachable" && !errors.Is(err, down) {
				t.Errorf("the cause is lost: %v", err)
			}
			in := expect.In(t, "%s", name)
			require.Len(in, c.chain.asked, 1)
			expect.Nil(in, c.chain.asked[0].To)
			expect.NotEqual(in, c.chain.asked[0].Gas, 0)
			expect.AtMost(in, c.chain.asked[0].Gas, 10_000_000)
		})
	}
}

func TestVerify_UnreadableWrappingIsRefusedWithoutTheChain(t *testing.T) {
	t.Parallel()
	k, address := key(t, "wrapped")
	hash := wallet.TextHash("a message")
	whole := wrap(address, []byte{1, 2, 3, 4}, sign(t, k, hash))
	ending := whole[len(whole)-32:]
	long := bytes.Clone(whole)
	copy(long[32:64], bytes.Repeat([]byte{0xff}, 32)) // the offset of the factory data is huge
	huge := bytes.Clone(whole)
	copy(huge[96:128], append(make([]byte, 24), bytes.Repeat([]byte{0x7f}, 8)...)) // and so is its length
	for name, signature := range map[string][]byte{
		"the ending alone": ending, "a word": append(make([]byte, 32), ending...),
		"cut off": append(bytes.Clone(whole[:64]), ending...), "offset beyond": long, "length beyond": huge,
		"zeros that refer to themselves": append(make([]byte, 31),
			ending...),
	} {
		t.Run(name, func(t *testing.T) {
			chain := &caller{answer: []byte{1}}
			if err := wallet.Verify(t.Context(), chain, address, hash, signature); !errors.Is(err,
				wallet.ErrSignatureForm) || len(chain.asked) != 0 {
				t.Errorf("%v, %d calls", err, len(chain.asked))
			}
		})
	}
}

func TestVerify_ReadsResultsOfCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		result string
		want   []byte
		wrong  bool
	}{
		"bytes":           {result: `"0x0102"`, want: []byte{1, 2}},
		"none":            {result: `"0x"`},
		"null":            {result: `null`, wrong: true},
		"nothing":         {wrong: true},
		"a number":        {result: `1`, wrong: true},
		"without 0x":      {result: `"01"`, wrong: true},
		"half a byte":     {result: `"0x1"`, wrong: true},
		"not hexadecimal": {result: `"0xzz"`, wrong: true},
		"too much":        {result: `"0x` + strings.Repeat("00", 1<<16) + `"`, wrong: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := wallet.ReadResult([]byte(c.result))
			in := expect.In(t, "%s", name)
			expect.EqualSlices(in, got, c.want)
			expect.Equal(in, err != nil, c.wrong)
			expect.False(in, errors.Is(err, wallet.ErrReverted), err)
		})
	}
}

func TestVerify_SeparatesFailedCallsFromUnreachableChains(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code    int
		message string
		failed  bool // ErrReverted
	}{
		"revert":            {3, "execution reverted", true},
		"revert by words":   {-32000, "Execution Reverted: no", true},
		"code 3":            {3, "not today", true},
		"out of gas":        {-32000, "out of gas", true},
		"code storage":      {-32000, "contract creation code storage out of gas", true},
		"OpenEthereum":      {-32015, "VM execution error.", true},
		"took too long":     {-32000, "execution aborted (timeout = 5s)", false},
		"limit of the node": {-32005, "rate limit", false},
		"no such method":    {-32601, "the method eth_call does not exist", false},
		"no code":           {0, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := wallet.ReadError(c.code, c.message); err == nil ||
				errors.Is(err, wallet.ErrReverted) != c.failed {
				t.Error(err)
			}
		})
	}
}

func TestParams_AreThoseOfEthCall(t *testing.T) {
	t.Parallel()
	to := wallet.Address{19: 1}
	for want, msg := range map[string]wallet.CallMsg{
		`[{"data":"0x0102","gas":"0x989680"},"latest"]`: {
			Data: []byte{1, 2}, Gas: 10_000_000,
		},
		`[{"to":"0x0000000000000000000000000000000000000001","data":"0x","gas":"0x5208"},"latest"]`: {
			To: &to, Gas: 21_000,
		},
	} {
		if got, err := json.Marshal(msg.Params()); err != nil || string(got) != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
}
