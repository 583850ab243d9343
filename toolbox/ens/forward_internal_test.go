package ens

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/toolbox/node"
)

func TestNodes_AreThoseOfENS(t *testing.T) {
	t.Parallel()
	// From EIP-137.
	for name, want := range map[string]string{
		"":        "0x0000000000000000000000000000000000000000000000000000000000000000",
		"eth":     "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae",
		"foo.eth": "0xde9b09fd7c5f901e23a3f19fecc54828e9c848539801e86591bd9801b019f84f",
	} {
		t.Run(name, func(t *testing.T) {
			if got := common.Hash(namehash(name)).Hex(); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

func TestDNSForm_IsThatOfENS(t *testing.T) {
	t.Parallel()
	if got := dnsEncode("vitalik.eth"); string(got) != "\x07vitalik\x03eth\x00" {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"eth", "a.b.c", strings.Repeat("a", MaxName)} {
		if got, ok := dnsDecode(dnsEncode(name)); !ok || got != name {
			t.Errorf("%q became %q, %v", name, got, ok)
		}
	}
	for _, broken := range []string{"", "\x00", "\x03eth", "\x04eth\x00", "\x03eth\x00\x00", "\xff"} {
		if got, ok := dnsDecode([]byte(broken)); ok {
			t.Errorf("%q was read as %q", broken, got)
		}
	}
}

func TestResolve_NameHasItsAddress(t *testing.T) {
	t.Parallel()
	n, chain := names(t, nil, gives(resolved(t, pack(t, "address", holder))))
	got, err := n.Resolve(t.Context(), "vitalik.eth")
	want := Forward{
		Name: "vitalik.eth", Address: address(holder), Resolved: true,
		CheckedAt: time.Date(2026, 11, 22, 2, 4, 5, 0, time.UTC),
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	question := packed(t, "addr(bytes32)", "bytes32",
		common.HexToHash("0xee6c4522aab0003e8d14cd40a6af439055fd2577951148c14b6cea9a53475835"))
	if want := packed(t, "resolve(bytes,bytes)", "bytes,bytes", []byte("\x07vitalik\x03eth\x00"),
		question); !bytes.Equal(chain.asked[0], want) {
		t.Errorf("asked %x, want %x", chain.asked[0], want)
	}
	if text, err := json.Marshal(got); err != nil ||
		string(text) != `{"name":"vitalik.eth","address":"0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",`+
			`"resolved":true,"checked_at":"2026-11-22T02:04:05Z","unit_weight":0}` {
		t.Errorf("%s, %v", text, err)
	}
}

func TestResolve_NameWithoutAnAddressIsAnAnswer(t *testing.T) {
	t.Parallel()
	dns := []byte("\x01a\x03eth\x00")
	for name, c := range map[string]struct {
		step step
		note string
	}{
		"not registered": {reverts(packed(t, "ResolverNotFound(bytes)", "bytes", dns)), noteNoResolver},
		"not a contract": {
			reverts(packed(t, "ResolverNotContract(bytes,address)", "bytes address", dns, holder)), noteNotContract,
		},
		"a refusal":         {reverts(packed(t, "ResolverError(bytes)", "bytes", []byte("OutOfOffice"))), noteRefused},
		"an empty refusal":  {reverts(packed(t, "ResolverError(bytes)", "bytes", []byte{})), noteRefused},
		"no address":        {gives(resolved(t, pack(t, "address", common.Address{}))), noteNoAddress},
		"nothing":           {gives(resolved(t, nil)), noteUnreadable},
		"half an address":   {gives(resolved(t, make([]byte, 31))), noteUnreadable},
		"no address at all": {gives(resolved(t, bytes.Repeat([]byte{1}, 32))), noteUnreadable},
		"another error":     {reverts(packed(t, "Panic(uint256)", "uint256", big.NewInt(17))), noteUnreadable},
		"what is no answer": {gives([]byte{1}), noteUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := names(t, nil, c.step)
			got, err := n.Resolve(t.Context(), "a.eth")
			in := expect.In(t, "%s", name)
			require.NoError(in, err)
			expect.False(in, got.Resolved)
			expect.Nil(in, got.Address)
			expect.Equal(in, got.Note, c.note)
			expect.Equal(in, got.Name, "a.eth")
		})
	}
}

func TestResolve_ResolverMayKnowAddressesByCoinOnly(t *testing.T) {
	t.Parallel()
	unsupported := reverts(packed(t, "UnsupportedResolverProfile(bytes4)", "bytes4", [4]byte(callAddr)))
	for name, c := range map[string]struct {
		step     step
		resolved bool
		note     string
	}{
		"an address": {gives(resolved(t, pack(t, "bytes", holder.Bytes()))), true, ""},
		"none":       {gives(resolved(t, pack(t, "bytes", []byte{}))), false, noteNoAddress},
		"too short":  {gives(resolved(t, pack(t, "bytes", holder.Bytes()[:19]))), false, noteUnreadable},
		"too long":   {gives(resolved(t, pack(t, "bytes", append(holder.Bytes(), 0)))), false, noteUnreadable},
		"nor that":   {unsupported, false, noteNoProfile},
	} {
		t.Run(name, func(t *testing.T) {
			n, chain := names(t, nil, unsupported, c.step)
			got, err := n.Resolve(t.Context(), "a.eth")
			in := expect.In(t, "%s", name)
			require.NoError(in, err)
			expect.Equal(in, got.Resolved, c.resolved)
			expect.Equal(in, got.Note, c.note)
			expect.Equal(in, got.Address != nil, c.resolved)
			if c.resolved {
				expect.Equal(in, *got.Address, *address(holder))
			}
			question := packed(t, "addr(bytes32,uint256)", "bytes32 uint256", namehash("a.eth"), big.NewInt(60))
			if want := packed(t, "resolve(bytes,bytes)", "bytes,bytes", dnsEncode("a.eth"),
				question); !bytes.Equal(chain.asked[1], want) {
				t.Errorf("asked %x, want %x", chain.asked[1], want)
			}
		})
	}
}

// Nodes report a revert in several ways.
func TestResolve_RevertsAreReadInEveryNodesForm(t *testing.T) {
	t.Parallel()
	data := packed(t, "ResolverNotFound(bytes)", "bytes", []byte("\x01a\x00"))
	text := common.Bytes2Hex(data)
	for name, e := range map[string]*node.Error{
		"go-ethereum": {Code: 3, Message: "execution reverted", Data: json.RawMessage(`"0x` + text + `"`)},
		"no code":     {Code: -32000, Message: "VM execution error.", Data: json.RawMessage(`"0x` + text + `"`)},
		"Hardhat": {
			Code: -32603, Message: "Error: VM Exception",
			Data: json.RawMessage(`{"message":"Error: VM Exception","data":"0x` + text + `"}`),
		},
		"Parity": {
			Code: -32015, Message: "VM execution error.", Data: json.RawMessage(`"Reverted 0x` + text + `"`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := names(t, nil, fails(e))
			if got, err := n.Resolve(t.Context(), "a.eth"); err != nil || got.Note != noteNoResolver {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestResolve_ServiceFailureIsNoAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step step
		want fault.Reason
	}{
		"no upstream":          {fails(fault.New(fault.NoUpstream, "")), fault.NoUpstream},
		"an error of the node": {fails(&node.Error{Code: -32603, Message: "internal error"}), fault.UpstreamFailed},
		"an error with words": {
			fails(&node.Error{Code: -32000, Message: "busy", Data: json.RawMessage(`"try later"`)}),
			fault.UpstreamFailed,
		},
		"a mute revert": {
			fails(&node.Error{Code: -32000, Message: "execution reverted"}), fault.UpstreamFailed,
		},
		"a revert of no bytes": {reverts([]byte{}), fault.UpstreamFailed},
		"of two bytes":         {reverts([]byte{1, 2}), fault.UpstreamFailed},
		"out of gas":           {fails(&node.Error{Code: -32000, Message: "out of gas"}), fault.UpstreamFailed},
		"an object without data": {
			fails(&node.Error{Code: 3, Message: "reverted", Data: json.RawMessage(`{"message":"0x"}`)}),
			fault.UpstreamFailed,
		},
		"no contract": {gives(nil), fault.UpstreamFailed},
		"a null": {
			func() (json.RawMessage, error) { return json.RawMessage("null"), nil }, fault.UpstreamFailed,
		},
		"what is no hexadecimal": {
			func() (json.RawMessage, error) { return json.RawMessage(`"0xzz"`), nil }, fault.UpstreamFailed,
		},
		"an object": {
			func() (json.RawMessage, error) { return json.RawMessage(`{}`), nil }, fault.UpstreamFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := names(t, nil, c.step)
			got, err := n.Resolve(t.Context(), "a.eth")
			if refusal := failed(t, err, c.want); !reflect.DeepEqual(got, Forward{}) || refusal.Message == "" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	n, _ := names(t, nil, fails(errors.New("bug")))
	if _, err := n.Resolve(t.Context(), "a.eth"); err == nil || errors.As(err, new(*fault.Error)) {
		t.Errorf("an unknown error became %v", err)
	}
}

// The resolver's address is a byte array, which is hard to compare by eye.
func TestUniversalResolver_IsENSs(t *testing.T) {
	t.Parallel()
	if universalResolver.Checksummed() != "0xeEeEEEeE14D718C2B47D9923Deab1335E144EeEe" {
		t.Error(universalResolver)
	}
	// interface 0xcd191b34 and its errors, as ensdomains/ens-contracts notes them
	for signature, want := range map[string]selector{
		"0x77209fe8": failNotFound, "0x1e9535f2": failNotContract, "0x7b1c461b": failUnsupported,
		"0x95c0c752": failResolver, "0xef9c03ce": failMismatch, "0x01800152": failHTTP, "0x556f1830": failLookOffchain,
		"0x9061b923": callResolve, "0xa780bab6": callQuery, "0x3b3b57de": callAddr, "0xf1cb7e06": callAddrOfCoin,
		"0x691f3431": callName,
	} {
		t.Run(signature, func(t *testing.T) {
			if want.String() != signature {
				t.Errorf("%s, want %s", want, signature)
			}
		})
	}
	if got := selectorOf("x()"); !bytes.Equal(got[:], crypto.Keccak256([]byte("x()"))[:4]) {
		t.Error(got)
	}
}
