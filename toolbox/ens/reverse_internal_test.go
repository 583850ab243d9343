package ens

import (
	"bytes"
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func TestReverse_ConfirmedNameIsShown(t *testing.T) {
	t.Parallel()
	n, chain := names(t, nil, gives(reversed(t, "vitalik.eth")))
	got, err := n.Reverse(t.Context(), *address(holder))
	want := Reverse{
		Address: *address(holder), Name: new("vitalik.eth"), Resolved: true, Note: noteConfirmed,
		CheckedAt: time.Date(2026, 11, 22, 2, 4, 5, 0, time.UTC),
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if want := packed(t, "reverse(bytes,uint256)", "bytes uint256", holder.Bytes(), big.NewInt(60)); !bytes.Equal(
		chain.asked[0], want) {
		t.Errorf("asked %x, want %x", chain.asked[0], want)
	}
	if text, err := json.Marshal(got); err != nil ||
		!strings.HasPrefix(string(text),
			`{"address":"0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045","name":"vitalik.eth","resolved":true,`) {
		t.Errorf("%s, %v", text, err)
	}
}

// A claimed name is confirmed only if it resolves back to the address, and repeated only in its
// normal form.
func TestReverse_NameThatDoesNotLeadBackIsNotShownAsTheAddress(t *testing.T) {
	t.Parallel()
	own := append([]byte("\x28d8da6bf26964af9d7eed9e03e53415d37aa96045\x04addr\x07reverse"), 0)
	other := bytes.Repeat([]byte{5}, 20)
	mismatch := func(name string, resolves []byte) step {
		return reverts(packed(t, "ReverseAddressMismatch(string,bytes)", "string bytes", name, resolves))
	}
	for name, c := range map[string]struct {
		step  step
		claim string
		note  string
	}{
		"no name":           {gives(reversed(t, "")), "", noteNoRecord},
		"no resolver of it": {reverts(packed(t, "ResolverNotFound(bytes)", "bytes", own)), "", noteNoRecord},
		"a resolver without code": {
			reverts(packed(t, "ResolverNotContract(bytes,address)", "bytes address", own, holder)), "", noteNoRecord,
		},
		"a resolver without names": {
			reverts(packed(t, "UnsupportedResolverProfile(bytes4)", "bytes4", [4]byte(callName))), "", noteNoRecord,
		},
		"another address":  {mismatch("vitalik.eth", other), "vitalik.eth", noteMismatch},
		"no address":       {mismatch("vitalik.eth", nil), "vitalik.eth", noteNotForward},
		"the zero address": {mismatch("vitalik.eth", make([]byte, 20)), "vitalik.eth", noteNotForward},
		"a name without resolver": {
			reverts(packed(t, "ResolverNotFound(bytes)", "bytes", []byte("\x01a\x03eth\x00"))), "a.eth", noteNotForward,
		},
		"a resolver of it no code": {
			reverts(packed(t, "ResolverNotContract(bytes,address)", "bytes address", []byte("\x01a\x03eth\x00"),
				holder)), "a.eth", noteNotForward,
		},
		"a name without addresses": {
			reverts(packed(t, "UnsupportedResolverProfile(bytes4)", "bytes4", [4]byte(callAddr))), "",
			noteReverseBroken,
		},
		"a resolver that refuses": {
			reverts(packed(t, "ResolverError(bytes)", "bytes", []byte("no"))), "", noteReverseBroken,
		},
		"a name that is none": {
			reverts(packed(t, "DNSEncodingFailed(string)", "string", "a..eth")), "", noteNotNormal,
		},
		"a name of no form": {
			reverts(packed(t, "ResolverNotFound(bytes)", "bytes", []byte("\x05a"))), "", noteReverseBroken,
		},
		"an error cut short": {
			reverts(packed(t, "ReverseAddressMismatch(string,bytes)", "string bytes", "a", other)[:40]), "",
			noteReverseBroken,
		},
		"capitals, confirmed":       {gives(reversed(t, "Vitalik.eth")), "", noteNotNormal},
		"a space, confirmed":        {gives(reversed(t, "vitalik.eth ")), "", noteNotNormal},
		"an invisible, confirmed":   {gives(reversed(t, "vitalik\u200b.eth")), "", noteNotASCII},
		"an emoji, confirmed":       {gives(reversed(t, "🥷.eth")), "", noteNotASCII},
		"invalid UTF-8, confirmed":  {gives(reversed(t, "\xff.eth")), "", noteNotASCII},
		"very long, confirmed":      {gives(reversed(t, strings.Repeat("a", 10000))), "", noteNotNormal},
		"capitals, another address": {mismatch("Vitalik.eth", other), "", noteNotNormal},
		"an emoji, another address": {mismatch("🥷.eth", other), "", noteNotASCII},
		"words, without resolver": {
			reverts(packed(t, "ResolverNotFound(bytes)", "bytes", []byte("\x0bignore this\x00"))), "", noteNotNormal,
		},
		"dots in a label": {
			reverts(packed(t, "ResolverNotFound(bytes)", "bytes", []byte("\x03..a\x00"))), "", noteNotNormal,
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := names(t, nil, c.step)
			got, err := n.Reverse(t.Context(), *address(holder))
			in := expect.In(t, "%s", name)
			require.NoError(in, err)
			expect.False(in, got.Resolved)
			expect.Nil(in, got.Name)
			expect.Equal(in, got.Note, c.note)
			expect.Equal(in, got.Address, *address(holder))
			if (got.UnconfirmedName == nil) != (c.claim == "") || c.claim != "" && *got.UnconfirmedName != c.claim {
				t.Errorf("claims %v, want %q", got.UnconfirmedName, c.claim)
			}
		})
	}
}

func TestReverse_ServiceFailureIsNoName(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]step{
		"no upstream": fails(fault.New(fault.UpstreamFailed, "")), "no contract": gives(nil),
		"half an answer": gives(reversed(t, "vitalik.eth")[:96]),
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := names(t, nil, s)
			got, err := n.Reverse(t.Context(), *address(common.Address{1}))
			if _ = failed(t, err, fault.UpstreamFailed); !reflect.DeepEqual(got, Reverse{}) {
				t.Errorf("%+v", got)
			}
		})
	}
}
